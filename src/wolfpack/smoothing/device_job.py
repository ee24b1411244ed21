"""The answers of a round on another device: as few batches as its memory allows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import ClassVar

from ..arrays import is_out_of_memory
from ..atoms import Atoms, join
from ._base import Array, Smoothing
from .job import Job, Question

NATIVE_BLOCK_NUMBERS = 2**24
"""Random numbers per block where the device draws them itself."""

_log = logging.getLogger("wolfpack")


class DeviceJob(Job):
    """A job whose set answers on another device, all blocks of a round at once if they fit.

    Blocks fix the random numbers, as on the host. When the device has too little memory for a
    batch, it is asked in halves from then on.
    """

    on_device: ClassVar[bool] = True

    def __init__(
        self, smoothing: Smoothing, seed: int = 0, sampling: str = "iid", block: int | None = None
    ) -> None:
        super().__init__(smoothing, seed, sampling, block)
        self._max_entries = 2**62  # of the directions in one batch
        if self._perturbs and smoothing.native:
            self._fixed = max(1, NATIVE_BLOCK_NUMBERS // smoothing.numbers_per_answer)

    def answers(
        self, v: Array, alpha: Array, count: int, k: int, block: int = 0, keep: bool = False
    ) -> Atoms:
        if not self._perturbs:
            return super().answers(v, alpha, count, k, block, keep)
        return join(list(self._batches(Question(k, v, alpha, count, keep), [block])))

    def _drawn(self, question: Question, blocks: list[int]) -> Iterator[Atoms]:
        if not self._perturbs:
            yield from super()._drawn(question, blocks)
            return
        each, first = self.length(question.m) * self.smoothing.K.dimension, 0
        while first < len(blocks):
            step = max(1, self._max_entries // each)
            yield from self._batches(question, blocks[first : first + step])
            first += step

    def _batches(self, question: Question, blocks: list[int]) -> list[Atoms]:
        """Return the answers of some blocks, in one batch if the device has memory for it."""
        counts = [self._count(question.m, block) for block in blocks]
        total = sum(counts)
        if len(blocks) == 1 and total > self._max_directions:
            return self._pieces(question, blocks[0], total)
        try:
            return [self._ask(question, blocks, counts)]
        except Exception as error:
            if not is_out_of_memory(error) or total == 1:
                raise
        self._max_entries = min(self._max_entries, total * self.smoothing.K.dimension) // 2
        _log.warning(
            "%s: no memory for %d directions at once, which are asked in two halves",
            self.smoothing.K,
            total,
        )
        if len(blocks) == 1:
            return self._pieces(question, blocks[0], total)
        half = len(blocks) // 2
        return [*self._batches(question, blocks[:half]), *self._batches(question, blocks[half:])]

    def _pieces(self, question: Question, block: int, count: int) -> list[Atoms]:
        """Return the answers of one block in pieces that fit."""
        directions = self._directions(question, block, count)
        found, first = [], 0
        while first < count:
            step = self._max_directions
            try:
                part = directions[first : min(first + step, count), ...]
                found.append(self._answer(question, part))
                first += step
            except Exception as error:
                if not is_out_of_memory(error) or step == 1:
                    raise
                self._max_entries //= 2
        return found

    @property
    def _max_directions(self) -> int:
        return max(1, self._max_entries // self.smoothing.K.dimension)
