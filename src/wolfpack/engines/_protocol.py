"""What an engine is: workers that hold a job and answer the blocks of a round."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..smoothing.job import Job, Partial, Question


class EngineFailure(RuntimeError):
    """No worker is left, or the oracle's answers cannot be had from the engine."""


class OracleError(RuntimeError):
    """The oracle raised on a worker; the message names the set, the round and the block."""


class Span(NamedTuple):
    """One worker's time with one message.

    Attributes
    ----------
    round : int
        Round of the question; -1 for one without noise.
    worker : str
        The worker's name, which no other has.
    first, last : int
        The blocks, the last one included.
    begin, end : float
        When, by the driver's ``time.perf_counter``.
    status : {"ok", "recomputed", "late", "failed"}
        What became of it.
    """

    round: int
    worker: str
    first: int
    last: int
    begin: float
    end: float
    status: str = "ok"


class Stats(NamedTuple):
    """What one round cost.

    Attributes
    ----------
    workers : int
        Workers alive at its end.
    recomputed : int
        Blocks given to a second worker because the first was lost or slow.
    dropped : int
        Blocks that were not waited for.
    stragglers : int
        Blocks given to a second worker, or not waited for, because the first was slow.
    bytes_out, bytes_in : int
        Bytes sent to workers and received from them.
    busy : float
        Share of the workers' time that went into oracles.
    spans : tuple of Span
        Who computed what since the last round.
    """

    workers: int
    recomputed: int = 0
    dropped: int = 0
    stragglers: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    busy: float = 0.0
    spans: tuple[Span, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """Workers that compute blocks of a job; the driver alone adds them up.

    A block is the same bits wherever, in whatever order and how often it is computed.
    """

    name: str

    def open(self, job: Job) -> None:
        """Ship the job to every worker, starting them if need be."""
        ...

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        """Return the contributions of the blocks, or of the first ``need`` of them to arrive.

        Parameters
        ----------
        question : Question
            What the round asks.
        blocks : range
            The blocks wanted.
        need : int, optional
            How many are enough; all by default.
        timeout : float, optional
            Seconds after which a single oracle call counts as hanging.
        """
        ...

    def late(self) -> list[tuple[int, int, Partial]]:
        """Return, once, the (round, block, contribution) that came after their round was over."""
        ...

    def stats(self) -> Stats:
        """Return what the last round cost; before the first one, how many workers there are."""
        ...

    def close(self) -> None:
        """Stop the workers that this engine has started."""
        ...


def arrays_of(question: Question) -> tuple[Any, Any]:
    """Return what is large in a question, its points; the second one may be None."""
    return question.v, question.also


def without_arrays(question: Question) -> Question:
    """Return a question that is small enough to travel with every message."""
    return question._replace(v=None, also=None)


def with_arrays(question: Question, arrays: tuple[Any, Any]) -> Question:
    """Return the question with its points."""
    return question._replace(v=arrays[0], also=arrays[1])


def nbytes(question: Question) -> int:
    """Return the bytes of a question's points."""
    return question.v.nbytes + (0 if question.also is None else question.also.nbytes)


def missing(package: str, engine: str) -> ImportError:
    """Return the error that says how to install what an engine needs."""
    return ImportError(
        f"engine={engine!r} needs {package}, which is not installed: "
        "pip install 'wolfpack[engines]', or make install-engines in a checkout"
    )


def serialize(job: Job) -> bytes:
    """Return a job as bytes, with where its modules were found.

    Functions of scripts and notebooks travel too; modules must be there for the worker to import.
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


def deserialize(blob: bytes) -> Job:
    """Return the job; folders of the driver's that exist here too are searched last."""
    path, data = pickle.loads(blob)
    sys.path += [folder for folder in path if folder not in sys.path and os.path.isdir(folder)]
    return pickle.loads(data)
