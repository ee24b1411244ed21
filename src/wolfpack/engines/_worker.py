"""The worker's side: a job, and the blocks that it is asked for."""

from __future__ import annotations

import pickle
import time
import traceback
from typing import Any, NamedTuple

from ..sets._batch import stay_serial
from ..smoothing.job import Job, Partial, Question
from ._protocol import deserialize


class Loaded(NamedTuple):
    """What a worker process says when it has read a job, or (serial -1) can be sent one.

    Attributes
    ----------
    serial : int
        Number of the job.
    error : str
        What went wrong, if anything.
    """

    serial: int
    error: str = ""


class Reply(NamedTuple):
    """What a worker answers to one message.

    Attributes
    ----------
    ticket : int
        Number of the message.
    partials : list of Partial or None
        One per block, None after an error.
    error : tuple or None
        The exception, if it can travel, and its text with the worker's traceback.
    busy : float
        Seconds spent.
    """

    ticket: int
    partials: list[Partial] | None
    error: tuple[BaseException | None, str] | None
    busy: float


class Bench:
    """Where a worker keeps the job that was shipped to it.

    Parameters
    ----------
    job : Job or bytes
        The job, or what `serialize` made of it.
    pack : bool
        Whether contributions are to be made small for sending.
    serial : bool
        Whether the set is to answer batches one by one; the workers are the parallelism.
    """

    def __init__(self, job: Any, pack: bool = True, serial: bool = True) -> None:
        self.job: Job = deserialize(job) if isinstance(job, bytes) else job
        self._pack = pack
        self._serial = serial

    def work(self, ticket: int, question: Question, blocks: range) -> Reply:
        """Compute some blocks; an exception of the oracle becomes part of the reply."""
        began = time.perf_counter()
        try:
            if self._serial:
                stay_serial()
            partials = self.job.compute(question, blocks, self._pack)
        except (Exception, SystemExit) as error:  # a worker is not the oracle's to end
            return Reply(ticket, None, _portable(error), time.perf_counter() - began)
        return Reply(ticket, partials, None, time.perf_counter() - began)


def _portable(error: BaseException) -> tuple[BaseException | None, str]:
    """Return an exception, or None where it cannot be pickled, and all that is known as text."""
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", []))
    text = f"{type(error).__name__}: {error}{notes}"
    lines = "".join(traceback.format_exception(error, limit=-4))
    text = f"{text}\n\nOn the worker:\n{lines}"
    try:
        return pickle.loads(pickle.dumps(error)), text
    except Exception:
        return None, text
