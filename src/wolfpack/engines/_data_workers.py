"""Gradients on the workers of an engine: the driver's side of blocks of data."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from ..objectives import Partitioned
from ..objectives.partitioned import BlockError, Blocks, Contribution, Here, Task
from ..sets._batch import cores
from ..smoothing.job import Job, Question
from ._choose import EngineLike, choose_engine
from ._driver import Driver, Policy
from ._log import EngineLog
from ._parts_job import UNKNOWN_DIMENSION, PartsJob
from ._protocol import Engine, OracleError, RankEngine

_WORTH_SECONDS = 5e-3
"""Seconds of one evaluation from which several workers are faster than this process."""


class DataWorkers:
    """The workers of an engine, which compute the blocks of a `Partitioned` objective.

    The engine is started by the first question, and serves the oracles of the run as well
    (`driver`).

    Parameters
    ----------
    objective : Partitioned
        The objective whose blocks are computed.
    engine : as for `wolfpack.minimize`
        What computes them.
    dimension : int, optional
        Entries of x.
    """

    def __init__(
        self, objective: Partitioned, engine: EngineLike, dimension: int | None = None
    ) -> None:
        self._objective = objective
        self._wanted: Any = engine
        self._dimension = dimension or UNKNOWN_DIMENSION
        self._engine: Engine | None = None
        self._ours = False
        self._asked = 0
        self.reason = ""
        self.log = EngineLog("")

    @property
    def started(self) -> Engine | None:
        """The engine, if it has been started."""
        return self._engine

    @property
    def engine(self) -> Engine | None:
        """The engine, started; None for this process."""
        if self._engine is None and self._wanted is not None:
            self._start()
        return self._engine

    def ask(
        self, blocks: Blocks, task: Task, x: np.ndarray, also: np.ndarray | None
    ) -> dict[int, Contribution]:
        """Return what each block contributes to a task, computed by the workers."""
        engine = self.engine
        if engine is None:
            return Here().ask(blocks, task, x, also)
        question = Question(self._asked, x, 0.0, 1, also=also, task=task)
        self._asked += 1
        try:
            found = engine.run_round(question, range(len(blocks)))
        except OracleError as error:
            raise _as_raised(error) from error.__cause__
        self.log.add(question.k, len(blocks), 0, engine.stats())
        return {
            i: Contribution(part.count, part.mean.mean(), part.answers) for i, part in found.items()
        }

    def driver(self, job: Job, policy: Policy) -> Driver:
        """Return what asks the same workers for the oracle."""
        assert self.engine is not None
        both = PartsJob(self._objective.data, job, self._dimension)
        return Driver(self.engine, both, policy, self.log)

    def close(self) -> None:
        """Stop the workers that were started for this run."""
        if self._engine is not None and self._ours:
            self._engine.close()
        self._engine = None

    def _start(self) -> None:
        job = PartsJob(self._objective.data, None, self._dimension)
        choice = choose_engine(self._wanted, job, None)
        assert choice.engine is not None
        self._engine, self._ours = choice.engine, choice.ours
        try:
            if isinstance(self._engine, RankEngine) and self._engine.follows:
                return
            self._engine.open(job)
        except BaseException:
            self.close()
            raise
        self.log.name, self.log.alive = self._engine.name, self._engine.stats().workers


def _as_raised(error: OracleError) -> Exception:
    """Return what a block raised on its worker, as it would have been raised in this process."""
    cause = error.__cause__
    if isinstance(cause, BlockError):
        return BlockError(f"{cause} (on {error.worker})") if error.worker else cause
    if isinstance(cause, Exception):
        cause.add_note(str(error))
        return cause
    return error


def automatic_engine(objective: Partitioned) -> tuple[str | None, str]:
    """Return the engine that ``engine="auto"`` means for blocks of data, and why."""
    count = cores()
    if objective.shape is None:
        return None, "it is not known how long x is: in process"
    x = np.zeros(objective.shape)
    objective.value(x)
    began = time.perf_counter()
    objective.value(x)
    seconds = time.perf_counter() - began
    work = f"one pass over {len(objective.parts)} blocks takes {1e3 * seconds:.3g} ms"
    if count == 1 or len(objective.parts) == 1:
        return None, f"{work}, and there is one {'core' if count == 1 else 'block'}: in process"
    if seconds < _WORTH_SECONDS:
        return None, f"{work}, less than an engine costs: in process"
    return f"processes:{count}" if os.name == "posix" else f"threads:{count}", work
