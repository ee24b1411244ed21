"""Means of random gradients that a user's function draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import own
from ..objectives import Stochastic
from .base import Array, Gradients


class Draws(Gradients):
    """Means of a user's random gradients."""

    def __init__(self, objective: Stochastic, batch: int = 1, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.batch = batch

    def _draw(self, v: Array, m: int, rng: np.random.Generator, anchor: Any = None) -> Array:
        # copies: a user's function may write into its argument, or return it
        draws = (self.objective.draw(own(v, v), rng) for _ in range(m))
        return next(draws) if m == 1 else sum(draws) / m
