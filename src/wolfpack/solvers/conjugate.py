r"""Conjugate and bi-conjugate direction Frank-Wolfe.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for traffic assignment,
    where oracles are shortest paths and Hessians are diagonal.

Iteration
    Instead of the vertex v_k, x moves towards a point s_k of K chosen so that the new direction is
    conjugate, in the Hessian H_k = Hess f(x_k), to the last direction (CFW) or to the last two
    (BFW). With d_k = v_k - x_k:

    .. math::

        &\text{CFW:}\quad s_k = \alpha_k s_{k-1} + (1-\alpha_k) v_k, \qquad
            \alpha_k = \Big[\frac{N_k}{N_k - D_k}\Big]_0^{1-\delta}, \quad
            N_k = \bar d^\top H_k d_k,\ D_k = \bar d^\top H_k \bar d,\ \bar d = s_{k-1} - x_k \\
        &\text{BFW:}\quad s_k = \frac{v_k + \nu_k s_{k-1} + \mu_k s_{k-2}}{1 + \mu_k + \nu_k}, \\
        &\qquad \mu_k = \Big[-(1-\gamma_{k-1})\frac{\bar{\bar d}{}^\top H_k d_k}
            {\bar{\bar d}{}^\top H_k \bar{\bar d}}\Big]_+, \quad
            \bar{\bar d} = \gamma_{k-1} s_{k-1} + (1-\gamma_{k-1}) s_{k-2} - x_k, \\
        &\qquad \nu_k = \Big[-\frac{\bar d^\top H_k d_k}{\bar d^\top H_k \bar d}
            + \frac{\mu_k \gamma_{k-1}}{1-\gamma_{k-1}}\Big]_+ \\
        &x_{k+1} = x_k + \gamma_k (s_k - x_k)

    with gamma_k from a line search. Where alpha_k is 0, s_k is v_k; a step gamma_{k-1} above
    1 - delta forgets the past.

Guarantee
    f(x_k) converges to min f (Mitradjieva and Lindberg 2013); no rate better than Frank-Wolfe's is
    known, in practice it is several times faster on traffic networks. f decreases in every round.

Symbols
    s_{k-1}, s_{k-2} ``state.targets``, the latest first; gamma_{k-1} ``state.gamma``.

Cost of a round
    One gradient, one oracle call, a line search, and one (CFW) or two (BFW) products with the
    Hessian: the objective's own where it has them, otherwise a difference of two gradients.

Sources
    M. Mitradjieva, P. O. Lindberg, The stiff is moving: conjugate direction Frank-Wolfe methods
    with applications to traffic assignment, Transportation Science 47, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, NamedTuple

from ..arrays import Array, inner
from ..atoms import Atoms
from ..problem import Evaluation, Problem, Solver
from ..problem.checks import between, checked, choice
from ..smoothing import Oracles
from .parts.active_set import hessian_product, towards
from .parts.domain import shortened
from .parts.rules import as_rule
from .parts.stall import Stall
from .parts.step_rules import LineSearch, Memory, Rule, SearchLine


class State(NamedTuple):
    """Iterate with its evaluation, the oracle's answer and its bound, then what is remembered."""

    k: int
    x: Array
    at: Evaluation
    vertex: Atoms
    bound: float
    targets: tuple[Array, ...]
    gamma: float
    memory: Memory
    stall: Stall

    stalled = property(attrgetter("stall.reached"))


@checked(order=choice(1, 2), rule=as_rule, delta=between(0, 1, low_open=True, high_open=True))
@dataclass(frozen=True)
class Conjugate(Solver[State]):
    """Frank-Wolfe along conjugate directions.

    Parameters
    ----------
    order : {1, 2}
        To how many former directions the new one is conjugate: 1 is CFW, 2 is BFW.
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    delta : float
        The oracle's answer always has at least this share of s_k (CFW), and steps above 1 - delta
        forget the past; in (0, 1).
    """

    order: int = 1
    rule: Rule | str = LineSearch()
    delta: float = 0.01
    name: ClassVar[str] = "conjugate"

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        as_rule(self.rule).check(problem)
        at = problem.evaluate(x0)
        vertex = oracles.lmo(at.gradient)
        bound = problem.dual_bound(at.gradient, at.dual, vertex)
        return State(0, x0, at, vertex, bound, (), 0.0, None, Stall(at.value, bound))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        k, x = state.k, state.x
        d = self._direction(problem, state, towards(state.vertex, x))
        ray = SearchLine(k, x, state.at, d, 1.0, state.memory)
        gamma, memory = as_rule(self.rule)(problem, ray)

        def moved(gamma: float) -> tuple[Array, Evaluation]:
            x_next = x + gamma * d
            return x_next, problem.evaluate(x_next)

        gamma, (x_next, at_next) = shortened(moved, gamma, x, end=1.0)
        vertex_next = oracles.lmo(at_next.gradient)
        bound_next = problem.dual_bound(at_next.gradient, at_next.dual, vertex_next)
        past = (x + d, *state.targets[: self.order - 1]) if gamma < 1 - self.delta else ()
        stall = state.stall.updated(at_next.value, state.bound)
        return State(k + 1, x_next, at_next, vertex_next, bound_next, past, gamma, memory, stall)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the oracle's answer to the gradient at x_k."""
        return state.bound

    def _direction(self, problem: Problem, state: State, d: Array) -> Array:
        """Return s_k - x_k from d = v_k - x_k; d itself where that would not lead down."""
        if not state.targets:
            return d
        former = [s - state.x for s in state.targets]
        combine = self._cfw if len(former) == 1 else self._bfw
        conjugate = combine(problem, state, d, *former)
        return conjugate if inner(state.at.gradient, conjugate) < 0 else d

    def _cfw(self, problem: Problem, state: State, d: Array, bar: Array) -> Array:
        """Return s_k - x_k, bar being s_{k-1} - x_k."""
        H_bar = hessian_product(problem, state.x, state.at, bar)
        N, D = inner(H_bar, d), inner(H_bar, bar)
        ratio = N / (N - D) if N != D else 0.0
        alpha = min(ratio, 1.0 - self.delta) if ratio > 0 else 0.0
        return alpha * bar + (1.0 - alpha) * d

    def _bfw(self, problem: Problem, state: State, d: Array, bar: Array, older: Array) -> Array:
        """Return s_k - x_k, older being s_{k-2} - x_k."""
        gamma = state.gamma
        bar2 = gamma * bar + (1.0 - gamma) * older
        H_bar, H_bar2 = (hessian_product(problem, state.x, state.at, u) for u in (bar, bar2))
        mu = max(0.0, -(1.0 - gamma) * _quotient(inner(H_bar2, d), inner(H_bar2, bar2)))
        nu = max(0.0, mu * gamma / (1.0 - gamma) - _quotient(inner(H_bar, d), inner(H_bar, bar)))
        return (d + nu * bar + mu * older) / (1.0 + mu + nu)


def _quotient(a: float, b: float) -> float:
    """Return a/b, 0 where f has no curvature to divide by."""
    return a / b if b > 0 else 0.0
