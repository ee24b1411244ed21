r"""What the gradient of a round tells of the certificate at the point that the round has made.

A certificate evaluates F at y_{k+1}, which costs about as much as a round. With exact gradients a
round has computed G and its gradient at v_k already. Since G is convex,

.. math::

    F(y_{k+1}) \ge G(v_k) + \langle \nabla G(v_k), y_{k+1} - v_k\rangle + H(y_{k+1}), \qquad
    \min F \ge -G^*(g) - H^*(-g) \quad \text{for } g = \nabla G(v_k) \text{ and } g = d_k / A_k .

The difference of the two numbers tells, without another look at the data, whether a certificate
could end the run. The loop asks for one only where it could (`wolfpack.problem.Foreseeing`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...arrays import Array, inner
from ...problem import CompositeEvaluation, CompositeProblem


class Query(NamedTuple):
    """The evaluation of G at v_k in round ``k``, whose step led to the next state.

    ``x`` is v_k. The fields are named as a state's, so that the loop can compare this point with
    the next iterate, for which beta was chosen.
    """

    k: int
    x: Array
    at: CompositeEvaluation


def query(k: int, v: Array, smooth: Any, gradient: Array, dual: Any, beta: Any) -> Query | None:
    """Return what round ``k`` has seen of G at ``v``; None where G does not tell its values."""
    if not math.isfinite(smooth):
        return None
    return Query(k, v, CompositeEvaluation(smooth, gradient, dual, smooth, beta))


def foreseen(problem: CompositeProblem, state: Any) -> tuple[float, float]:
    """Return a number that F(y_k) is not below and a lower bound on min F, from the last round.

    Without a query nothing is known of F(y_k), which minus infinity says.
    """
    if state.query is None:
        return -math.inf, -math.inf
    v, at, model = state.query.x, state.query.at, state.model
    least = at.smooth + inner(at.gradient, state.x - v) + problem.regularizer.value(state.x)
    bound = problem.dual_bound(at.gradient, at.dual)
    if model.dual is not None and model.A_k > 0.0:
        bound = max(bound, problem.dual_bound(model.d, model.dual))
    return least, bound
