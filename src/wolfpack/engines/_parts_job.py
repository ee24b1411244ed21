"""Blocks of data as the work of an engine, beside the oracles of a run.

A worker that holds a `PartsJob` answers both: questions with a task are about blocks of data, all
others are the oracle's.
"""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ..atoms import DenseSummary
from ..objectives.partitioned import Blocks
from ..smoothing.job import Job, Partial, Question

UNKNOWN_DIMENSION = 2**23
"""Entries of x for which memory is shared where nobody has said how many there are."""


class PartsJob(Job):
    """What a worker needs to compute on blocks of data, and to answer for the oracle.

    ``oracles`` is the job of a run that draws perturbed oracles, None for others. ``dimension`` is
    the number of entries of x.
    """

    def __init__(self, blocks: Blocks, oracles: Job | None, dimension: int) -> None:
        self.data, self.oracles, self.dimension = blocks, oracles, dimension
        if oracles is None:
            # what engines read of a job: the size of a question, and what to call the set
            shown = SimpleNamespace(dimension=dimension, releases_gil=True)
            self.smoothing = cast("Any", SimpleNamespace(K=shown))
        else:
            self.smoothing = oracles.smoothing
        self.pins = True

    def __reduce__(self) -> tuple[object, ...]:
        return PartsJob, (self.data, self.oracles, self.dimension)

    def __copy__(self) -> PartsJob:
        return PartsJob(self.data, copy.copy(self.oracles), self.dimension)

    def length(self, m: int) -> int:
        return 1 if self.oracles is None else self.oracles.length(m)

    def blocks(self, m: int) -> int:
        return 1 if self.oracles is None else self.oracles.blocks(m)

    def answers_of(self, question: Question, block: int) -> int:
        if question.task is not None or self.oracles is None:
            return 0
        return self.oracles.answers_of(question, block)

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        """Return what each of some blocks contributes, of data or of answers of the oracle."""
        if question.task is None:
            assert self.oracles is not None
            return self.oracles.compute(question, blocks, pack)
        with self.quiet():
            found = self.data.compute(question.task, question.v, question.also, blocks)
        return [Partial(c.count, DenseSummary(c.vector), 0.0, cast("Any", c.answer)) for c in found]

    def clean(self, g: Any) -> Any:
        assert self.oracles is not None
        return self.oracles.clean(g)

    @property
    def weights(self) -> np.ndarray:
        """How long blocks take, relative to each other: their sizes, where these are known."""
        sizes = [part.nbytes or 0 for part in self.data.parts]
        return np.array(sizes if all(sizes) else [1] * len(sizes), dtype=np.float64)
