"""Means of random gradients that a user's function draws."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, own
from ..objectives import Stochastic
from ..problem import tick
from .base import Gradients
from .control_variates import ControlVariate


class Draws(Gradients):
    """Means of a user's random gradients."""

    def __init__(self, objective: Stochastic, batch: int = 1, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.batch = batch

    def draw(
        self, v: Array, m: int, rng: np.random.Generator, variate: ControlVariate | None = None
    ) -> Array:
        # Every call gets a copy, since a user's function may write into its argument or return it.
        if m == 1:
            return self.objective.draw(own(v, v), rng)
        total: Array = 0.0
        for _ in range(m):
            tick()
            total = total + self.objective.draw(own(v, v), rng)
        return total / m
