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
from .control_variates import Anchor
from .minibatches import ANCHOR_PASSES, NOISE_STEP


class InTurn(Gradients):
    """The mean gradient of the next ``batch`` minibatches of a source, in the source's order.

    With ``reduction`` each is compared with its gradient at an anchor, where the full gradient is
    known from a pass over the source, and which moves after every two passes.
    """

    def __init__(
        self, objective: Batches, batch: int = 1, seed: int = 0, reduction: str | None = None
    ) -> None:
        super().__init__(objective, seed)
        self.batch, self.reduction = batch, reduction
        self.per_pass = objective.length
        if objective.counted:
            self.max_draws = objective.length  # the mean of all of them is exact
        self._stream: Iterator[FiniteSum] | None = None
        self._position = 0
        self._round: tuple[Any, list[FiniteSum]] = (None, [])
        self._recent: deque[FiniteSum] = deque(objective.first, KEPT_BATCHES)

    def at(self, v: Array, k: int, m: Any, variate: Any = None) -> Gradient:
        batches = self._of_round(k, m)
        return Gradient(checked(_mean_gradient(batches, v, variate), v), None, variate)

    def draw(self, v: Array, m: int, rng: np.random.Generator, variate: Any = None) -> Array:
        """Return the mean gradient of ``m`` of the last minibatches, drawn with replacement."""
        chosen = rng.integers(len(self._recent), size=m)
        return _mean_gradient([self._recent[i] for i in chosen], v, variate)

    def variate(self, variate: Any, y: Array, k: int, m: Any) -> Any:
        if self.reduction is None:
            return None
        if variate is not None and (k - variate.k) * m < ANCHOR_PASSES * self.per_pass:
            return variate
        at = self.objective.evaluate(y)
        return Anchor(k, y, at.gradient, at.dual)

    def known(self, variate: Anchor) -> tuple[Array, Any]:
        return variate.gradient, variate.dual

    def read(self, m: Any, renewed: bool) -> int:
        return m + (self.per_pass if renewed else 0)

    def largest_step(self) -> float:
        """Return twice the inverse of the largest curvature of one of the first minibatches."""
        return NOISE_STEP * int(self.batch) / max(batch.L for batch in self.objective.first)

    @property
    def independent(self) -> bool:
        return False

    def _of_round(self, k: int, m: int) -> list[FiniteSum]:
        """Return the minibatches of a round, which may be asked at more points than one."""
        if self._round[0] != (k, m):
            self._move_to(k * m)
            self._round = (k, m), [self._take() for _ in range(m)]
        return self._round[1]

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


def _mean_gradient(batches: list[FiniteSum], v: Array, anchor: Anchor | None = None) -> Array:
    rows = sum(batch.n for batch in batches)
    mean = sum((batch.n / rows) * batch.gradient(v) for batch in batches)
    return mean if anchor is None else mean + anchor.gradient - _mean_gradient(batches, anchor.y)
