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

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..arrays import Array, inner
from ..problem import Problem
from ..problem.checks import check_positive
from ..smoothing import Oracles
from .parts.moves import State, ask, begin, travel
from .parts.step_rules import LineSearch, as_rule


@dataclass(frozen=True)
class BlendedPairwise:
    """Pairwise steps within the active set, Frank-Wolfe steps to enlarge it.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers.step_rules`; exact line search by default.
    lazy : bool
        Whether to ask the oracle only when the active set has too little to offer.
    J : float
        Laziness: how far, as a factor >= 1, the gap may fall below phi before phi follows.
    """

    rule: Any = LineSearch()
    lazy: bool = False
    J: float = 2.0
    name: ClassVar[str] = "bpcg"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))
        check_positive("J", self.J)
        if self.J < 1:
            raise ValueError(f"J must be at least 1, found {self.J!r}")

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        """Return the state of round 0."""
        state = begin(problem, x0, oracles, self.rule)
        return state._replace(phi=math.inf)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state after one more round."""
        g, active, phi = state.at.gradient, state.active, state.phi
        scores = active.scores(g)
        worst, best = active.worst(scores), active.best(scores)
        local = scores[worst] - scores[best]
        if self.lazy and local >= phi:
            return travel(problem, state, self.rule, (worst, best))
        if state.vertex is None:
            state = ask(problem, state, oracles)
        assert state.vertex is not None
        value = float(state.vertex.dot(g))
        gap = inner(g, state.x) - value
        move: tuple[int | None, int] = worst, best
        if local < gap:
            active, target = active.admit(state.vertex, value, scores)
            move = None, target
        phi = phi if gap >= phi / self.J else 0.5 * gap
        state = travel(problem, state._replace(active=active, phi=phi), self.rule, move)
        return state if self.lazy else ask(problem, state, oracles)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the oracle's last answer."""
        return state.bound
