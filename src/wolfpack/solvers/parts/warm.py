"""Beginning with the vertices of an earlier run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import epsilon
from ...atoms import Dense, OneHot, RankOne
from ...problem import NonFiniteError, Problem, Region
from ...smoothing import Oracles
from .correction import Corrected, correct, correction_kind, extended, metric_of
from .hull import Hull

_FEASIBLE = 1e-6  # relative to max(1, R_K), as for starting points
_CLOSE = 0.01  # share of the gap to which weights that were taken over are fitted to the new f
_MAX_ENTRIES = 2**24  # of vertices that are made dense


class Kept(NamedTuple):
    """What a later run needs of a method's last state: the vertices that it kept."""

    hull: Hull


def kept_hull(state: Any) -> Hull | None:
    """Return the vertices that a method's state keeps, None if it keeps none."""
    inner = getattr(state, "inner", state)  # of the method in turn
    hull = getattr(inner, "hull", getattr(inner, "active", None))
    return hull if isinstance(hull, Hull) else None


def within(hull: Hull, K: Region) -> Hull | None:
    """Return the points of a hull that are in K, None unless all with weight are known to be."""
    cheap = getattr(K, "cheap_violation", True)
    if not cheap or hull.origin.shape != tuple(K.shape) or type(hull.origin) is not np.ndarray:
        return None
    most = _FEASIBLE * max(1.0, K.radius)
    count = len(hull.weights)
    # the origin counts as long as it has weight
    stays = np.array([i == 0 or K.violation(hull.vertex(i)) <= most for i in range(count)])
    stays[0] = hull.weights[0] <= 0 or K.violation(hull.origin) <= most
    if (hull.weights[~stays] > 0).any():
        return None
    return hull.only(stays)._replace(products=None, face=None, images=None)


def scaled(hull: Hull, factor: float) -> Hull | None:
    """Return the hull of the points times a factor, None where they are too many to be dense."""
    atoms = hull.atoms
    if isinstance(atoms, OneHot):
        atoms = OneHot(atoms.index, factor * atoms.value, atoms.vertex_shape, atoms.dtype)
    elif isinstance(atoms, RankOne):
        atoms = RankOne(atoms.u, atoms.v, factor * atoms.scale)
    elif atoms is not None:
        if hull.origin.size * len(atoms) > _MAX_ENTRIES:
            return None
        # other vertices that are scaled need not be those of a set, whose identities they have
        atoms = Dense(factor * atoms.to_dense(), atoms.vertex_shape)
    bare = Hull.start(factor * hull.origin)
    if atoms is None:
        return bare
    bare, places = bare.extend(atoms)
    weights = np.zeros(len(bare.weights))
    weights[0] = hull.weights[0]
    np.add.at(weights, places, hull.weights[1:])
    return bare.reweighted(weights)._replace(idle=0 * bare.idle)


def fitted(problem: Problem, hull: Hull) -> Hull:
    """Return a hull of the same points with the weights at which f is nearly minimal.

    The hull is unchanged where f has no products with its Hessian, or where rounding or the domain
    of f leave nothing to gain.
    """
    x = hull.point()
    kind = correction_kind(problem, x)
    if kind == "gradient" or hull.atoms is None:
        return hull
    at, metric, weights = problem.evaluate(x), metric_of(kind, problem, x), hull.weights
    if weights[0] > 0:
        origin, best = hull.origin, 0
    else:  # which may be outside of K
        best = 1 + int(hull.scores(at.gradient)[1:].argmin())
        origin = hull.vertex(best)
        weights = np.zeros(len(weights))
        weights[0] = 1.0
    measured = Hull.start(origin, metric).extend(hull.atoms, metric)[0]._replace(weights=weights)
    try:
        start = measured.point()
        here = Corrected(weights, start, problem.evaluate(start))
        scores = measured.scores(here.at.gradient)
        # exact for quadratics: the tolerance is the rounding error of the slopes
        share = _CLOSE * float(scores.max() - scores.min()) if kind == "newton" else 0.0
        tol = max(share, 4.0 * epsilon(x) * float(abs(scores).max()))
        found = correct(kind, problem, measured, here, int(scores.argmin()), tol, scores)
    except NonFiniteError:
        return hull
    if not found.value < at.value:
        return hull
    weights = found.weights.copy()
    if best > 0:  # it is one of the vertices
        weights[best], weights[0] = weights[best] + weights[0], 0.0
    return measured.reweighted(weights)._replace(idle=0 * measured.idle)


def begun_with(problem: Problem, state: Any, oracles: Oracles, *, known: Hull) -> Any:
    """Return a method's first state, at the point of ``known``, with its vertices.

    Methods that correct weights take all vertices into their pools. Methods that move weights take
    those with weight. States of other methods are returned unchanged.
    """
    if hasattr(state, "with_inner"):
        return state.with_inner(begun_with(problem, state.inner, oracles, known=known))
    if known.atoms is None:
        return state
    if isinstance(getattr(state, "hull", None), Hull):
        return state._replace(hull=_pool(problem, state, known))
    active = getattr(state, "active", None)
    if not isinstance(active, Hull):
        return state
    if active.products is not None:
        active, _ = active.extend(known.atoms, metric_of("quadratic", problem, state.x))
        return state._replace(active=active)
    if active.atoms is not None:  # a cache
        return state._replace(active=active.extend(known.atoms)[0])
    bare = known._replace(products=None, face=None, images=None)
    return state._replace(active=bare.pruned(known.weights))


def _pool(problem: Problem, state: Any, known: Hull) -> Hull:
    """Return the hull of a corrective method's first state with the vertices that are known."""
    if state.kind == "quadratic" and known.products is not None:
        return known
    assert known.atoms is not None
    here = Corrected(state.hull.weights, state.x, state.at)
    return extended(state.kind, problem, state.hull, known.atoms, here, state.anchor)[0]
