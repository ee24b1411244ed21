r"""Differences of convex functions: linearise the second one, minimise by Frank-Wolfe, repeat.

Problem
    A stationary point of f - g over K, f and g convex, f smooth, K compact and convex: a point
    where :math:`S(x) = \max_{v\in K} \langle \nabla f(x) - \nabla g(x), x - v\rangle` is small.

Iteration
    A round takes the tangent of g at x_k and minimises a convex function that is above f - g,

    .. math::

        \varphi_k(x) = f(x) - \langle \nabla g(x_k), x\rangle, \qquad
        y_k \approx \arg\min_{x\in K} \varphi_k(x), \qquad x_{k+1} = y_k,

    by blended pairwise conditional gradients, which begin at x_k with the vertices of the last
    round. They end when :math:`\varphi_k(y) - \min \varphi_k` is at most ``accuracy`` times what
    they have gained, :math:`\varphi_k(x_k) - \varphi_k(y)`, as their Frank-Wolfe gap proves.
    With ``boosted`` the round goes on along :math:`d = y_k - x_k`,

    .. math:: x_{k+1} = y_k + \lambda d, \qquad
        (f - g)(y_k + \lambda d) \le (f - g)(y_k) - \sigma \lambda^2 \|d\|^2,

    where lambda is halved until that holds, from twice the last one or the edge of K.

Guarantee
    f - g falls by at least :math:`\tfrac12 \min(S/2, S^2/(2 L D^2))` in a round with accuracy 1, S
    being S(x_k), L the smoothness constant of f and D the diameter of K. For the minimum of phi_k
    is that far below, and half of it is gained. So the smallest S of k rounds is O(1/sqrt(k)). All
    limit points are stationary.

Symbols
    x_k ``state.x``, the vertices of the last inner run ``state.active``, lambda ``state.boost``.

Cost of a round
    One gradient of g, and an inner run: a gradient of f and an oracle call in each of its rounds.
    Memory: that of the active set.

Sources
    P. D. Tao, L. T. H. An, Convex analysis approach to d.c. programming, Acta Mathematica
    Vietnamica 22, 1997.
    F. Aragón Artacho, P. T. Vuong, The boosted difference of convex functions algorithm for
    nonsmooth functions, SIAM Journal on Optimization 30, 2020.
    H. Maskan, Y. Hou, S. Sra, A. Yurtsever, Revisiting Frank-Wolfe for structured nonconvex
    optimization, 2025.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array, epsilon, inner, same_type
from ..problem import CapabilityError, Evaluation, Problem, Solver
from ..problem.checks import checked, count, flag, positive
from ..smoothing import Oracles
from .blended_pairwise import BlendedPairwise
from .parts import active_set
from .parts.decomposition import begun_apart
from .parts.hull import Hull
from .parts.rules import as_rule
from .parts.stall import Stall
from .parts.step_rules import Rule

_SIGMA = 1e-4  # the decrease that a boosted step must have, relative to its squared length
_LONGEST = 1e3  # boosts beyond this many times a step are not tried


class State(NamedTuple):
    """Iterate with the evaluation of f - g, the active set, the last boost, the inner rounds."""

    k: int
    x: Array
    at: Evaluation
    active: Hull
    stall: Stall
    boost: float = 1.0
    inner_rounds: int = 0

    stalled = property(attrgetter("stall.reached"))


@checked(accuracy=positive, inner_rounds=count, boosted=flag)
@dataclass(frozen=True)
class DifferenceOfConvex(Solver[State]):
    """The DC algorithm with Frank-Wolfe inside; its objective is a `Difference`.

    Parameters
    ----------
    boosted : bool
        Whether a round goes on beyond the inner minimiser, for sets that know longest steps.
    accuracy : float
        Error that an inner run may leave, relative to what it has gained; positive.
    inner_rounds : int
        Limit on the rounds of an inner run.
    rule : Rule or str
        Step rule of the inner runs.
    """

    boosted: bool = False
    accuracy: float = 1.0
    inner_rounds: int = 1000
    rule: Rule | str = "secant"
    name: ClassVar[str] = "dca"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        if not hasattr(problem.objective, "linearised"):
            raise CapabilityError(
                "method 'dca' needs a difference of convex functions: call "
                "wp.minimize_difference(f, g, K), or pass wp.objectives.Difference(f, g)"
            )
        if self.boosted and not problem.set.has("max_step"):
            raise CapabilityError(
                f"boosted=True needs a set that knows longest steps (K.has('max_step')), and "
                f"{problem.set} does not: leave boosted out"
            )
        at = problem.evaluate(x0)
        stall = Stall.beyond_rounding(at.value, float("-inf"), x0)._replace(rounding=0.0)
        return State(0, x0, at, Hull.start(x0), stall)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        inside, rounds = self._minimised(problem, state, oracles)
        y, active = inside.x, inside.active
        at, boost = problem.evaluate(y), state.boost
        if self.boosted:
            boost, y, at = self._boosted(problem, state, y, at)
            active = active if boost == 0.0 else Hull.start(y)
        stall = state.stall.updated(at.value, float("-inf"))
        return State(state.k + 1, y, at, active, stall, boost, state.inner_rounds + rounds)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return minus infinity: f - g is not convex, and its tangents bound nothing."""
        return float("-inf")

    def _minimised(
        self, problem: Problem, state: State, oracles: Oracles
    ) -> tuple[active_set.State, int]:
        """Return the last state of an inner run, and its rounds."""
        objective: Any = problem.objective
        problem.counts.evaluated(int(problem.objective.joint), 1)
        surrogate = replace(problem, objective=objective.linearised(state.x), L=None, convex=True)
        method = BlendedPairwise(self.rule)
        inside = method.init(surrogate, state.x, oracles)
        first = inside.at.value
        if self.boosted and state.boost > 0.0:  # no mixture of vertices is known at a boosted point
            inside = begun_apart(surrogate, inside, oracles)
        else:
            inside = inside._replace(active=state.active)
        noise = 4.0 * epsilon(state.x) * abs(first)
        for rounds in range(self.inner_rounds):
            assert inside.vertex is not None
            g = inside.at.gradient
            gap = inner(g, inside.x) - float(inside.vertex.dot(g))
            if gap <= max(self.accuracy * (first - inside.at.value), noise) or inside.stalled:
                return inside, rounds
            inside = method.step(surrogate, inside, oracles)
        return inside, self.inner_rounds

    def _boosted(
        self, problem: Problem, state: State, y: Array, at: Evaluation
    ) -> tuple[float, Array, Evaluation]:
        """Return how far to go beyond y, 0 for not at all, and the point with f - g there."""
        d = y - state.x
        square = inner(d, d)
        if square == 0.0:
            return 0.0, y, at
        longest = min(problem.set.max_step(y, d), _LONGEST)
        boost = min(longest, 2.0 * state.boost if state.boost > 0 else 1.0)
        while boost > 1e-3:
            x_next = same_type(y + boost * d, y)
            if problem.value(x_next) <= at.value - _SIGMA * boost**2 * square:
                return boost, x_next, problem.evaluate(x_next)
            boost *= 0.5
        return 0.0, y, at
