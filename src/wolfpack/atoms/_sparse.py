"""Vertices with few nonzero entries: paths, trees, permutations, k-sparse vectors."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..arrays import (
    arange,
    bincount,
    full,
    reshape,
    rows,
    scatter_add,
    sum_last,
    take,
    take_along,
    to_host,
    zeros,
)
from ._base import Array, Atoms, Index


class Sparse(Atoms):
    """``values`` at flat positions ``indices``, zero elsewhere.

    ``indices`` has the shape ([count,] nonzeros). Vertices with fewer nonzeros than others of their
    batch are padded by any position with value 0. ``values`` is an array like ``indices``, or one
    number for all. ``dtype`` is their floating-point type where ``indices`` is not NumPy's.
    """

    def __init__(
        self, indices: Array, values: Array, vertex_shape: tuple[int, ...], dtype: object = None
    ) -> None:
        self.indices = indices
        self.values = values
        self.dtype = dtype
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if indices.ndim == 1 else indices.shape[0]

    def to_dense(self) -> Array:
        rows, dtype = self.count or 1, self.dtype
        if type(self.indices) is np.ndarray:
            dtype = np.result_type(self.values, np.float32) if np.ndim(self.values) else np.float64
        indices = reshape(self.indices, (rows, -1))
        flat = indices + self.size * arange(rows, indices)[:, None]
        # padding repeats positions, hence add and not assign
        empty = zeros((rows * self.size,), indices, dtype)
        return reshape(scatter_add(empty, flat, self.values), self.shape)

    def dot(self, u: Array) -> Array:
        if tuple(u.shape) == self.vertex_shape:
            picked = take(reshape(u, (-1,)), self.indices)
        else:
            picked = take_along(reshape(u, (self.count or 1, -1)), self.indices)
        return sum_last(self.values * picked, 1)

    def mean(self) -> Array:
        entries = self._values_like(self.indices)
        total = bincount(self.indices, entries, self.size, self.dtype)
        return reshape(total / (self.count or 1), self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        if type(self.indices) is not np.ndarray:
            flat = reshape(scale * x, (-1,))
            return reshape(scatter_add(flat, self.indices, weight * self.values), tuple(x.shape))
        out = np.multiply(scale, x, order="C")  # reshape must be a view
        np.add.at(out.reshape(-1), self.indices, weight * self.values)
        return out

    def take(self, i: Index) -> Sparse:
        values = self.values if isinstance(self.values, float | int) else rows(self.values, i)
        return Sparse(rows(self.indices, i), values, self.vertex_shape, self.dtype)

    def norms_squared(self) -> Array:
        values = self._values_like(self.indices)
        return sum_last(values * values, 1)

    def entries(self) -> tuple[Array, Array] | None:
        if type(self.indices) is not np.ndarray:
            return None
        return self.indices, self._values_like(self.indices)

    def key(self) -> Hashable:
        indices, values = to_host(self.indices), to_host(self._values_like(self.indices))
        kept = values != 0
        order = np.argsort(indices[kept], kind="stable")
        return indices[kept][order].tobytes(), values[kept][order].tobytes()

    def _values_like(self, indices: Array) -> Array:
        if type(indices) is np.ndarray:
            return np.broadcast_to(np.asarray(self.values, dtype=float), indices.shape)
        if isinstance(self.values, float | int):
            return full(tuple(indices.shape), float(self.values), indices, self.dtype)
        return self.values
