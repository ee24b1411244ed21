"""Gradients of minibatches that a source hands out in its own order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..objectives.batches import KEPT_BATCHES, Batches
from ..objectives.finite_sum import FiniteSum
from ..problem import EndOfData
from .base import Gradient, Gradients, checked
from .control_variates import ControlVariate


class InTurn(Gradients):
    """The mean gradient of the next ``batch`` minibatches of a source, in the source's order."""

    def __init__(self, objective: Batches, batch: int = 1, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.batch = batch
        self.per_pass = objective.length
        if objective.counted:
            self.max_draws = objective.length  # the mean of all of them is exact
        self._stream: Iterator[FiniteSum] | None = None
        self._position = 0
        self._recent: deque[FiniteSum] = deque(objective.first, KEPT_BATCHES)

    def at(self, v: Array, k: int, m: Any, variate: ControlVariate | None = None) -> Gradient:
        self._move_to(k * m)
        batches = [self._take() for _ in range(m)]
        return Gradient(checked(_mean_gradient(batches, v), v))

    def draw(
        self, v: Array, m: int, rng: np.random.Generator, variate: ControlVariate | None = None
    ) -> Array:
        """Return the mean gradient of ``m`` of the last minibatches, drawn with replacement."""
        chosen = rng.integers(len(self._recent), size=m)
        return _mean_gradient([self._recent[i] for i in chosen], v)

    def _move_to(self, position: int) -> None:
        """Go to where a round begins: a resumed run reads on from there."""
        if self._stream is None or position < self._position:
            self._stream, self._position = self.objective.stream(), 0
        while self._position < position:
            self._take()

    def _take(self) -> FiniteSum:
        assert self._stream is not None
        batch = next(self._stream, None)
        if batch is None:
            raise EndOfData(
                f"The source ended after {self._position} minibatches; to go on, pass one that can "
                "be read again: a list, a data loader, or a function that returns a new generator."
            )
        self._position += 1
        self._recent.append(batch)
        return batch


def _mean_gradient(batches: list[FiniteSum], v: Array) -> Array:
    rows = sum(batch.n for batch in batches)
    return sum((batch.n / rows) * batch.gradient(v) for batch in batches)
