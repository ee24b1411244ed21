"""Corners of boxes: each coordinate at one of two bounds."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ._base import Array, Atoms


class Corner(Atoms):
    """``upper`` where ``above`` holds, ``lower`` elsewhere: one bit of information per entry.

    Parameters
    ----------
    above : bool array, shape ([count,] *vertex_shape)
        Which entries are at the upper bound.
    lower, upper : float or array, broadcastable to ``vertex_shape``
        The bounds.
    vertex_shape : tuple of int
        Shape of one vertex.
    """

    def __init__(self, above: Array, lower: Any, upper: Any, vertex_shape: tuple[int, ...]) -> None:
        self.above = above
        self.lower = lower
        self.upper = upper
        self.vertex_shape = tuple(vertex_shape)
        self.count = above.shape[0] if above.ndim > len(self.vertex_shape) else None

    def to_dense(self) -> Array:
        # exact, since each product is a bound or zero; np.where mispredicts random branches
        return self.above * self.upper + ~self.above * self.lower

    def dot(self, u: Array) -> Any:
        axes = tuple(range(-len(self.vertex_shape), 0))
        return (self.to_dense() * u).sum(axis=axes)

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        dtype = np.uint16 if self.count < 2**16 else np.int64
        share = np.add.reduce(self.above, axis=0, dtype=dtype) / self.count
        return share * self.upper + (1.0 - share) * self.lower

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        return scale * x + weight * self.to_dense()

    def take(self, i: Any) -> Corner:
        return Corner(self.above[i], self.lower, self.upper, self.vertex_shape)

    def norms_squared(self) -> Any:
        axes = tuple(range(-len(self.vertex_shape), 0))
        return (self.to_dense() ** 2).sum(axis=axes)

    def key(self) -> Hashable:
        # an entry whose bounds coincide does not distinguish two corners
        return np.packbits(self.above & (self.lower != self.upper)).tobytes()
