"""Vertices of composite sets: blocks side by side, and sums."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Self

from ..arrays import concat, reshape
from ._base import Array, Atoms, Index


class Parts(Atoms):
    """Vertices made of one vertex (or batch of the same length) of each of several sets.

    The keys of the parts identify the whole.
    """

    def __init__(self, parts: Sequence[Atoms]) -> None:
        self.parts = tuple(parts)
        self.vertex_shape = self.parts[0].vertex_shape
        self.count = self.parts[0].count

    def take(self, i: Index) -> Self:
        return type(self)([part.take(i) for part in self.parts])

    def key(self) -> Hashable:
        return tuple(part.key() for part in self.parts)


class BlockAtoms(Parts):
    """Vertices of a product: the parts flattened and joined into one vector."""

    def __init__(self, parts: Sequence[Atoms]) -> None:
        super().__init__(parts)
        self.vertex_shape = (sum(part.size for part in self.parts),)

    def to_dense(self) -> Array:
        return self._join([part.to_dense() for part in self.parts])

    def dot(self, u: Array) -> Array:
        return sum(part.dot(block) for part, block in zip(self.parts, self._split(u), strict=True))

    def mean(self) -> Array:
        return concat([reshape(part.mean(), (-1,)) for part in self.parts])

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        pairs = zip(self.parts, self._split(x), strict=True)
        return self._join([part.add_scaled(block, scale, weight) for part, block in pairs])

    def norms_squared(self) -> Array:
        return sum(part.norms_squared() for part in self.parts)

    def entries(self) -> tuple[Array, Array] | None:
        positions, values, start = [], [], 0
        for part in self.parts:
            entries = part.entries()
            if entries is None:
                return None
            positions.append(entries[0] + start)
            values.append(entries[1])
            start += part.size
        return concat(positions), concat(values)

    def _split(self, u: Array) -> list[Array]:
        return split_blocks(u, [part.vertex_shape for part in self.parts])

    def _join(self, arrays: list[Array]) -> Array:
        return join_blocks(arrays, [part.vertex_shape for part in self.parts])


class Sums(Parts):
    """Vertices of a Minkowski sum: the parts, all of one shape, added up.

    An extreme point of the sum is a sum of extreme points in one way only, so the parts' keys
    identify it.
    """

    def to_dense(self) -> Array:
        return sum(part.to_dense() for part in self.parts)

    def dot(self, u: Array) -> Array:
        return sum(part.dot(u) for part in self.parts)

    def mean(self) -> Array:
        return sum(part.mean() for part in self.parts)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        for part in self.parts:
            x, scale = part.add_scaled(x, scale, weight), 1.0
        return x


def split_blocks(x: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Cut the last axis of ``x`` into blocks of the given shapes."""
    sizes = [math.prod(shape) for shape in shapes]
    ends = accumulate(sizes)
    pieces = (x[..., end - size : end] for size, end in zip(sizes, ends, strict=True))
    return [
        reshape(piece, (*x.shape[:-1], *shape)) for piece, shape in zip(pieces, shapes, strict=True)
    ]


def join_blocks(arrays: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> Array:
    """Undo `split_blocks`: flatten each array's block axes and join them."""
    flat = [
        reshape(array, (*array.shape[: array.ndim - len(shape)], -1))
        for array, shape in zip(arrays, shapes, strict=True)
    ]
    return concat(flat, axis=-1)
