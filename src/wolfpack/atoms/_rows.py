"""Vertices that are rows of a table: convex hulls of given points."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ._base import Array, Atoms


class Rows(Atoms):
    """Row ``index`` of ``table``, without a copy of the row.

    Parameters
    ----------
    table : array, shape (N, size)
        The flattened points, shared by all vertices.
    index : int array, shape () or (count,)
        Which point each vertex is.
    vertex_shape : tuple of int
        Shape of one vertex.
    """

    def __init__(self, table: Array, index: Any, vertex_shape: tuple[int, ...]) -> None:
        self.table = table
        self.index = np.asarray(index)
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if self.index.ndim == 0 else self.index.shape[0]

    def to_dense(self) -> Array:
        # + 0.0 makes a copy: what is handed out may be written to
        return self.table[self.index].reshape(self.shape) + 0.0

    def dot(self, u: Array) -> Any:
        if u.shape != self.vertex_shape:
            return (self.table[self.index] * u.reshape(self.count, -1)).sum(axis=-1)
        if len(self.table) < (self.count or 1):
            return (self.table @ u.reshape(-1))[self.index]
        return self.table[self.index] @ u.reshape(-1)

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        if len(self.table) < self.count:
            frequency = np.bincount(self.index, minlength=len(self.table)) / self.count
            return (frequency @ self.table).reshape(self.vertex_shape)
        return self.table[self.index].mean(axis=0).reshape(self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        return scale * x + weight * self.table[self.index].reshape(self.vertex_shape)

    def take(self, i: Any) -> Rows:
        return Rows(self.table, self.index[i], self.vertex_shape)

    def norms_squared(self) -> Any:
        rows = self.table[self.index]
        return (rows * rows).sum(axis=-1)

    def key(self) -> Hashable:
        # by value: the same point may stand in several rows; + 0.0 makes -0.0 equal 0.0
        return (self.table[self.index] + 0.0).tobytes()
