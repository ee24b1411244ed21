r"""Frank-Wolfe with momentum: the oracle answers an average of gradients.

Problem
    min f(x) over x in K, f convex and L-smooth, K compact and convex of diameter D.

Iteration
    With :math:`\theta_0 = \nabla f(x_0)`, v_0 the oracle's answer to it and
    :math:`\delta_k = 2/(k+3)`:

    .. math::

        &y_k = (1-\delta_k) x_k + \delta_k v_k \\
        &\theta_{k+1} = (1-\delta_k) \theta_k + \delta_k \nabla f(y_k) \\
        &v_{k+1} = \arg\min_{v\in K} \langle \theta_{k+1}, v\rangle \\
        &x_{k+1} = (1-\delta_k) x_k + \delta_k v_{k+1}.

    The heavy-ball form takes y_k = x_k instead: one and the same point for value and gradient.

Guarantee
    In every round, and not only in the best one as for plain Frank-Wolfe, the certified gap
    :math:`G_k = f(x_k) - \min_{v\in K}\Phi_k(v)`, :math:`\Phi_k` being the average of the tangents
    of f with the weights of theta_k, satisfies

    .. math:: G_{k+1} \le (1-\delta_k) G_k + \tfrac{L}{2} \delta_k^2 D^2, \qquad\text{hence}\qquad
        G_k \le \frac{2 G_0}{(k+1)(k+2)} + \frac{2 L D^2}{k+2},

    since f(x_{k+1}) is at most the tangent at y_k plus :math:`\tfrac L2\|x_{k+1}-y_k\|^2`, and
    Phi_{k+1}(v_{k+1}) is at least (1-delta_k) min Phi_k plus delta_k times that tangent. The first
    form has ||v_{k+1} - v_k|| in the place of D, whence O(1/k^2) up to logarithms on sets such as
    the Euclidean ball when the constraint is active (Li, Coutino, Giannakis, Leus 2021).

Symbols
    x_k ``state.x``, v_k ``state.vertex``, theta_k ``state.theta``; ``dual`` averages the gradients'
    dual points with the same weights, so that v_k's certificate is free.

Cost of a round
    One gradient, one oracle call; memory O(d). Where y_k is not x_k, f(x_k) itself is evaluated by
    the loop, in recorded rounds. Where f is not finite at y_k, delta_k is halved; where it is not
    finite at x_k, x_k moves towards y_{k-1}. The certificate holds for all weights and iterates.

Sources
    B. Li, M. Coutino, G. Giannakis, G. Leus, A momentum-guided Frank-Wolfe algorithm, IEEE
    Transactions on Signal Processing 69, 2021.
    B. Li, A. Sadeghi, G. Giannakis, Heavy ball momentum for conditional gradient, NeurIPS 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..arrays import Array, inner, norm, same_type
from ..atoms import Atoms
from ..problem import Evaluation, NonFiniteError, Problem, Solver
from ..problem.checks import checked, choice
from ..smoothing import Oracles
from .parts.domain import shortened, within

_TRUSTED = 0.65
"""Part of the last curvature that is expected in the next round as well."""


class State(NamedTuple):
    """Iterate, averaged gradient with its dual point, and the oracle's answer to it.

    ``inside`` is the point of the last gradient, where f is finite; ``tangent`` is the value at x
    of the tangent there, which f(x) is not below, and ``bend`` how far above it f was in the last
    evaluated round, over ||x - y||^2.
    """

    k: int
    x: Array
    at: Evaluation | None
    vertex: Atoms
    theta: Array
    dual: Array | float
    inside: Array
    tangent: float = -math.inf
    bend: float = 0.0


@checked(kind=choice("nesterov", "heavy-ball"))
@dataclass(frozen=True)
class Momentum(Solver[State]):
    """Momentum-guided Frank-Wolfe.

    Parameters
    ----------
    kind : {"nesterov", "heavy-ball"}
        Whether gradients are taken at y_k, between x_k and v_k, or at x_k.
    """

    kind: str = "nesterov"
    name: ClassVar[str] = "momentum"
    certificate_proofs: ClassVar[int] = 1

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        at = problem.evaluate(x0)
        return State(0, x0, at, oracles.lmo(at.gradient), at.gradient, at.dual, x0)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        delta, y, at = 2 / (state.k + 3), state.x, state.at
        if self.kind == "nesterov":
            state, delta, y, at = self._look(problem, state, delta)
        assert at is not None
        x = state.x
        theta_next = (1 - delta) * state.theta + delta * at.gradient
        dual_next = (1 - delta) * state.dual + delta * at.dual
        vertex_next = oracles.lmo(theta_next)
        x_next = same_type(vertex_next.add_scaled(x, 1 - delta, delta), x)
        tangent = at.value + inner(at.gradient, x_next - y)
        state = State(
            k=state.k + 1,
            x=x_next,
            at=None,
            vertex=vertex_next,
            theta=theta_next,
            dual=dual_next,
            inside=y,
            tangent=tangent,
            bend=state.bend,
        )
        return state if self.kind == "nesterov" else self.observe(problem, state)

    def observe(self, problem: Problem, state: State) -> State:
        """Return the state with f at x, which moves towards y_k where f is not finite at x."""
        x, at = within(problem, state.x, state.inside)
        square = norm(state.x - state.inside) ** 2
        if square > 0.0 and math.isfinite(state.tangent):
            state = state._replace(bend=max(0.0, at.value - state.tangent) / square)
        return state._replace(x=x, at=at)

    def _look(
        self, problem: Problem, state: State, delta: float
    ) -> tuple[State, float, Array, Evaluation]:
        """Return y_k and f there, with the state and the weight delta that make f finite."""

        def between(delta: float) -> tuple[Array, Evaluation]:
            y = same_type(state.vertex.add_scaled(state.x, 1 - delta, delta), state.x)
            return y, problem.evaluate(y)

        try:
            return state, delta, *between(delta)
        except NonFiniteError:
            # f has not been evaluated at x yet, unless the loop has recorded the last round
            state = self.observe(problem, state) if state.at is None else state
        delta, (y, at) = shortened(between, delta, state.x)
        return state, delta, y, at

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the dual value at theta_k."""
        return problem.dual_bound(state.theta, state.dual, state.vertex, averaged=True)

    def foresee(self, problem: Problem, state: State) -> tuple[float, float]:
        """Return what f(x_k) should not be below, and the bound of round k, without f(x_k).

        The number is the tangent at y_{k-1} and part of what f was above the last one, or f(x_k)
        where it is known. The bound is not proved where proofs cost oracle calls.
        """
        if getattr(problem.set, "proof_calls", 0):
            bound = problem.unproved_bound(state.theta, state.dual, state.vertex)
        else:
            bound = problem.dual_bound(state.theta, state.dual, state.vertex, averaged=True)
        if state.at is not None:
            return state.at.value, bound
        rise = _TRUSTED * state.bend * norm(state.x - state.inside) ** 2
        return state.tangent + rise, bound
