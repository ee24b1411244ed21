"""Vertices with few nonzero entries: paths, trees, permutations, k-sparse vectors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..arrays import (
    arange,
    bincount,
    device_of,
    namespace,
    reshape,
    rows,
    scatter_add,
    sum_last,
    take,
    take_along,
    to_host,
    zeros,
)
from ._base import Array, Atoms


class Sparse(Atoms):
    """``values`` at flat positions ``indices``, zero elsewhere.

    Parameters
    ----------
    indices : int array, shape (nonzeros,) or (count, nonzeros)
        Flat positions. Vertices of one batch that have fewer nonzeros than others are padded by
        any position with value 0.
    values : float or array like ``indices``
        The entries; a number stands for equal entries everywhere.
    vertex_shape : tuple of int
        Shape of one vertex.
    dtype : type, optional
        Floating-point type of the entries where ``indices`` is not NumPy's.
    """

    dtype: Any = None

    def __init__(
        self, indices: Array, values: Any, vertex_shape: tuple[int, ...], dtype: Any = None
    ) -> None:
        self.indices = indices
        self.values = values
        self.dtype = dtype
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if indices.ndim == 1 else indices.shape[0]

    def to_dense(self) -> Array:
        if type(self.indices) is not np.ndarray:
            return self._scattered()
        dtype = np.result_type(self.values, np.float32) if np.ndim(self.values) else np.float64
        out = np.zeros((self.count or 1, self.size), dtype=dtype)
        indices = self.indices.reshape(out.shape[0], -1)
        # padding repeats positions, hence add and not assign
        np.add.at(out, (np.arange(out.shape[0])[:, None], indices), self._values_like(indices))
        return out.reshape(self.shape)

    def dot(self, u: Array) -> Any:
        if tuple(u.shape) == self.vertex_shape:
            picked = take(reshape(u, (-1,)), self.indices)
        else:
            picked = take_along(reshape(u, (self.count or 1, -1)), self.indices)
        return sum_last(self.values * picked, 1)

    def mean(self) -> Array:
        if type(self.indices) is not np.ndarray:
            total = bincount(self.indices, self.values, self.size, self.dtype)
            return reshape(total / (self.count or 1), self.vertex_shape)
        weights = self._values_like(self.indices).reshape(-1)
        total = np.bincount(self.indices.reshape(-1), weights=weights, minlength=self.size)
        return (total / (self.count or 1)).reshape(self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        if type(self.indices) is not np.ndarray:
            flat = reshape(scale * x, (-1,))
            return reshape(scatter_add(flat, self.indices, weight * self.values), tuple(x.shape))
        out = np.multiply(scale, x, order="C")  # reshape must be a view
        np.add.at(out.reshape(-1), self.indices, weight * self.values)
        return out

    def take(self, i: Any) -> Sparse:
        values = self.values if isinstance(self.values, float | int) else rows(self.values, i)
        return Sparse(rows(self.indices, i), values, self.vertex_shape, self.dtype)

    def norms_squared(self) -> Any:
        values = self._values_like(self.indices)
        return sum_last(values * values, 1)

    def key(self) -> Hashable:
        indices, values = to_host(self.indices), to_host(self._values_like(self.indices))
        kept = values != 0
        order = np.argsort(indices[kept], kind="stable")
        return indices[kept][order].tobytes(), values[kept][order].tobytes()

    def _scattered(self) -> Array:
        rows, indices = self.count or 1, reshape(self.indices, (self.count or 1, -1))
        flat = indices + self.size * arange(rows, indices)[:, None]
        empty = zeros((rows * self.size,), indices, self.dtype)
        return reshape(scatter_add(empty, flat, self.values), self.shape)

    def _values_like(self, indices: Array) -> Array:
        if type(indices) is np.ndarray:
            return np.broadcast_to(np.asarray(self.values, dtype=float), indices.shape)
        if isinstance(self.values, float | int):
            return namespace(indices).full(
                indices.shape, float(self.values), dtype=self.dtype, device=device_of(indices)
            )
        return self.values
