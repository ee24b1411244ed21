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
    One gradient, one oracle call, one pass over the active set.

Sources
    J. Guelat, P. Marcotte, Some comments on Wolfe's away step, Mathematical Programming 35, 1986.
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arrays import inner
from ..problem import Problem
from ..smoothing import Oracles
from .parts.active_set import ActiveSetMethod, State, ask_oracle


@dataclass(frozen=True)
class AwayStep(ActiveSetMethod):
    """Frank-Wolfe steps to the best vertex of K, or away from the worst active one."""

    name: ClassVar[str] = "away"
    moves_weights: ClassVar[bool] = True

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        g, active, vertex = state.at.gradient, state.active, state.vertex
        assert vertex is not None
        scores, here, value = active.scores(g), inner(g, state.x), float(vertex.dot(g))
        worst = active.worst(scores)
        if here - value >= scores[worst] - here:
            active, best = active.admit(vertex, value, scores)
            state = self.move(problem, state._replace(active=active), source=None, target=best)
        else:
            state = self.move(problem, state, source=worst, target=None)
        return ask_oracle(problem, state, oracles)
