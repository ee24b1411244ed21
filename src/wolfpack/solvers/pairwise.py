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
    One gradient, one oracle call, one pass over the active set. With ``lazy``, weight moves to the
    best active vertex instead, without an oracle call, as long as that promises at least phi, an
    estimate of the Frank-Wolfe gap that is halved when the oracle's answer offers less than phi/J.

Sources
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..problem import Problem
from ..problem.checks import checked, flag
from ..smoothing import Oracles
from .parts.active_set import LazyMethod, State, laziness


@checked(lazy=flag, J=laziness)
@dataclass(frozen=True)
class Pairwise(LazyMethod):
    """Steps from the worst active vertex to the best vertex of K.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    lazy : bool
        Whether to ask the oracle only when the active set has too little to offer.
    J : float
        Laziness: the factor >= 1 by which the gap may fall below phi before phi follows.
    """

    name: ClassVar[str] = "pairwise"
    moves_weights: ClassVar[bool] = True

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        active = state.active
        scores = active.scores(state.at.gradient)
        worst, best = active.worst(scores), active.best(scores)
        if self.lazy and scores[worst] - scores[best] >= state.phi:
            return self.move(problem, state, source=worst, target=best)
        state, vertex, value, _ = self.asked(problem, state, oracles)
        active, best = active.admit(vertex, value, scores)
        state = self.move(problem, state._replace(active=active), source=worst, target=best)
        return self.ended(problem, state, oracles)
