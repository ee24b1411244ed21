"""Beginning with the vertices of an earlier run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...problem import Problem, Region
from ...smoothing import Oracles
from .correction import Corrected, extended, metric_of
from .hull import Hull

_FEASIBLE = 1e-6  # relative to max(1, R_K), as for starting points


def kept_hull(state: Any) -> Hull | None:
    """Return the vertices that a method's state keeps, None if it keeps none."""
    inner = getattr(state, "inner", state)  # of the method in turn
    hull = getattr(inner, "hull", getattr(inner, "active", None))
    return hull if isinstance(hull, Hull) else None


def with_weight(hull: Hull, K: Region) -> Hull | None:
    """Return the points of a hull that have weight, None if they are not all known to be in K."""
    cheap = getattr(K, "cheap_violation", True)
    hull = hull.pruned(hull.weights)
    hull = Hull(hull.origin, hull.atoms, hull.keys, hull.weights, 0 * hull.idle)
    if not cheap or hull.origin.shape != tuple(K.shape) or type(hull.origin) is not np.ndarray:
        return None
    most = _FEASIBLE * max(1.0, K.radius)
    used = np.flatnonzero(hull.weights > 0)
    return hull if all(K.violation(hull.vertex(int(i))) <= most for i in used) else None


def begun_with(problem: Problem, state: Any, oracles: Oracles, *, known: Hull) -> Any:
    """Return a method's first state, at the point of ``known``, with its vertices.

    Methods that correct weights take the vertices into their pools. Methods that move weights take
    the active set as it is. States of other methods are returned unchanged.
    """
    if hasattr(state, "with_inner"):
        return state.with_inner(begun_with(problem, state.inner, oracles, known=known))
    if known.atoms is None:
        return state
    if isinstance(getattr(state, "hull", None), Hull):
        here = Corrected(state.hull.weights, state.x, state.at)
        hull, _ = extended(state.kind, problem, state.hull, known.atoms, here, state.anchor)
        return state._replace(hull=hull)
    active = getattr(state, "active", None)
    if not isinstance(active, Hull):
        return state
    if active.products is not None:
        active, _ = active.extend(known.atoms, metric_of("quadratic", problem, state.x))
        return state._replace(active=active)
    return state._replace(active=known)
