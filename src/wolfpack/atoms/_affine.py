"""Vertices of moved and scaled sets."""

from __future__ import annotations

from collections.abc import Hashable

from ..arrays import sum_last
from ._base import Array, Atoms, Index


class Affine(Atoms):
    """``scale * v + offset`` for the vertices v of another set.

    ``offset`` has the shape of one vertex; None stands for zero.
    """

    def __init__(self, base: Atoms, scale: float = 1.0, offset: Array | None = None) -> None:
        self.base = base
        self.scale = scale
        self.offset = offset
        self.vertex_shape = base.vertex_shape
        self.count = base.count

    def to_dense(self) -> Array:
        return self._shifted(self.scale * self.base.to_dense())

    def dot(self, u: Array) -> Array:
        value = self.scale * self.base.dot(u)
        if self.offset is None:
            return value
        return value + sum_last(self.offset * u, len(self.vertex_shape))

    def mean(self) -> Array:
        return self._shifted(self.scale * self.base.mean())

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        out = self.base.add_scaled(x, scale, weight * self.scale)
        return out if self.offset is None else out + weight * self.offset

    def take(self, i: Index) -> Affine:
        return Affine(self.base.take(i), self.scale, self.offset)

    def norms_squared(self) -> Array:
        if self.offset is None:
            return self.scale**2 * self.base.norms_squared()
        return super().norms_squared()

    def entries(self) -> tuple[Array, Array] | None:
        entries = None if self.offset is not None else self.base.entries()
        return None if entries is None else (entries[0], self.scale * entries[1])

    def key(self) -> Hashable:
        # the vertices of one set share scale and offset
        return self.base.key()

    def _shifted(self, array: Array) -> Array:
        return array if self.offset is None else array + self.offset
