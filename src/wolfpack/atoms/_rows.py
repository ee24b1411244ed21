"""Vertices that are rows of a table: convex hulls of given points."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..arrays import bincount, namespace, reshape, rows, sum_last, take, to_host
from ._base import Array, Atoms, Index


class Rows(Atoms):
    """Row ``index`` of ``table``, without a copy of the row.

    ``table`` (N, size) has the flattened points that all vertices share. ``index`` of shape () or
    (count,) says which point each vertex is.
    """

    def __init__(self, table: Array, index: Array, vertex_shape: tuple[int, ...]) -> None:
        self.table = table
        self.index = np.asarray(index) if type(table) is np.ndarray else index
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if self.index.ndim == 0 else self.index.shape[0]

    def to_dense(self) -> Array:
        # + 0.0 makes a copy: what is handed out may be written to
        return reshape(self._rows, self.shape) + 0.0

    def dot(self, u: Array) -> Array:
        if u.shape != self.vertex_shape:
            return sum_last(self._rows * reshape(u, (self.count or 1, -1)), 1)
        if self.table.shape[0] < (self.count or 1):
            return take(self.table @ reshape(u, (-1,)), self.index)
        return self._rows @ reshape(u, (-1,))

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        if self.table.shape[0] < self.count:
            times = bincount(self.index, 1.0, self.table.shape[0], self.table.dtype)
            return reshape((times / self.count) @ self.table, self.vertex_shape)
        return reshape(namespace(self.table).mean(self._rows, axis=0), self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        return scale * x + weight * reshape(self._rows, self.vertex_shape)

    def take(self, i: Index) -> Rows:
        return Rows(self.table, rows(self.index, i), self.vertex_shape)

    def norms_squared(self) -> Array:
        return sum_last(self._rows**2, 1)

    def key(self) -> Hashable:
        # by value: the same point may stand in several rows; + 0.0 makes -0.0 equal 0.0
        return to_host(self._rows + 0.0).tobytes()

    @property
    def _rows(self) -> Array:
        return take(self.table, self.index)
