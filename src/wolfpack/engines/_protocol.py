"""What the library asks of an engine, and what an engine reports."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..smoothing.job import Job, Partial, Question


class EngineFailure(RuntimeError):
    """No worker is left, or the engine cannot deliver the oracle's answers."""


class OracleError(RuntimeError):
    """The oracle raised on a worker; the message names the set, the round and the block.

    ``worker`` is the name of the worker, where there are several processes or hosts.
    """

    def __init__(self, text: str, worker: str = "") -> None:
        super().__init__(text)
        self.worker = worker


class Span(NamedTuple):
    """The time that one worker spent on one message.

    Attributes
    ----------
    round : int
        Round of the question; -1 for a question without noise.
    worker : str
        Name of the worker, unique within the engine.
    first, last : int
        First and last block of the message.
    begin, end : float
        Times of the driver's ``time.perf_counter``.
    status : {"ok", "recomputed", "late", "failed"}
        How the message ended; see `EngineLog.timeline`.
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
        Blocks for which the round did not wait.
    stragglers : int
        Blocks that were dropped, or given to a second worker, because the first was slow.
    bytes_out, bytes_in : int
        Bytes sent to workers and received from them.
    busy : float
        Share of the workers' time that was spent in oracles.
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


class Late(NamedTuple):
    """The contribution of a block that arrived after its round was over."""

    round: int
    block: int
    partial: Partial


@runtime_checkable
class Engine(Protocol):
    """Workers that compute the blocks of a job. Only the driver adds the blocks up.

    A block has the same bits on every worker, in every order and however often it is computed.
    A class may derive from this one to inherit `late`.

    Attributes
    ----------
    name : str
        Name of the engine in messages and logs, such as ``"processes:4"``.
    """

    name: str

    def open(self, job: Job) -> None:
        """Start the workers where necessary, and send the job to each of them.

        Every run calls this once. An engine that stays open for several runs gets a new job.
        """
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
            Number of blocks that are enough; all by default.
        timeout : float, optional
            Seconds after which a single oracle call is considered to hang.

        Raises
        ------
        EngineFailure
            No worker is left.
        OracleError
            The oracle raised.
        """
        ...

    def late(self) -> list[Late]:
        """Return each contribution that arrived after its round was over, once; none by default."""
        return []

    def stats(self) -> Stats:
        """Return what the last round cost; before the first one, the number of workers."""
        ...

    def close(self) -> None:
        """Stop the workers that this engine has started."""
        ...


@runtime_checkable
class RankEngine(Engine, Protocol):
    """An engine whose processes all run the user's program: one drives, the others follow it."""

    @property
    def follows(self) -> bool:
        """Whether this process follows the driver: it calls `follow` in place of a run."""
        ...

    def follow(self) -> Any:
        """Serve the driver until it has a result, and return that result."""
        ...

    def conclude(self, result: object) -> None:
        """Give the driver's result to the processes that follow; they return from `follow`."""
        ...


def missing(package: str, engine: str) -> ImportError:
    """Return the error that says how to install what an engine needs."""
    return ImportError(
        f"engine={engine!r} needs {package}, which is not installed: "
        "pip install 'wolfpack[engines]', or make install-engines in a checkout"
    )
