r"""Pairwise Frank-Wolfe.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes.

Iteration
    x_k is a convex combination of an active set S_k with weights w, and weight moves from the worst
    active vertex to the best vertex of K:

    .. math::

        &v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        a_k = \arg\max_{v\in S_k} \langle \nabla f(x_k), v\rangle \\
        &x_{k+1} = x_k + \gamma_k (v_k - a_k), \qquad \gamma_k \in [0, w(a_k)].

Guarantee
    Linear for strongly convex f on a polytope, but only over the rounds that are not swap steps
    (gamma_k = w(a_k) with v_k new), and their number is bounded by a factorial of the size of the
    active set alone (Lacoste-Julien and Jaggi 2015, Theorem 1). In practice it is the faster one of
    the two on sparse problems. With short step or line search f decreases in every round.

Symbols
    S_k and w ``state.active``, v_k ``state.vertex``, a_k ``worst``, gamma_k the rule's step.

Cost of a round
    One gradient, one oracle call, one pass over the active set.

Sources
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..problem import Problem
from ..smoothing import Oracles
from .parts.active_set import ActiveSetMethod, State, ask_oracle


@dataclass(frozen=True)
class Pairwise(ActiveSetMethod):
    """Steps from the worst active vertex to the best vertex of K."""

    name: ClassVar[str] = "pairwise"
    moves_weights: ClassVar[bool] = True

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        g, active, vertex = state.at.gradient, state.active, state.vertex
        assert vertex is not None
        scores = active.scores(g)
        worst = active.worst(scores)
        active, best = active.admit(vertex, float(vertex.dot(g)), scores)
        state = self.move(problem, state._replace(active=active), source=worst, target=best)
        return ask_oracle(problem, state, oracles)
