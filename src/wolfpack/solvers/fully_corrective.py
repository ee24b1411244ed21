r"""Fully corrective Frank-Wolfe.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes and for
    oracles that cost more than gradients.

Iteration
    Each round adds the oracle's answer to the active set S_k and minimises f over its hull:

    .. math::

        v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        x_{k+1} \approx \arg\min \{ f(x) : x \in \operatorname{conv}(S_k \cup \{v_k\}) \},
        \qquad S_{k+1} = \{v : w_{k+1}(v) > 0\}.

    For quadratics the correction is exact, by an active-set method on the weights
    (`parts.barycentric`) with a Gram matrix that grows by one row a round. Otherwise it consists of
    Newton steps: the same method minimises the quadratic model of f on the hull, the step rule says
    how far to go towards its minimiser, until
    :math:`\max_{v\in S}\langle\nabla f, v\rangle - \min_{v\in S}\langle\nabla f, v\rangle` is at
    most ``accuracy`` times the Frank-Wolfe gap, or ``inner`` steps are taken.

Guarantee
    At least that of away-step Frank-Wolfe, round for round: linear for strongly convex f on a
    polytope (Lacoste-Julien and Jaggi 2015, Theorem 1); finite on a polytope for exact corrections,
    since no hull returns. f decreases in every round.

Symbols
    S_k and w_k ``state.active``, v_k ``state.vertex``.

Cost of a round
    One oracle call. Quadratics: one gradient, one product with the Hessian, a few triangular solves
    of order |S|. Otherwise each Newton step takes a gradient, a line search and |S|
    products with the Hessian, which are differences of gradients where f does not know them.

Sources
    C. Holloway, An extension of the Frank and Wolfe method of feasible directions, Mathematical
    Programming 6, 1974.
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array, epsilon, inner, namespace, reshape, to_host
from ..problem import Problem
from ..problem.checks import checked, count, positive
from ..smoothing import Oracles
from .parts.active_set import ActiveSetMethod, State, ask_oracle, hessian_product
from .parts.barycentric import minimize_weights
from .parts.correction import correction_kind, metric_of
from .parts.domain import shortened
from .parts.hull import Hull


@checked(accuracy=positive, inner=count)
@dataclass(frozen=True)
class FullyCorrective(ActiveSetMethod):
    """Frank-Wolfe that minimises f over the hull of all vertices it keeps.

    Parameters
    ----------
    rule : Rule or str
        Step rule of the corrections where f is not quadratic; exact line search by default.
    accuracy : float
        Of a correction, as a fraction of the Frank-Wolfe gap; where f is not quadratic.
    inner : int
        Limit on the steps of a correction where f is not quadratic.
    """

    accuracy: float = 0.01
    inner: int = 20
    name: ClassVar[str] = "fcfw"

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        state = super().init(problem, x0, oracles)
        kind = correction_kind(problem, x0)
        if kind != "quadratic":
            return state
        return state._replace(active=Hull.start(x0, metric_of(kind, problem, x0)))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        correct = self._descend if state.active.gram is None else self._solve
        corrected = correct(problem, state)._replace(k=state.k + 1, step="correction")
        return ask_oracle(problem, corrected, oracles)

    def _solve(self, problem: Problem, state: State) -> State:
        """Return the state at the minimiser of a quadratic f over the hull."""
        g = state.at.gradient
        assert state.vertex is not None
        active, _ = state.active.add(state.vertex, metric_of("quadratic", problem, state.x))
        G, w, scores = active.gram, active.weights, active.scores(g)
        assert G is not None
        tol = 4.0 * epsilon(g) * float(abs(scores).max())
        weights, face = minimize_weights(G, scores, w, tol, active.face)
        active = active._replace(face=face).pruned(weights)
        return state.moved(problem, active, state.memory, state.k)

    def _descend(self, problem: Problem, state: State) -> State:
        """Return the state after Newton steps on the hull."""
        g = state.at.gradient
        assert state.vertex is not None
        gap = inner(g, state.x) - float(state.vertex.dot(g))
        state = state._replace(active=state.active.add(state.vertex)[0])
        for _ in range(self.inner):
            active, scores = state.active, state.active.scores(state.at.gradient)
            worst = scores[active.weights > 0].max()
            if worst - scores[active.first :].min() <= self.accuracy * gap:
                break
            state, gamma = self._newton(problem, state, scores)
            if gamma == 0.0:
                break  # rounding hides the descent
        return state

    def _newton(self, problem: Problem, state: State, scores: Array) -> tuple[State, float]:
        """Return the state after a step to the minimiser of f's quadratic model, and its length.

        With u_i = v_i - x the model in the weights is <u_i, H u_j>/2 and <g, u_i>.
        """
        x, at, active = state.x, state.at, state.active
        u = [active.vertex(i) - x for i in range(len(scores))]
        Hu = [hessian_product(problem, x, at, u_i) for u_i in u]
        space, flat = namespace(x), (len(u), -1)
        with np.errstate(over="ignore", invalid="ignore"):
            G = to_host(reshape(space.stack(u), flat) @ reshape(space.stack(Hu), flat).T)
        G = 0.5 * (G + G.T)
        if not np.isfinite(G).all():
            return state, 0.0  # slopes whose squares no float holds have no model
        tol = 4.0 * epsilon(x) * float(abs(scores).max())
        with np.errstate(over="ignore", invalid="ignore"):  # of a model without curvature
            weights, _ = minimize_weights(G, scores, active.weights, tol)
        d = active.point(weights) - x
        gamma, memory = self.stride(problem, state._replace(k=state.k + 1), d)

        def moved(gamma: float) -> State:
            hull = active.pruned((1.0 - gamma) * active.weights + gamma * weights)
            return state.moved(problem, hull, memory, state.k)

        gamma, there = shortened(moved, gamma, x, end=1.0)
        return there, gamma
