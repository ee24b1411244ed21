"""Rank-one matrices: trace-norm balls and spectrahedra."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..arrays import SparseMatrix, rows, sum_last, to_host
from ._base import Array, Atoms, Index


class RankOne(Atoms):
    """The matrix ``scale * u v'``, or a batch of such matrices.

    ``u`` has the shape ([count,] p) and ``v`` ([count,] q). For symmetric matrices both are the
    same array.
    """

    def __init__(self, u: Array, v: Array, scale: float = 1.0) -> None:
        self.u = u
        self.v = v
        self.scale = scale
        self.vertex_shape = (u.shape[-1], v.shape[-1])
        self.count = None if u.ndim == 1 else u.shape[0]

    def to_dense(self) -> Array:
        return (self.scale * self.u)[..., :, None] * self.v[..., None, :]

    def dot(self, u: Array) -> Array:
        # <G, u v'> = u' (G v): one pass over G for the whole batch
        if isinstance(u, SparseMatrix):
            image = u @ self.v if self.count is None else (u @ self.v.T).T
        else:
            image = (u @ self.v[..., None])[..., 0] if u.ndim == 3 else self.v @ u.T
        return self.scale * sum_last(self.u * image, 1)

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        return (self.scale / self.count) * (self.u.T @ self.v)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        if type(self.u) is not np.ndarray:
            return scale * x + ((weight * self.scale) * self.u)[:, None] * self.v[None, :]
        out = scale * x
        out += np.multiply.outer((weight * self.scale) * self.u, self.v)
        return out

    def take(self, i: Index) -> RankOne:
        return RankOne(rows(self.u, i), rows(self.v, i), self.scale)

    def norms_squared(self) -> Array:
        u, v = self.u, self.v
        return self.scale**2 * sum_last(u * u, 1) * sum_last(v * v, 1)

    def key(self) -> Hashable:
        # u v' = (-u)(-v'): the sign that makes the first largest entry of v positive, and no -0
        u, v = to_host(self.u), to_host(self.v)
        flip = -1.0 if v[abs(v).argmax()] < 0 else 1.0
        u, v = flip * u + 0.0, flip * v + 0.0
        return u.tobytes(), v.tobytes(), float(self.scale)
