r"""Away-step Frank-Wolfe.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes.

Iteration
    x_k is a convex combination of an active set S_k with weights w. With

    .. math::

        &v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        a_k = \arg\max_{v\in S_k} \langle \nabla f(x_k), v\rangle \\
        &d_k = v_k - x_k,\ \gamma_{\max} = 1, \quad\text{if }
            \langle \nabla f(x_k), x_k - v_k\rangle \ge \langle \nabla f(x_k), a_k - x_k\rangle \\
        &d_k = x_k - a_k,\ \gamma_{\max} = \frac{w(a_k)}{1 - w(a_k)}, \quad\text{otherwise} \\
        &x_{k+1} = x_k + \gamma_k d_k, \qquad \gamma_k \in [0, \gamma_{\max}].

Guarantee
    For mu-strongly convex f on a polytope of diameter D and pyramidal width delta,
    f(x_k) - min f <= (1 - mu delta^2 / (4 L D^2))^(k/2) (f(x_0) - min f) with line search
    (Lacoste-Julien and Jaggi 2015, Theorem 1), if x_0 is a vertex; O(1/k) for convex f. With short
    step or line search f decreases in every round.

Symbols
    S_k and w ``state.active``, v_k ``state.vertex``, a_k ``worst``, gamma_k the rule's step.

Cost of a round
    One gradient, one oracle call, one pass over the active set. With ``lazy``, a round goes away
    from the worst active vertex or towards the best one, whichever promises more, without an oracle
    call, as long as that is at least phi, an estimate of the Frank-Wolfe gap that is halved when
    the oracle's answer offers less than phi/J (Braun, Pokutta, Zink 2019).

Sources
    J. Guelat, P. Marcotte, Some comments on Wolfe's away step, Mathematical Programming 35, 1986.
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
    G. Braun, S. Pokutta, D. Zink, Lazifying conditional gradient algorithms, Journal of Machine
    Learning Research 20, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arrays import inner
from ..problem import Problem
from ..problem.checks import checked, flag
from ..smoothing import Oracles
from .parts.active_set import LazyMethod, State, laziness


@checked(lazy=flag, J=laziness)
@dataclass(frozen=True)
class AwayStep(LazyMethod):
    """Frank-Wolfe steps to the best vertex of K, or away from the worst active one.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    lazy : bool
        Whether to ask the oracle only when the active set has too little to offer.
    J : float
        Laziness: the factor >= 1 by which the gap may fall below phi before phi follows.
    """

    name: ClassVar[str] = "away"
    moves_weights: ClassVar[bool] = True

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        g, active = state.at.gradient, state.active
        scores, here = active.scores(g), inner(g, state.x)
        worst = active.worst(scores)
        if self.lazy:
            best, back = active.best(scores), scores[worst] - here
            if max(here - scores[best], back) >= state.phi:
                if here - scores[best] < back:
                    return self.move(problem, state, source=worst, target=None)
                return self.move(problem, state, source=None, target=best)._replace(step="cached")
        state, vertex, value, gap = self.asked(problem, state, oracles)
        if gap >= scores[worst] - here:
            active, best = active.admit(vertex, value, scores)
            state = self.move(problem, state._replace(active=active), source=None, target=best)
        else:
            state = self.move(problem, state, source=worst, target=None)
        return self.ended(problem, state, oracles)
