"""What solvers see of a composite problem: min G(y) + H(y), with a mirror map w."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ..arrays import Array, all_finite, epsilon, inner, norm_order, norm_squared
from .errors import CapabilityError, NonFiniteError
from .evaluation import Counts, underflow


class CompositeEvaluation(NamedTuple):
    """One look at F = G + H.

    Attributes
    ----------
    value : float
        F(y), NaN when G does not tell its values.
    gradient : array or None
        grad G(y), None when only random gradients are known.
    dual : float, array or None
        G's dual point at y (see `wolfpack.problem.Evaluation`).
    smooth : float
        G(y).
    """

    value: float
    gradient: Array | None
    dual: Any
    smooth: float


@dataclass
class CompositeProblem:
    """The problem min G + H as Algorithm 1 sees it.

    Attributes
    ----------
    objective : Objective
        G, convex and smooth.
    regularizer : Regularizer
        H, strongly convex and simple.
    mirror : Mirror, Shifted or an object with nu, z0 and prox
        w, minimised where the run begins.
    L : float or None
        beta, the smoothness of G in `norm`: the user's, else G's own, which is found when it is
        first asked for.
    searched : bool
        Whether every round looks for its own beta: `L` is then where the search begins, and the
        weight of w.
    estimated : bool
        Whether beta is an estimate, to be raised where a run disproves it.
    floor : float or None
        Where beta is searched from minibatches, the least that is allowed.
    pace : float or None
        The largest step of z_k along a gradient, a_k / (mu A_k + beta nu), that the noise of
        gradients allows.
    shrink : float
        What the pace is multiplied by whenever a spell got nowhere: less than 1 where the pace is
        known to be too fast at times.
    dependent : bool
        Whether the gradients of rounds depend on each other, and are biased given the past.
    counts : Counts
        Full evaluations ``nfev`` and gradients of rounds ``njev`` so far.
    rounding : float
        What the best dual bound left for rounding errors: no gap can be certified below it.
    best_bound : float
        The best dual bound so far.
    """

    objective: Any
    regularizer: Any
    mirror: Any
    solve: Any
    L: float | None = None
    searched: bool = False
    estimated: bool = False
    floor: float | None = None
    pace: float | None = None
    shrink: float = 1.0
    dependent: bool = False
    counts: Counts = field(default_factory=Counts)
    rounding: float = 0.0
    best_bound: float = -math.inf

    @cached_property
    def norm(self) -> str:
        """The norm in which G is smooth and both H and w strongly convex: "l2", "l1", "l1.5"...

        Since ||y||_p decreases with p, strong convexity in l_p implies it in l_r, r >= p, with the
        same constant: the larger of the two exponents is the norm of both.
        """
        norms = self.regularizer.norm, getattr(self.mirror, "norm", "l2")
        return max(norms, key=norm_order)

    def own_smoothness(self) -> float | None:
        """Return G's smoothness constant in `norm`, by interpolation between l1 and l2.

        Hessians map l1 to l_inf with norm at most L1 and l2 to itself with norm at most L, hence
        (Riesz-Thorin) l_p to its dual with norm at most L1^(1-t) L^t, t = 2 (1 - 1/p).
        """
        L, l1, p = self.objective.L, getattr(self.objective, "L1", None), norm_order(self.norm)
        if L == 0.0:
            return self.mu  # a linear G is smooth with every constant, and this one is well scaled
        if L is None or l1 is None or p == 2.0:
            return L
        share = 2.0 * (1.0 - 1.0 / p)
        return l1 ** (1.0 - share) * L**share

    @property
    def mu(self) -> float:
        """Strong convexity of H."""
        return self.regularizer.mu

    @property
    def nu(self) -> float:
        """Strong convexity of w."""
        return self.mirror.nu

    @property
    def drag(self) -> float:
        """Strong convexity of w times its weight beta."""
        return self.beta * self.nu

    @property
    def beta(self) -> float:
        """Smoothness of G, or an explanation of how to provide it."""
        if self.L is None:
            self.L = self.own_smoothness()
        if self.L is None:
            raise CapabilityError(
                "Algorithm 1 needs beta, the Lipschitz constant of grad G, and "
                f"{type(self.objective).__name__} does not know its own: pass beta=..."
            )
        return self.L

    def damping(self, beta: float) -> float:
        r"""Return rho, for which noise lifts F by at most sigma^2 / (2 rho) in the long run.

        :math:`\sqrt{\mu\beta}` by Theorem 1; with steps of at most :math:`\eta`,
        :math:`1/\eta - \beta\tau` (Proposition P2), :math:`\tau = \mu\eta/(1+\mu\eta)` in the end.
        """
        rho = math.sqrt(self.mu * beta)
        if self.pace is None:
            return rho
        return max(rho, 1.0 / self.pace - beta * self.mu * self.pace / (1.0 + self.mu * self.pace))

    def limited(self, beta: float) -> bool:
        """Tell whether noise allows less than a smoothness ``beta`` of G, in the long run."""
        return self.pace is not None and self.pace * math.sqrt(self.mu) * math.sqrt(beta) < 1.0

    @cached_property
    def paced(self) -> bool:
        """Whether noise, not the smoothness of G, sets the pace of a run, or may have to."""
        return self.dependent or self.limited(self.beta)

    def curvature(self, g: Array) -> float:
        """Return the largest curvature that G may have along ``g``, 0 where that is not known."""
        size = self.norm_squared(g)
        found = getattr(self.objective, "curvature_bound", None)
        curvature = found(g) / size if found is not None and size > 0.0 else 0.0
        return curvature if math.isfinite(curvature) else 0.0

    def shift(self, y: Array) -> Array | None:
        """Return the slope that shifts w to begin anew at ``y``; None where it cannot be."""
        try:
            slope = self.mirror.gradient(y)
        except (AttributeError, CapabilityError):
            return None
        return slope if all_finite(slope) else None

    def raise_beta(self, curvature: float) -> None:
        """Take twice a measured curvature for beta where that exceeds it."""
        if curvature > self.beta:
            self.L = 2.0 * curvature

    def norm_squared(self, y: Array) -> float:
        """Return ||y||^2 in `norm`."""
        return norm_squared(y, self.norm)

    def divergence(self, y: Array) -> float:
        """Return D_w(y, z_0) = w(y) - w(z_0), z_0 the minimiser of w."""
        value = getattr(self.mirror, "value", None)
        if value is None:
            raise CapabilityError(f"w = {type(self.mirror).__name__} has no method value")
        return max(0.0, value(y) - value(self.mirror.z0))

    def evaluate(self, y: Array) -> CompositeEvaluation:
        """Evaluate F at ``y``, count it, and refuse what is not finite."""
        self.counts.nfev += 1
        at = self.objective.evaluate(y)
        known = getattr(self.objective, "has_values", True)
        if known and not math.isfinite(at.value):
            raise NonFiniteError("G returned a NaN or infinite value")
        if at.gradient is not None and not all_finite(at.gradient):
            raise NonFiniteError("G returned a NaN or infinite gradient")
        return CompositeEvaluation(
            at.value + self.regularizer.value(y), at.gradient, at.dual, at.value
        )

    def dual_bound(self, g: Array, dual: Any) -> float:
        """Return a proved lower bound on min F: Fenchel's -G*(g) - H*(-g).

        With g a convex combination of gradients of G and ``dual`` the same combination of their
        dual points, G*(g) <= conjugate_bound(dual); -H*(-g) is the minimum of <g, y> + H(y).
        """
        minimum = self.regularizer.minimum(g)
        conjugate = self.objective.conjugate_bound(dual)
        # rounding of the two sums above must not be mistaken for progress
        eps = epsilon(g)
        rounding = 4.0 * eps * (abs(minimum) + abs(conjugate)) + underflow(eps)
        bound = minimum - conjugate - rounding
        # noisy iterates may run away, and their bounds say nothing about what can be certified
        if bound >= self.best_bound:
            self.best_bound, self.rounding = bound, rounding
        return bound

    def violates_descent(
        self, at: CompositeEvaluation, y: Array, at_next: CompositeEvaluation, y_next: Array
    ) -> str:
        """Return what two evaluations prove wrong: '', 'beta' (too small) or 'convexity' of G."""
        if at.gradient is None:
            return ""
        step = y_next - y
        slope = inner(at.gradient, step)
        change = at_next.smooth - at.smooth - slope
        noise = 1e3 * epsilon(y) * (abs(at.smooth) + abs(at_next.smooth) + abs(slope))
        if change < -noise:
            return "convexity"
        if self.searched:
            return ""
        allowed = 0.5 * self.beta * norm_squared(step, self.norm) * (1 + 1e-6) + noise
        return "beta" if change > allowed else ""
