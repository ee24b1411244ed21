"""What travels between the driver and its workers, and how it becomes bytes."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..arrays import Array
from ..smoothing.job import Job, Partial, Question
from ._protocol import OracleError


class Loaded(NamedTuple):
    """A worker process says that it has read job number ``serial``; -1 if it waits for one."""

    serial: int
    error: str = ""


class Failure(NamedTuple):
    """An oracle's exception, None if it cannot be pickled, its text, and the traceback."""

    cause: BaseException | None
    text: str
    lines: str = ""


class Reply(NamedTuple):
    """What a worker answers to the ticket of this number.

    There is one partial per block, and none if the worker lacks the job or the query point.
    """

    ticket: int
    partials: list[Partial] | None = None
    error: Failure | None = None  # what the oracle raised
    busy: float = 0.0  # seconds spent

    @property
    def lacks_data(self) -> bool:
        """Whether the worker must be sent the job or the query point before it can compute."""
        return self.partials is None and self.error is None

    def contributions(self, worker: str = "") -> list[Partial]:
        """Return the contributions, or raise what the oracle raised on a worker of this name."""
        if self.error is not None:
            where = f", on {worker}" if worker else ""
            text = f"{self.error.text}{where}\n\nOn the worker:\n{self.error.lines}"
            raise OracleError(text, worker) from self.error.cause
        assert self.partials is not None
        return self.partials


def nbytes(question: Question) -> int:
    """Return the bytes of a question's points."""
    return question.v.nbytes + (0 if question.also is None else question.also.nbytes)


def on_points(question: Question, function: Callable[[Array], Any]) -> Question:
    """Return the question with ``function`` applied to its one or two points."""
    also = question.also
    return question._replace(v=function(question.v), also=None if also is None else function(also))


def ticket_bytes(ticket: int, question: Question, blocks: range) -> bytes:
    """Return a ticket as bytes; a plain tuple pickles faster than named ones."""
    return pickle.dumps((ticket, blocks.start, blocks.stop, *question), protocol=5)


def read_ticket(fields: tuple[Any, ...]) -> tuple[int, Question, range]:
    """Return the ticket whose bytes unpickle to ``fields``: its number, question and blocks."""
    ticket, first, end, *question = fields
    return ticket, Question._make(question), range(first, end)


def reply_bytes(reply: Reply) -> bytes:
    """Return a reply as bytes, contributions as plain tuples for the same reason."""
    partials = None if reply.partials is None else list(map(tuple, reply.partials))
    return pickle.dumps((reply.ticket, partials, reply.error, reply.busy), protocol=5)


def read_reply(fields: tuple[int, list[Any] | None, Failure | None, float]) -> Reply:
    """Return the reply whose bytes unpickle to ``fields``."""
    ticket, partials, error, busy = fields
    partials = None if partials is None else list(map(Partial._make, partials))
    return Reply(ticket, partials, error, busy)


def serialize(job: Job) -> bytes:
    """Return a job as bytes, together with the folders from which its modules were imported.

    Functions of scripts and notebooks travel along. Modules must be importable by the worker.
    """
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    try:
        return pickle.dumps((sys.path, pickler.dumps(job)), protocol=5)
    except Exception as error:
        raise TypeError(
            f"the set, the noise or the objective cannot be sent to workers: {error}; "
            "engine='threads' needs no copy of them"
        ) from error


def deserialize(blob: bytes | memoryview) -> Job:
    """Return the job; the driver's folders that exist here too are searched last."""
    path, data = pickle.loads(blob)
    sys.path += [folder for folder in path if folder not in sys.path and os.path.isdir(folder)]
    return pickle.loads(data)
