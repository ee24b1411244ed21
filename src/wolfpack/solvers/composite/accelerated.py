r"""Stochastic composite minimisation: Algorithm 1 of the paper, and its converging form.

Problem
    min F(y) = G(y) + H(y), G convex and beta-smooth, seen through stochastic gradients of variance
    at most sigma^2; H mu-strongly convex and simple; w nu-strongly convex; one norm for all.

Iteration
    From :math:`z_0 = \arg\min w`, :math:`y_0 = z_0`, :math:`A_0 = 0`, :math:`d_0 = 0`:

    .. math::

        &A_{k+1}: \text{ larger root of } \beta (A'-A_k)^2 + \sqrt{\mu\beta} A'(A'-A_k)
            = A'(\mu A_k + \beta\nu), \qquad \tau_k = 1 - A_k/A_{k+1} \\
        &v_k = (1-\tau_k) y_k + \tau_k z_k, \qquad g_k \text{ a stochastic gradient of } G
            \text{ at } v_k \\
        &d_{k+1} = d_k + (A_{k+1}-A_k) g_k \\
        &z_{k+1} = \arg\min_y \langle d_{k+1}, y\rangle + A_{k+1} H(y) + \beta w(y) \\
        &y_{k+1} = (1-\tau_k) y_k + \tau_k z_{k+1}

    The converging form differs in the weights alone: A_k grows like k^2, then k^3.

Guarantee
    Theorem 1: E[F(y_k) - min F] decreases like exp(-k sqrt(mu/beta)/8) down to
    sigma^2 / (2 sqrt(mu beta)); see `wolfpack.theory.bound_composite`. Converging form: at most
    O(1/k^2) + O(sigma^2/(mu k)), with no floor; see `wolfpack.theory.bound_converging`.

Certificate
    By Fenchel's inequality min F >= -G*(g) - H*(-g) at every g. Exact gradients give it at the
    average g = d_k / A_k; full evaluations of G give it at grad G(y_k) and, where the gradients of
    rounds are random and y_k fluctuates, at the average of these (weights 1, 2, 3, ...) and at the
    control variate, whose slopes were taken along many rounds.

Symbols
    A_k grows geometrically and would overflow, so the state holds the average ``d`` = d_k / A_k:
    d_{k+1}/A_{k+1} = (1-tau_k) d_k/A_k + tau_k g_k, and the minimisation step is divided by
    A_{k+1}. ``dual`` is the average of the dual points of exact gradients (it stands for c_k / A_k,
    taken at the points v_i as in the paper's proof), None when gradients are random; ``m`` is the
    number of gradients averaged in a round, ``anchor`` where their control variate is taken and
    ``rows`` how many observations have been read; ``beta`` is None unless it is searched, and
    ``slope`` shifts w to where the run last began anew. Other letters are the paper's.

Cost of a round
    One (averaged) stochastic gradient, one minimisation step; memory O(d). F is evaluated only when
    a round is recorded, off the clock. Where beta was estimated it is tested on the gradients of
    the rounds 0, 1, 3, 7, 15, ... and raised where they disprove it: that changes the weights of
    later rounds, and Theorem 1 holds with the last beta for what follows. Where beta is searched,
    every fourth round looks at the curvature of its own draws along its step, and the rounds after
    it use 1.5 times that, changed by a factor of 2 at most. Such a beta_k is known before the
    gradient of its round is drawn, so gradients stay unbiased; that the curvature of draws stands
    for that of G is a heuristic. There the run also begins anew where H makes structure and a step
    turns against the one before.

Noise that grows with y
    Where the problem has a ``pace``, steps are bounded by it, A_{k+1} - A_k <= pace (mu A_k +
    beta nu), and F contracts by Theorem C4 (docs/theory/composite.md). Where this bound, not beta,
    sets the speed, the run begins anew at y_k once averages have moved uphill for a pass:
    the drift sums <z_k - z_{k+1}, z_k - y_k>, whose mean is that of <grad F, z_k - y_k> times a
    step, over every fourth round of a pass. A spell lasts five passes at least, and half as long as
    the run did before it. That it pays is measured, not proved. Where rounds are not independent
    steps are halved whenever a spell has not halved the drift, at once if it grows.

Sources
    B. Dubois-Taine, F. Bach, Q. Berthet, A. Taylor, Fast stochastic composite minimization and an
    accelerated Frank-Wolfe algorithm under parallelization, NeurIPS 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ... import theory
from ...arrays import Array, add_scaled, inner
from ...problem import NonFiniteError
from ...problem.checks import check_count
from .spell import Spell

_LOOK = 4  # rounds between looks at the curvature, where beta is searched, and at the drift


class Seen(NamedTuple):
    """The weighted average of the full gradients seen so far, with their dual points."""

    count: int = 0
    gradient: Any = 0.0
    dual: Any = 0.0

    def plus(self, at: Any) -> Seen:
        """Return the average with one more evaluation, of weight count + 1."""
        tau = 2.0 / (self.count + 2.0)
        gradient = (1 - tau) * self.gradient + tau * at.gradient
        return Seen(self.count + 1, gradient, (1 - tau) * self.dual + tau * at.dual)


class State(NamedTuple):
    """Iterates of Algorithm 1 and, once it has been asked for, the evaluation of F at y_k."""

    k: int
    y: Array
    z: Array
    d: Array
    dual: Any
    A_k: float
    m: int | str
    growth: float = 0.0
    seen: Seen = Seen()
    anchor: Any = None
    rows: int = 0
    beta: float | None = None
    slope: Any = None
    spell: Spell = Spell()
    at: Any = None

    @property
    def x(self) -> Array:
        """The iterate, by the name that the loop uses."""
        return self.y


def turns(v: Array, y: Array, y_next: Array) -> bool:
    """Tell whether the step from v to y_next goes against that from y to y_next."""
    return inner(v - y_next, y_next - y) > 0.0


@dataclass(frozen=True)
class StochasticComposite:
    """Algorithm 1 of the paper.

    Parameters
    ----------
    batch : int, callable, "theory" or None
        Stochastic gradients (or rows of a sum) averaged in a round: a number, a function of the
        round k, what Theorem 1 needs for the tolerance ("theory"; `minimize_composite` puts the
        number in its place), or None for what the gradient oracle proposes.
    """

    batch: int | str | Callable[[int], int] | None = None
    name: ClassVar[str] = "accelerated"
    batch_names: ClassVar[tuple[str, ...]] = ("theory",)

    def __post_init__(self) -> None:
        if self.batch is not None and not callable(self.batch):
            check_count("batch", self.batch, names=self.batch_names)

    def weight(
        self, problem: Any, k: int, A_k: float, exact: bool, beta: float | None = None
    ) -> tuple[float, float]:
        """Return A_{k+1} and tau_k."""
        if beta is None:
            return theory.next_weight(A_k, problem.beta, problem.mu, problem.nu)
        return theory.next_weight(A_k, beta, problem.mu, problem.nu * problem.beta / beta)

    def init(self, problem: Any, y0: Array, gradients: Any) -> State:
        """Return the state of round 0."""
        dual = 0.0 if gradients.exact else None
        state = State(0, y0, y0, 0.0 * y0, dual, 0.0, self.size(0, 1, 0.0, gradients))
        return state._replace(beta=problem.beta) if getattr(problem, "floor", None) else state

    def step(self, problem: Any, state: State, gradients: Any) -> State:
        """Return the state after one more round."""
        k, y, z, d, dual, A_k, m, growth, seen, anchor, rows, beta, slope, spell, _ = state
        A_next, tau = self.weight(problem, k, A_k, gradients.exact, beta)
        if problem.pace is not None:
            most = problem.pace * problem.shrink**spell.stuck, problem.mu, problem.drag
            A_next, tau = theory.capped_weight(A_k, A_next, tau, *most)
        kept = (1 - tau) * y
        v = kept + tau * z
        variate = gradients.anchor(anchor, y, k, m)
        g = gradients.at(v, k, m, variate)
        d_next = add_scaled((1 - tau) * d, tau, g.mean)
        lam = problem.beta / A_next
        z_next = problem.solve(d_next if slope is None else d_next - lam * slope, lam)
        y_next = add_scaled(kept, tau, z_next)
        problem.counts.njev += 1
        dual_next = None if dual is None else (1 - tau) * dual + tau * g.dual
        growth_next = self.growth(problem, k, v, z_next, growth, gradients)
        m_next = self.size(k + 1, m, growth_next, gradients)
        if problem.estimated and not k & (k + 1):
            problem.raise_beta(gradients.curvature(v, y_next, k, m, problem.norm))
        rows += gradients.read(m, variate is not anchor)
        anew = False
        if beta is not None and k % _LOOK == 0:
            found = gradients.along(v, y_next, problem.norm)
            beta = max(problem.floor, min(max(1.5 * found, 0.5 * beta), 2.0 * beta))
            rows += gradients.read(m, False) // 2  # one product with the rows at hand
            anew = problem.regularizer.structured and turns(v, y, y_next)
        if beta is None and problem.pace is not None:
            look = inner(z - z_next, z - y) if k % _LOOK == 0 else 0.0
            anew, spell = spell.after(k + 1, look, max(1, gradients.per_pass // m), problem)
        shift = problem.shift(y_next) if anew else None
        if shift is not None:
            slope, z_next, d_next, A_next = shift, y_next, 0.0 * d, 0.0
        anchor_next = variate if g.anchor is None else g.anchor
        moved = k + 1, y_next, z_next, d_next, dual_next, A_next, m_next
        rest = growth_next, seen, anchor_next, rows, beta, slope, spell
        return State(*moved, *rest)

    def observe(self, problem: Any, state: State) -> State:
        """Return the state with F evaluated at y_k."""
        at = problem.evaluate(state.y)
        if math.isinf(at.value):
            raise NonFiniteError("y is outside the domain of H")
        if at.gradient is None or state.dual is not None:
            return state._replace(at=at)
        return state._replace(at=at, seen=state.seen.plus(at))

    def lower_bound(self, problem: Any, state: State, gradients: Any) -> float:
        """Return the better of the dual values at grad G(y_k) and at an averaged gradient."""
        if state.at.gradient is None:
            return -math.inf
        bound = problem.dual_bound(state.at.gradient, state.at.dual)
        if state.dual is not None and state.A_k > 0.0:
            bound = max(bound, problem.dual_bound(state.d, state.dual))
        if state.seen.count > 1:
            bound = max(bound, problem.dual_bound(state.seen.gradient, state.seen.dual))
        if state.anchor is not None:
            theta = gradients.table(state.anchor)
            gradient = problem.objective.pull_back(theta[None])[0]  # anew: no rounding adds up
            bound = max(bound, problem.dual_bound(gradient, theta))
        return bound

    def growth(
        self, problem: Any, k: int, v: Array, z_next: Array, growth: float, gradients: Any
    ) -> float:
        """Return by how much the next rounds' batches grow; here they do not."""
        return growth

    def size(self, k: int, m: Any, growth: float, gradients: Any) -> int | str:
        """Return how many gradients round ``k`` averages, after ``m`` in the round before."""
        if self.batch is None:
            return gradients.batch
        if not callable(self.batch):
            return self.batch
        size = self.batch(k)
        check_count(f"batch({k})", size)
        return int(size)


@dataclass(frozen=True)
class ConvergingComposite(StochasticComposite):
    r"""Algorithm 1 with polynomial weights, which converges to the minimum.

    Parameters
    ----------
    batch : int, callable, "auto" or None
        As in `StochasticComposite`. "auto" takes c (k+1) gradients in round k, with the c for which
        both terms of Theorem C1 are equal where its weights turn cubic,
        :math:`c = \frac{9 (1-\theta) \nu \sigma^2}{8 \mu \beta D}`. The variance sigma^2 of one
        gradient and D = D_w(z_k, z_0) are measured in the rounds k = 0, 1, 3, 7, 15, ...; c is at
        most beta/mu. The theorem holds for these batches, the choice of c is a heuristic.
    theta : float, optional
        Share of the curvature kept to absorb the noise of the gradients, in [0, 1); by default 1/2,
        and 0 for exact gradients.
    """

    theta: float | None = None
    name: ClassVar[str] = "converging"
    batch_names: ClassVar[tuple[str, ...]] = ("auto",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is not None and not 0 <= self.theta < 1:
            raise ValueError(f"theta must satisfy 0 <= theta < 1, found {self.theta!r}")

    def weight(
        self, problem: Any, k: int, A_k: float, exact: bool, beta: float | None = None
    ) -> tuple[float, float]:
        constants = problem.beta, problem.mu, problem.nu
        return theory.next_converging_weight(k, A_k, *constants, self._theta(exact))

    def growth(
        self, problem: Any, k: int, v: Array, z_next: Array, growth: float, gradients: Any
    ) -> float:
        """Return c, measured again when the number of rounds has doubled."""
        if self.batch != "auto" or k & (k + 1):
            return growth
        variance = gradients.variance(v, 1, problem.norm, k=k)
        scale = 8.0 * problem.mu * problem.beta * problem.divergence(z_next)
        free = 9.0 * (1.0 - self._theta(False)) * problem.nu * variance
        # where z has not moved, noise does not move it: one gradient is enough
        return min(free / scale, problem.beta / problem.mu) if scale > 0 else 0.0

    def size(self, k: int, m: Any, growth: float, gradients: Any) -> int | str:
        if self.batch != "auto":
            return super().size(k, m, growth, gradients)
        # at most doubling: D is underestimated while z has not travelled far
        return math.ceil(min(gradients.most, 2 * m, max(1.0, growth * (k + 1))))

    def _theta(self, exact: bool) -> float:
        return (0.0 if exact else 0.5) if self.theta is None else self.theta
