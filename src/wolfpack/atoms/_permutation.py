"""Permutation matrices: vertices of the Birkhoff polytope."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ._base import Array, Atoms, Index
from ._sparse import Sparse


class Permutation(Atoms):
    """The matrix with a one in row i and column ``columns[i]``, for each i, and zeros elsewhere.

    ``columns`` is a permutation of 0, ..., n - 1, or a batch of them of shape (count, n).
    """

    def __init__(self, columns: Array) -> None:
        self.columns = columns
        n = columns.shape[-1]
        self.vertex_shape = (n, n)
        self.count = None if columns.ndim == 1 else columns.shape[0]

    def to_dense(self) -> Array:
        out = np.zeros(self.shape)
        np.put_along_axis(out, self.columns[..., None], 1.0, axis=-1)
        return out

    def dot(self, u: Array) -> Array:
        rows = np.arange(self.vertex_shape[0])
        if u.ndim == 2:
            return u[rows, self.columns].sum(axis=-1)
        return u[np.arange(len(self))[:, None], rows, self.columns].sum(axis=-1)

    def mean(self) -> Array:
        n = self.vertex_shape[0]
        flat = self.columns + n * np.arange(n)
        total = np.bincount(flat.reshape(-1), minlength=n * n)
        return (total / (1 if self.count is None else self.count)).reshape(n, n)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        out = scale * x
        out[np.arange(self.vertex_shape[0]), self.columns] += weight
        return out

    def take(self, i: Index) -> Permutation:
        return Permutation(self.columns[i])

    def norms_squared(self) -> Array:
        n = float(self.vertex_shape[0])
        return n if self.count is None else np.full(self.count, n)

    def entries(self) -> tuple[Array, Array]:
        n = self.vertex_shape[0]
        return self.columns + n * np.arange(n), np.ones(n)

    def to(self, x: Array) -> Atoms:
        n = self.vertex_shape[0]
        return Sparse(self.columns + n * np.arange(n), 1.0, self.vertex_shape).to(x)

    def key(self) -> Hashable:
        return self.columns.tobytes()

    def keys(self) -> list[Hashable]:
        return [columns.tobytes() for columns in self.columns]
