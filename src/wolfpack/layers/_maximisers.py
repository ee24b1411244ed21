"""Maximisers over a set in many directions: asked at once here, or in pieces on an engine."""

from __future__ import annotations

import math
import weakref
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ..atoms import DenseSummary
from ..engines import Engine, EngineLike, RankEngine, choose_engine
from ..problem import CapabilityError
from ..sets import Set
from ..smoothing.job import BATCH_NUMBERS, Job, Partial, Question

_PIECE = 8
"""Directions that a worker is asked at once."""

_LEAST_NUMBERS = 2**16
"""Numbers of a question for which memory is reserved: to reserve more later restarts workers."""


class Maximisers:
    """Asks the oracle of a set for the maximisers in many directions.

    The engine is started by the first question that needs it, and stopped by `close`, or when
    this object is no longer used. A copy starts its own.
    """

    def __init__(self, K: Set, engine: EngineLike) -> None:
        self.K, self.wanted = K, engine
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"K": self.K, "wanted": self.wanted}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{"K": state["K"], "engine": state["wanted"]})

    def __call__(self, directions: np.ndarray) -> np.ndarray:
        """Return a point of K that is furthest in each direction, in an array of their shape."""
        if directions.size > self._capacity or self._shared:
            self._open(len(directions))
        if self._engine is None:
            return self._here(directions)
        question = Question(self._asked, -directions.reshape(-1), 0.0, len(directions))
        self._asked += 1
        found = self._engine.run_round(question, range(math.ceil(len(directions) / _PIECE)))
        parts = [found[block].mean.mean() for block in sorted(found)]
        return np.concatenate(parts).reshape(directions.shape)

    def close(self) -> None:
        """Stop the workers that were started for this object."""
        if self._stop is not None:
            self._stop()
        self._forget()

    def _forget(self) -> None:
        self._engine: Engine | None = None
        self._stop: Any = None
        self._shared = False  # whether others send jobs to the same engine
        self._capacity = math.inf if self.wanted is None else 0
        self._asked = 0

    def _here(self, directions: np.ndarray) -> np.ndarray:
        step = max(1, BATCH_NUMBERS // self.K.dimension)
        parts = [
            np.asarray(self.K.lmo(-directions[first : first + step]).to_dense())
            for first in range(0, len(directions), step)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _open(self, count: int) -> None:
        """Send the oracle to the engine, with memory for so many directions or more."""
        numbers = max(_LEAST_NUMBERS, 2 ** math.ceil(math.log2(count * self.K.dimension)))
        job = DirectionsJob(self.K, count, numbers)
        if self._engine is None:
            choice = choose_engine(self.wanted, job, count)
            if isinstance(choice.engine, RankEngine):
                raise CapabilityError(
                    "a layer cannot use engine='mpi', whose processes all run the same program: "
                    "choose threads, processes, dask or ray"
                )
            self._engine, self._shared = choice.engine, not choice.ours
            if choice.engine is not None and choice.ours:
                self._stop = weakref.finalize(self, choice.engine.close)
        self._capacity = math.inf if self._engine is None else numbers
        if self._engine is not None:
            self._engine.open(job)


class DirectionsJob(Job):
    """The oracle of a set as the work of an engine: a block is a few directions of a question."""

    pins = True

    def __init__(self, K: Set, count: int, numbers: int) -> None:
        self.K, self.count, self.numbers = K, count, numbers
        # what engines read of a job: the size of a question, and what they measure to choose
        shown = SimpleNamespace(
            dimension=numbers,
            shape=(min(count, _PIECE) * K.dimension,),
            releases_gil=K.releases_gil,
        )
        self.smoothing = cast("Any", SimpleNamespace(K=shown))

    def __reduce__(self) -> tuple[object, ...]:
        return DirectionsJob, (self.K, self.count, self.numbers)

    def length(self, m: int) -> int:
        return _PIECE

    def answers_of(self, question: Question, block: int) -> int:
        return min(_PIECE, question.m - block * _PIECE)

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        """Return the answers to the directions of each block, one after the other."""
        directions = question.v.reshape(-1, *self.K.shape)
        found: list[Partial] = []
        with self.quiet():
            for block in blocks:
                piece = directions[block * _PIECE : (block + 1) * _PIECE]
                answers = np.asarray(self.K._lmo(piece).to_dense())
                found.append(Partial(len(piece), DenseSummary(answers.reshape(-1)), 0.0))
        return found
