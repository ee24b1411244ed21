"""The points of a set that a group of permutations leaves as they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Array, as_float_array, norm
from ..problem import Polyhedron
from ..problem.checks import shown
from ..problem.polyhedron import Rows
from ._base import Set
from ._linear_map import LinearMap
from ._polyhedra import _map

_U = 2.0**-53
_PROBES = 4
"""Directions in which the set's own symmetry is tested."""


class Symmetric(LinearMap):
    r"""The invariant points :math:`\{x \in K : x_{\pi(i)} = x_i \text{ for all } i,\ \pi \in G\}`.

    Parameters
    ----------
    K : Set
        A set that the group maps to itself; a direction in which it does not is an error.
    group : array of int, shape (count, d), or a sequence of rows
        Permutations of the d entries of a flattened point, numbered from 0, that generate G.

    Notes
    -----
    The oracle averages g over the group, asks K once and averages the answer. The mean of x over G
    is P x with an orthogonal projection P: the mean over each orbit of entries, for which the
    generators are enough. As K is invariant it contains P x with x. So the set is P K, and
    min <g, P x> = min <P g, x>. The nearest point to x is that of K to P x. A convex f that G
    leaves unchanged has a minimiser in this set, and the run takes place in a smaller space.

    Examples
    --------
    >>> from wolfpack.sets import Simplex
    >>> K = Symmetric(Simplex(3), [[1, 0, 2]])  # x_0 = x_1
    >>> np.asarray(K.lmo(np.array([-2.0, -1.0, -1.2])))
    array([0.5, 0.5, 0. ])
    """

    summary = "{K.K}, {K.orbits} orbits"

    def __init__(self, K: Set, group: ArrayLike | Sequence[Sequence[int]]) -> None:
        super().__init__((K,))
        self.shape = K.shape
        permutations = _permutations(group, K.dimension)
        _check_invariant(K, permutations)
        d = K.dimension
        ends = np.tile(np.arange(d), len(permutations)), permutations.reshape(-1)
        joined = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(d, d))
        self.orbits, self.orbit = csgraph.connected_components(joined, directed=False)
        self._sizes = np.bincount(self.orbit).astype(np.float64)
        self.radius, self.diameter = K.radius, K.diameter
        self.centred_radius = K.centred_radius

    def average(self, x: Array) -> Array:
        """Return the mean of ``x``, of the shape of K, over the group."""
        total = np.bincount(self.orbit, x.reshape(-1))
        return (total / self._sizes)[self.orbit].reshape(self.shape)

    def _map(self, x: Array) -> Array:
        return self.average(x)

    def _pull(self, g: Array) -> Array:
        return self.average(g)

    def _pull_error(self, g: Array) -> Array:
        return 1.01 * (float(self._sizes.max()) + 2.0) * _U * self.average(abs(g))

    def absolute_support(self, c: np.ndarray) -> float:
        return min(super().absolute_support(c), self.K.absolute_support(c))

    def violation(self, x: Array) -> float:
        outside = self.K.violation(x)
        with np.errstate(over="ignore", invalid="ignore"):
            skew = norm(x - self.average(x))
        return outside if outside > self.radius else max(outside, skew)

    def _project(self, x: Array) -> Array:
        return self.average(self.K._project(self.average(x)))

    def _polyhedron(self) -> Polyhedron:
        K = self.K.polyhedron()
        first = np.full(self.orbits, len(self.orbit))
        np.minimum.at(first, self.orbit, np.arange(len(self.orbit)))
        leader = first[self.orbit]
        others = np.flatnonzero(leader != np.arange(len(leader)))
        T = sparse.csr_array(_map(K))
        offset = np.broadcast_to(K.offset, (T.shape[0],))
        matrix, right = T[others] - T[leader[others]], offset[leader[others]] - offset[others]
        if K.equations is not None:
            matrix = sparse.vstack([sparse.csr_array(K.equations.matrix), matrix], format="csr")
            right = np.concatenate([K.equations.right, right])
        equations = Rows(matrix, right)
        return Polyhedron(
            K.low,
            K.high,
            lambda z: self.average(K.round(z)),
            equations,
            K.inequalities,
            K.lift,
            K.offset,
        )


def _permutations(group: object, d: int) -> Array:
    """Return the generators as rows of an integer array."""
    wanted = f"group must be a list of permutations of 0, ..., {d - 1}"
    try:
        table = as_float_array(group, "group")
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, found {shown(group)}") from None
    if table.ndim != 2 or table.shape[1] != d or not len(table):
        raise ValueError(f"{wanted}, one per row, found shape {tuple(table.shape)}")
    wrong = np.flatnonzero((np.sort(table, axis=1) != np.arange(d)).any(axis=1))
    if len(wrong):
        raise ValueError(f"{wanted}, found none in row {wrong[0]}")
    return table.astype(np.intp)


def _check_invariant(K: Set, permutations: Array) -> None:
    """Raise if a permutation changes the support function of K in a few directions."""
    rng = np.random.default_rng(0)
    for g in rng.standard_normal((_PROBES, K.dimension)):
        value = float(K.support(g.reshape(K.shape)))
        for i, order in enumerate(permutations):
            moved = float(K.support(g[order].reshape(K.shape)))
            if abs(moved - value) > 1e-7 * K.radius * norm(g):
                raise ValueError(
                    f"K must be mapped to itself by the group, found that permutation {i} maps "
                    f"{K} to another set: average the points of a set that is invariant"
                )
