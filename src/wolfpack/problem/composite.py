"""What solvers see of a composite problem: min G(y) + H(y), with a mirror map w."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..arrays import Array, all_finite, epsilon, inner, norm, norm_order, norm_squared, zeros
from .errors import CapabilityError, NonFiniteError
from .evaluation import CompositeEvaluation, Counts, Violation
from .protocols import MirrorMap, Objective, SimpleTerm
from .rounding import Scatter, underflow

_UNITS = 4.0
"""Rounding errors of values and bounds of F, in units of the precision of their terms."""


@dataclass(frozen=True)
class CompositeProblem:
    """The problem min G + H as Algorithm 1 sees it.

    Attributes
    ----------
    objective : Objective
        G, convex and smooth.
    regularizer : SimpleTerm
        H, strongly convex and simple.
    mirror : MirrorMap
        w, minimised where the run begins.
    solve : callable
        The minimisation step (g, lam) -> argmin <g, y> + H(y) + lam w(y).
    L : float or None
        beta, the smoothness of G in `norm`, as far as it is known: None for G's own.
    counts : Counts
        Full evaluations ``nfev`` and gradients of rounds ``njev`` so far.
    """

    objective: Objective
    regularizer: SimpleTerm
    mirror: MirrorMap
    solve: Callable[[Array, float], Array]
    L: float | None = None
    counts: Counts = field(default_factory=Counts)

    @cached_property
    def norm(self) -> str:
        """The norm in which G is smooth and both H and w strongly convex: "l2", "l1", "l1.5"...

        Since ||y||_p decreases with p, strong convexity in l_p implies it in l_r, r >= p, with the
        same constant. The larger of the two exponents is therefore a norm of both.
        """
        norms = self.regularizer.norm, self.mirror.norm
        return norms[0] if norms[0] == norms[1] else max(norms, key=norm_order)

    def own_smoothness(self) -> float | None:
        """Return G's smoothness constant in `norm`, by interpolation between l1 and l2.

        Hessians map l1 to l_inf with norm at most L1 and l2 to itself with norm at most L, hence
        (Riesz-Thorin) l_p to its dual with norm at most L1^(1-t) L^t, t = 2 (1 - 1/p).
        """
        L = self.objective.L
        if L == 0.0:
            return self.mu  # A linear G is smooth with every constant; this one is well scaled.
        l1 = None if self.norm == "l2" else self.objective.L1
        if L is None or l1 is None:
            return L
        share = 2.0 * (1.0 - 1.0 / norm_order(self.norm))
        return l1 ** (1.0 - share) * L**share

    @cached_property
    def mu(self) -> float:
        """Strong convexity of H."""
        return self.regularizer.mu

    @cached_property
    def nu(self) -> float:
        """Strong convexity of w."""
        return self.mirror.nu

    @cached_property
    def beta(self) -> float:
        """Smoothness of G, or an explanation of how to provide it."""
        beta = self.own_smoothness() if self.L is None else self.L
        if beta is None:
            raise CapabilityError(
                "Algorithm 1 needs beta, the Lipschitz constant of grad G, and "
                f"{type(self.objective).__name__} does not know its own: pass beta=..."
            )
        return beta

    def curvature(self, g: Array) -> float:
        """Return the largest curvature that G may have along ``g``, 0 where that is not known."""
        size = self.norm_squared(g)
        curvature = self.objective.curvature_bound(g) / size if size > 0.0 else 0.0
        return curvature if math.isfinite(curvature) else 0.0

    def shift(self, y: Array) -> Array | None:
        """Return the slope that shifts the minimiser of w to ``y``, None where w has none there."""
        try:
            slope = self.mirror.gradient(y)
        except CapabilityError:
            return None
        return slope if all_finite(slope) else None

    def norm_squared(self, y: Array) -> float:
        """Return ||y||^2 in `norm`."""
        return norm_squared(y, self.norm)

    def divergence(self, y: Array) -> float:
        """Return D_w(y, z_0) = w(y) - w(z_0), z_0 the minimiser of w."""
        w = self.mirror
        return max(0.0, w.value(y) - w.value(w.z0))

    def evaluate(self, y: Array, beta: float | None = None) -> CompositeEvaluation:
        """Evaluate F at ``y``, count it, and refuse what is not finite.

        ``beta`` is the smoothness constant that the run relies on now, for `violation`.
        """
        self.counts.evaluated(1, 0)
        at = self.objective.evaluate(y)
        if self.objective.has_values and not math.isfinite(at.value):
            raise NonFiniteError("G returned a NaN or infinite value")
        if at.gradient is not None and not all_finite(at.gradient):
            raise NonFiniteError("G returned a NaN or infinite gradient")
        value = at.value + self.regularizer.value(y)
        return CompositeEvaluation(value, at.gradient, at.dual, at.value, beta)

    def dual_bound(self, g: Array, dual: Any) -> float:
        """Return a proved lower bound on min F: Fenchel's -G*(g) - H*(-g).

        With g a convex combination of gradients of G and ``dual`` the same combination of their
        dual points, G*(g) <= conjugate_bound(dual); -H*(-g) is the minimum of <g, y> + H(y).
        """
        minimum = self.regularizer.minimum(g)
        conjugate = self.objective.conjugate_bound(dual)
        # The bound is lowered by rounding units of the two sums above.
        eps = epsilon(g)
        rounding = self._relative_error(eps) * (abs(minimum) + abs(conjugate)) + underflow(eps)
        rounding += self.objective.absolute_error + self.counts.noise + self.counts.slope_noise
        if self.objective.gradient_error:
            rounding += self._slope_error(self.objective.gradient_error, self.regularizer.argmin(g))
        bound = minimum - conjugate - rounding
        # Noisy iterates may diverge. Their bounds say nothing about what can be certified.
        if bound >= self.counts.bound:
            self.counts.bound, self.counts.rounding = bound, rounding
        return bound

    def value_error(self, y: Array, value: float, at: CompositeEvaluation | None) -> float:
        """Return the rounding error to expect of ``value``, F at ``y``."""
        smooth = value if at is None else at.smooth
        size = abs(value) + abs(smooth) + self.loss_size
        if not math.isfinite(value):
            return 0.0
        absolute = self.objective.absolute_error + self.counts.noise
        return self._relative_error(epsilon(y)) * size + absolute

    def _relative_error(self, eps: float) -> float:
        """Return the relative error of values of G and F, and of the numbers of a bound."""
        own = self.objective.error if self.objective.number_dual else 0.0
        return max(_UNITS * eps, own)

    def _slope_error(self, error: float, y: Array) -> float:
        """Return what an error of gradients may add to a bound, where iterates are about like y.

        An error e at y_i changes -G*(g) - H*(-g) by at most ||e|| ||y_i - y'|| + ||e||^2 / (2 mu),
        with y' the minimiser of <g, .> + H.
        """
        return error * (2.0 * norm(y) + error / self.mu)

    def allow_for(self, seen: Scatter, x: Array, unit: float) -> None:
        """Take measured errors of values and gradients of G; bounds so far are too high by them.

        Only what exceeds what is assumed of them counts, and what has been measured before by more
        than half.
        """
        counts, before = self.counts, self.counts.noise + self.counts.slope_noise
        relative = self._relative_error(2.0 * unit)
        value = seen.value - relative * (seen.largest + self.loss_size)
        error = max(seen.gradient, seen.constant) - relative * seen.steepest
        error -= self.objective.gradient_error
        slope = self._slope_error(error, x) if error > 0.0 else 0.0
        if value > 1.5 * counts.noise or slope > 1.5 * counts.slope_noise:
            counts.noise = max(counts.noise, value)
            counts.slope_noise = max(counts.slope_noise, slope)
        added = counts.noise + counts.slope_noise - before
        counts.rounding += added
        counts.bound -= added
        counts.owed += added
        counts.measured += added

    @cached_property
    def loss_size(self) -> float:
        """The size of the terms that cancel in a small loss: its value where the image is 0."""
        G = self.objective
        if G.image_shape is None or G.like is None:
            return 0.0
        size = abs(G.image_value(zeros(G.image_shape, G.like)))
        return size if math.isfinite(size) else 0.0

    def outside(self, y: Array, at: CompositeEvaluation | None) -> float:
        """Return 0: F is defined wherever a run may go."""
        return 0.0

    def violation(
        self, at: CompositeEvaluation, y: Array, at_next: CompositeEvaluation, y_next: Array
    ) -> Violation | None:
        """Return what the evaluations at two points prove wrong, None if nothing."""
        if at.gradient is None:
            return None
        step = y_next - y
        slope = inner(at.gradient, step)
        change = at_next.smooth - at.smooth - slope
        size = abs(at.smooth) + abs(at_next.smooth) + abs(slope) + self.loss_size
        noise = 1e3 * epsilon(y) * size + 8.0 * (self.counts.noise + self.counts.slope_noise)
        if change < -noise:
            return Violation("convexity")
        beta = at_next.beta
        if beta is None:
            return None
        allowed = 0.5 * beta * norm_squared(step, self.norm) * (1 + 1e-6) + noise
        return Violation("beta", beta) if change > allowed else None
