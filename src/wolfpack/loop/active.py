"""The vertices of which an answer is a mixture, and how to need fewer of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from ..arrays import Array, to_host

_TOTAL = 10.0
"""How much the sum of weights counts beside the point, in units of the largest vertex."""


class Mixture(NamedTuple):
    """A convex combination of vertices.

    Attributes
    ----------
    vertices : array (count, *shape)
        Points of K, dense and on the host.
    weights : array (count,)
        Nonnegative numbers that sum to 1.
    distance : float
        Euclidean distance of the combination from the point that it stands for.
    """

    vertices: Array
    weights: Array
    distance: float

    @property
    def point(self) -> Array:
        """The combination itself."""
        return np.tensordot(self.weights, self.vertices, axes=1)


def active_of(state: Any, x: Array) -> Mixture | None:
    """Return the vertices with weight that a method's last state keeps, None if it keeps none."""
    inner = getattr(state, "inner", state)  # of the method in turn
    if isinstance(getattr(inner, "mixture", None), Mixture):  # of an exact run
        return inner.mixture
    hull: Any = getattr(inner, "hull", getattr(inner, "active", None))
    if not (hasattr(hull, "weights") and hasattr(hull, "vertex")):
        return None
    used = np.flatnonzero(hull.weights > 0)
    rows = [np.asarray(to_host(hull.vertex(int(i))), dtype=np.float64) for i in used]
    return _mixture(np.array(rows), hull.weights[used], np.asarray(to_host(x)))


def reduced(found: Mixture, x: Array, max_vertices: int | None) -> Mixture:
    """Return a mixture of fewer vertices for the same point, or for the nearest one found.

    Nonnegative least squares gives at most d + 1 vertices (Caratheodory) for an exact mixture. With
    a smaller ``max_vertices`` vertices are added one by one, each time the one that helps most at
    first order, and all weights are fitted again.
    """
    x = np.asarray(to_host(x), dtype=np.float64)
    found = found._replace(vertices=np.asarray(found.vertices, dtype=np.float64))  # of Fractions
    weights = _fitted(found.vertices, x)
    kept = np.flatnonzero(weights > 1e-12)
    if max_vertices is not None and len(kept) > max_vertices:
        kept, weights = _greedy(found.vertices, x, max_vertices)
    return _mixture(found.vertices[kept], weights[kept], x)


def _fitted(vertices: Array, x: Array) -> Array:
    """Return weights of the mixture nearest to x, of sum 1."""
    rows = vertices.reshape(len(vertices), -1)
    size = _TOTAL * max(float(np.linalg.norm(rows, axis=1).max()), 1e-300)
    system = np.vstack([rows.T, np.full(len(rows), size)])
    weights, _ = nnls(system, np.append(x.reshape(-1), size), maxiter=max(300, 30 * len(rows)))
    return weights / weights.sum()


def _greedy(vertices: Array, x: Array, count: int) -> tuple[Array, Array]:
    rows, target = vertices.reshape(len(vertices), -1), x.reshape(-1)
    kept = [int(np.linalg.norm(rows - target, axis=1).argmin())]
    weights = np.zeros(len(rows))
    weights[kept] = 1.0
    while len(kept) < count:
        scores = rows @ (weights @ rows - target)
        scores[kept] = np.inf
        kept.append(int(scores.argmin()))
        weights = np.zeros(len(rows))
        weights[kept] = _fitted(vertices[kept], x)
    return np.flatnonzero(weights > 1e-12), weights


def _mixture(vertices: Array, weights: Array, x: Array) -> Mixture:
    weights = weights / weights.sum()
    off = np.tensordot(weights, vertices, axes=1) - x
    return Mixture(vertices, weights, float(np.linalg.norm(off)))
