r"""Conditional gradient sliding (CGS): accelerated in gradients, by oracles alone.

Problem
    min f(x) over x in K, f convex and L-smooth, K compact and convex of diameter D.

Iteration
    Nesterov's accelerated gradient method, whose projections are replaced by Frank-Wolfe steps on
    the projection's own objective. For k = 1, 2, ..., with
    :math:`\gamma_k = 3/(k+2)`, :math:`\beta_k = 3L/(k+1)`, :math:`\eta_k = L D^2/(k(k+1))`:

    .. math::

        &z_k = (1-\gamma_k) y_{k-1} + \gamma_k x_{k-1} \\
        &x_k:\ \max_{v\in K} \langle \nabla f(z_k) + \beta_k (x_k - x_{k-1}), x_k - v\rangle
            \le \eta_k \\
        &y_k = (1-\gamma_k) y_{k-1} + \gamma_k x_k

    where x_k comes from u = x_{k-1} by the steps, until the maximum is at most eta_k,

    .. math::

        &p = \nabla f(z_k) + \beta_k (u - x_{k-1}), \quad
            v = \arg\min_{v\in K} \langle p, v\rangle \\
        &u \leftarrow u + \alpha (v - u), \quad
        \alpha = \min\{1, \langle p, u - v\rangle / (\beta_k \|v - u\|^2)\}.

Guarantee
    f(y_k) - min f <= 15 L D^2 / (2 (k+1)(k+2)), with at most ceil(6 beta_k D^2/eta_k) = 18 k inner
    steps in round k (Lan and Zhou 2016, Corollary 2.3): O(1/sqrt(eps)) gradients and O(1/eps)
    oracle calls.

Symbols
    y_k ``state.x``, the method's answer; x_k ``state.u``. ``y`` and ``dual`` average the gradients
    and their dual points with the weights gamma_k, which the certificate needs.

Cost of a round
    One gradient, at most 18 k oracle calls, one for the certificate; memory O(d). f(y_k) itself is
    evaluated by the loop, in recorded rounds. Where f is not finite at z_k, gamma_k is halved;
    where it is not finite at y_k, y_k moves towards z_k. The certificate holds for all weights.

Sources
    G. Lan, Y. Zhou, Conditional gradient sliding for convex optimization, SIAM Journal on
    Optimization 26, 2016.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..arrays import Array, inner
from ..atoms import Atoms
from ..problem import Evaluation, NonFiniteError, Problem, Solver
from ..smoothing import Oracles
from .parts.active_set import towards
from .parts.domain import shortened, within


class State(NamedTuple):
    """Iterates, the averages of the certificate, and the last z_k, where f is finite."""

    k: int
    x: Array
    at: Evaluation | None
    u: Array
    y: Array
    dual: Array | float
    bound: float
    inside: Array


@dataclass(frozen=True)
class Sliding(Solver[State]):
    """Conditional gradient sliding; needs L."""

    name: ClassVar[str] = "cgs"
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1
    round_calls: ClassVar[int] = 8  # far fewer than the 18 k that the guarantee allows, as a rule

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        problem.need_L(self.name)
        at = problem.evaluate(x0)
        return State(0, x0, at, x0, at.gradient, at.dual, -math.inf, x0)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        k = state.k + 1
        L, D = problem.need_L(self.name) or 1.0, problem.set.diameter  # 1 will do for a linear f
        gamma, beta, eta = 3 / (k + 2), 3 * L / (k + 1), L * D**2 / (k * (k + 1))
        state, gamma, z, at = self._look(problem, state, gamma)
        x = state.x
        u_next, first = _project(oracles, at.gradient, state.u, beta, eta, 18 * k)
        # the first inner answer is the answer to grad f(z): its bound is free
        bound = max(state.bound, problem.dual_bound(at.gradient, at.dual, first))
        x_next = (1 - gamma) * x + gamma * u_next
        y_next = (1 - gamma) * state.y + gamma * at.gradient
        dual_next = (1 - gamma) * state.dual + gamma * at.dual
        return State(k, x_next, None, u_next, y_next, dual_next, bound, z)

    def observe(self, problem: Problem, state: State) -> State:
        """Return the state with f at y_k, which moves towards z_k where f is not finite there."""
        x, at = within(problem, state.x, state.inside)
        return state._replace(x=x, at=at)

    def _look(
        self, problem: Problem, state: State, gamma: float
    ) -> tuple[State, float, Array, Evaluation]:
        """Return z_k and f there, with the state and the weight gamma that make f finite."""

        def between(gamma: float) -> tuple[Array, Evaluation]:
            z = (1 - gamma) * state.x + gamma * state.u
            return z, problem.evaluate(z)

        try:
            return state, gamma, *between(gamma)
        except NonFiniteError:
            # f has not been evaluated at y_k yet, unless the loop has recorded the last round
            state = self.observe(problem, state) if state.at is None else state
        gamma, (z, at) = shortened(between, gamma, state.x)
        return state, gamma, z, at

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the better of the dual values at grad f(z_i), i <= k, and at their average."""
        bound = problem.dual_bound(state.y, state.dual, oracles.lmo(state.y), averaged=True)
        return max(state.bound, bound)


def _project(
    oracles: Oracles, g: Array, center: Array, beta: float, eta: float, steps: int
) -> tuple[Array, Atoms]:
    """Return a point whose Frank-Wolfe gap on <g, u> + beta/2 ||u - center||^2 is at most eta.

    The second value is the oracle's answer to g itself.
    """
    u = center
    first = vertex = oracles.lmo(g)
    for _ in range(steps):
        p = g + beta * (u - center)
        d = towards(vertex, u)
        descent, square = -inner(p, d), beta * inner(d, d)
        if descent <= eta:
            break
        u = u + (1.0 if descent >= square else descent / square) * d  # square may underflow to 0
        vertex = oracles.lmo(g + beta * (u - center))
    return u, first
