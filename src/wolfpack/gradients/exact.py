"""Exact gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..objectives import Objective
from .base import Gradient, Gradients, checked
from .control_variates import ControlVariate


class ExactGradients(Gradients):
    """The gradient of G itself."""

    batch = "exact"
    exact = True

    def __init__(self, objective: Objective, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.per_pass = objective.n

    def draw(
        self, v: Array, m: Any, rng: np.random.Generator, variate: ControlVariate | None = None
    ) -> Array:
        return self.objective.gradient(v)

    def read(self, m: Any, renewed: bool) -> int:
        return self.per_pass

    def at(self, v: Array, k: int, m: Any, variate: ControlVariate | None = None) -> Gradient:
        at = self.objective.evaluate(v)
        return Gradient(checked(at.gradient, v), at.dual, value=at.value)
