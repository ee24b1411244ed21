"""Vertices with few nonzero entries: paths, trees, permutations, k-sparse vectors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

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
    """

    def __init__(self, indices: Array, values: Any, vertex_shape: tuple[int, ...]) -> None:
        self.indices = indices
        self.values = values
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if indices.ndim == 1 else indices.shape[0]

    def to_dense(self) -> Array:
        dtype = np.result_type(self.values, np.float32) if np.ndim(self.values) else np.float64
        out = np.zeros((self.count or 1, self.size), dtype=dtype)
        indices = self.indices.reshape(out.shape[0], -1)
        # padding repeats positions, hence add and not assign
        np.add.at(out, (np.arange(out.shape[0])[:, None], indices), self._values_like(indices))
        return out.reshape(self.shape)

    def dot(self, u: Array) -> Any:
        if u.shape == self.vertex_shape:
            picked = u.reshape(-1)[self.indices]
        else:
            picked = np.take_along_axis(u.reshape(self.count, -1), self.indices, axis=-1)
        return (self.values * picked).sum(axis=-1)

    def mean(self) -> Array:
        weights = self._values_like(self.indices).reshape(-1)
        total = np.bincount(self.indices.reshape(-1), weights=weights, minlength=self.size)
        return (total / (self.count or 1)).reshape(self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        out = np.multiply(scale, x, order="C")  # reshape must be a view
        np.add.at(out.reshape(-1), self.indices, weight * self.values)
        return out

    def take(self, i: Any) -> Sparse:
        values = self.values[i] if np.ndim(self.values) else self.values
        return Sparse(self.indices[i], values, self.vertex_shape)

    def norms_squared(self) -> Any:
        values = self._values_like(self.indices)
        return (values * values).sum(axis=-1)

    def key(self) -> Hashable:
        values = self._values_like(self.indices)
        kept = values != 0
        order = np.argsort(self.indices[kept], kind="stable")
        return self.indices[kept][order].tobytes(), values[kept][order].tobytes()

    def _values_like(self, indices: Array) -> Array:
        return np.broadcast_to(np.asarray(self.values, dtype=float), indices.shape)
