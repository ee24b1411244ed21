"""Corners of boxes: each coordinate at one of two bounds."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ..arrays import namespace, rows, to_host
from ._base import Array, Atoms, Index


class Corner(Atoms):
    """``upper`` where ``above`` holds, ``lower`` elsewhere: one bit of information per entry.

    ``above`` has the shape ``([count,] *vertex_shape)``. The bounds are numbers, or arrays that
    broadcast to ``vertex_shape``; arrays where ``above`` is not NumPy's.
    """

    def __init__(
        self, above: Array, lower: Array, upper: Array, vertex_shape: tuple[int, ...]
    ) -> None:
        self.above = above
        self.lower = lower
        self.upper = upper
        self.vertex_shape = tuple(vertex_shape)
        self.count = above.shape[0] if above.ndim > len(self.vertex_shape) else None

    def to_dense(self) -> Array:
        # exact, since each product is a bound or zero; np.where mispredicts random branches
        if type(self.above) is np.ndarray:
            return self.above * self.upper + ~self.above * self.lower
        return namespace(self.above).where(self.above, self.upper, self.lower)

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        if type(self.above) is np.ndarray:
            dtype = np.uint16 if self.count < 2**16 else np.int64
            share = np.add.reduce(self.above, axis=0, dtype=dtype) / self.count
        else:
            space = namespace(self.above)
            share = space.mean(space.astype(self.above, self.upper.dtype), axis=0)
        return share * self.upper + (1.0 - share) * self.lower

    def take(self, i: Index) -> Corner:
        return Corner(rows(self.above, i), self.lower, self.upper, self.vertex_shape)

    def key(self) -> Hashable:
        # an entry whose bounds coincide does not distinguish two corners
        return np.packbits(to_host(self.above & (self.lower != self.upper))).tobytes()
