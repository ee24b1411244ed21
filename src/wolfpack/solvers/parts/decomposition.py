r"""Starting points as mixtures of vertices.

A starting point inside K that is carried as one more point of the active set holds methods back
that move weight from vertex to vertex: it is never the worst point, so it loses its weight only as
slowly as a Frank-Wolfe method without away steps converges. So x_0 is written as a mixture of the
oracle's answers first, by Wolfe's method for the nearest point of a hull:

.. math::

    &v_j = \arg\min_{v\in K} \langle y_j - x_0, v\rangle \\
    &y_{j+1} = \arg\min \{ \|y - x_0\|^2 : y \in \operatorname{conv}(v_0, \dots, v_j) \},

v_0 being the oracle's answer to the gradient of f at x_0. On a polytope it ends at x_0, after about
as many calls as the face of x_0 has dimensions. One correction by f itself then takes the weight
from the vertices that f has no use for.

Sources
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, epsilon, norm, same_type
from ...problem import NonFiniteError, Problem, tick
from ...smoothing import Oracles
from .active_set import State, first_state
from .barycentric import minimize_weights
from .correction import Corrected, correct, correction_kind, metric_of
from .hull import Hull, Metric

MOST, MOST_UNKNOWN = 256, 64
"""Oracle calls that a starting point may take on polytopes, and on other sets."""

_EXACT = 1e-9
"""Distance from x_0, in units of K's radius, at which a mixture stands for it."""

_LOSS = 0.1
"""Share of the gap at x_0 to which its vertices are weighed again; x_0 may lose twice as much."""


def begun_apart(problem: Problem, state: State, oracles: Oracles) -> State:
    """Return a method's first state, its starting point being replaced by a mixture of vertices.

    It is unchanged where the starting point is a vertex, or where no mixture near it is as good.
    """
    hull, gap = decomposed(problem, state, oracles), state.at.value - state.bound
    exact = _is_near(hull.point(), state.x, problem.set.radius)
    if exact and np.count_nonzero(hull.weights) == 1:
        return state
    try:
        there = first_state(problem, _corrected(problem, hull, _LOSS * gap), oracles)
    except NonFiniteError:
        return state
    loss = there.at.value - state.at.value
    return there._replace(phi=state.phi) if loss <= 2.0 * _LOSS * gap * exact else state


def _is_near(x: Array, x0: Array, radius: float) -> bool:
    return norm(x - x0) <= _EXACT * radius


def decomposed(problem: Problem, state: State, oracles: Oracles) -> Hull:
    """Return the hull of a mixture of vertices at the point of a state, or near it."""
    x0, vertex, radius = state.x, state.vertex, problem.set.radius
    assert vertex is not None
    v0 = same_type(vertex.to_dense(), x0)
    # the products are those of the points less v_0, so that K may lie anywhere
    metric = Metric(lambda v: same_type(v.to_dense(), v0) - v0, centred=True)
    hull, before = Hull.start(v0, metric), np.inf
    for _ in range(MOST if getattr(problem.set, "polytope", False) else MOST_UNKNOWN):
        tick()
        off = hull.point() - x0
        distance = norm(off)
        if distance <= _EXACT * radius:
            break
        answer = oracles.lmo(off)
        known = len(hull.weights)
        hull, place = hull.add(answer, metric)
        if place < known and distance > 0.5 * before:
            break  # rounding hides what is left
        before, hull = distance, reweighed(hull, off)
    return hull._replace(products=None, face=None, idle=0 * hull.idle).pruned(hull.weights)


def reweighed(hull: Hull, off: Array) -> Hull:
    """Return the hull at its point nearest to x_0, ``off`` being its point less x_0 before."""
    assert hull.gram is not None
    scores = hull.scores(off)
    tol = 4.0 * epsilon(off) * float(abs(scores).max())
    weights, face = minimize_weights(hull.gram, scores, hull.weights, tol, hull.face)
    return hull.reweighted(weights, face)


def _corrected(problem: Problem, hull: Hull, tol: float) -> Hull:
    """Return the hull with weights that make f smaller, where f has products with its Hessian.

    Quadratics begin at the best of the vertices, so that few vertices enter before no mixture is
    better by more than ``tol``.
    """
    x = hull.point()
    kind = correction_kind(problem, x)
    if kind == "gradient" or hull.atoms is None:
        return hull
    metric = metric_of(kind, problem, x)
    measured, _ = Hull.start(hull.origin, metric).extend(hull.atoms, metric)
    weights = hull.weights
    if kind == "quadratic":
        weights = np.zeros(len(weights))
        weights[hull.scores(problem.gradient(x)).argmin()] = 1.0
    measured = measured._replace(weights=weights)
    start = measured.point()
    here = Corrected(weights, start, problem.evaluate(start))
    scores = measured.scores(here.at.gradient)
    found = correct(kind, problem, measured, here, int(scores.argmin()), tol, scores)
    return hull.pruned(found.weights)
