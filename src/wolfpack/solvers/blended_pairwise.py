r"""Blended pairwise conditional gradients (BPCG).

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes.

Iteration
    x_k is a convex combination of an active set S_k with weights w. With

    .. math::

        &a_k = \arg\max_{v\in S_k} \langle \nabla f(x_k), v\rangle, \quad
        s_k = \arg\min_{v\in S_k} \langle \nabla f(x_k), v\rangle, \quad
        v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle \\
        &x_{k+1} = x_k + \gamma_k (s_k - a_k),\ \gamma_k \le w(a_k),
            \quad\text{if } \langle \nabla f(x_k), a_k - s_k\rangle
            \ge \langle \nabla f(x_k), x_k - v_k\rangle \\
        &x_{k+1} = x_k + \gamma_k (v_k - x_k),\ \gamma_k \le 1, \quad\text{otherwise.}

Guarantee
    Linear for strongly convex f on a polytope, O(1/k) for convex f on any compact convex K, with
    short step or line search. There are no swap steps: a vertex enters only when the active ones
    promise less than it does, so active sets stay small (Tsuji, Tanaka, Pokutta 2022). f decreases
    in every round.

Symbols
    S_k and w ``state.active``, v_k ``state.vertex``, gamma_k the rule's step.

Cost of a round
    One gradient, one oracle call, one pass over the active set. With ``lazy``, the oracle is asked
    only when the active set offers less than phi, an estimate of the Frank-Wolfe gap that is halved
    when the oracle's answer offers less than phi/J (their lazified variant).

Sources
    K. Tsuji, K. Tanaka, S. Pokutta, Pairwise conditional gradients without swap steps and sparser
    kernel herding, ICML 2022.
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
class BlendedPairwise(LazyMethod):
    """Pairwise steps within the active set, Frank-Wolfe steps to enlarge it.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    lazy : bool
        Whether to ask the oracle only when the active set has too little to offer.
    J : float
        Laziness: the factor >= 1 by which the gap may fall below phi before phi follows.
    """

    name: ClassVar[str] = "bpcg"
    moves_weights: ClassVar[bool] = True

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        active = state.active
        scores = active.scores(state.at.gradient)
        worst, best = active.worst(scores), active.best(scores)
        local = scores[worst] - scores[best]
        if self.lazy and local >= state.phi:
            return self.move(problem, state, source=worst, target=best)
        state, vertex, value, gap = self.asked(problem, state, oracles)
        if local < gap:
            active, best = active.admit(vertex, value, scores)
            state = self.move(problem, state._replace(active=active), source=None, target=best)
        else:
            state = self.move(problem, state, source=worst, target=best)
        return self.ended(problem, state, oracles)
