"""What the balls of norms share."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import Array, zeros
from ._base import Set
from ._prices import Prices


class Ball(Set):
    """A ball {x : ||x|| <= r} of some norm. Methods start at its centre, 0.

    `radius`, the largest Euclidean norm, is also r unless a subclass changes it.
    """

    summary = "{K.sizes}, radius={K.r:g}"
    stack_axes: ClassVar[dict[str, int]] = {"radius": 0}

    def __init__(self, shape: tuple[int, ...], r: float) -> None:
        self.shape = shape
        self.r = self.radius = r

    def _prices(self, g: Array) -> Prices:
        return {"radius": -float(self.support(-g)) / self.r}

    def start(self) -> Array:
        return np.zeros(self.shape) if self.like is None else zeros(self.shape, self.like)
