"""Any ``concurrent.futures.Executor``: the standard library's, loky's, mpi4py's."""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import Executor as AnyExecutor
from typing import ClassVar, TypeAlias

from ..problem import CapabilityError
from ..problem.checks import shown
from ..smoothing.job import Job, Question
from ._messages import Reply, nbytes, serialize
from ._protocol import EngineFailure
from ._tickets import Received, Ticket, Worker
from ._worker import BlockWorker
from ._worker_pool import WorkerPool

TaskWorker: TypeAlias = Worker[None]
_Finished: TypeAlias = "tuple[TaskWorker, Ticket, Future[Reply]]"


class Executor(WorkerPool[None]):
    """Oracles as tasks of an executor.

    Parameters
    ----------
    executor : Executor or callable
        A user's executor, which is used and left open; or a function that makes one, which is shut
        down at the end and made again when it breaks.
    workers : int, optional
        How many tasks to keep running; the executor's own number of workers by default.

    Notes
    -----
    An executor cannot send something to each of its workers once. A task therefore names the job. A
    worker that lacks it says so, and gets it with the next task. The query point travels with every
    task; `Processes` is faster on one machine.
    """

    tries_elsewhere: ClassVar[bool] = False  # a task has no address
    latency: ClassVar[float] = 1e-3

    def __init__(
        self, executor: AnyExecutor | Callable[[], object], workers: int | None = None
    ) -> None:
        super().__init__()
        self._make = None if isinstance(executor, AnyExecutor) else executor
        self._executor = executor if isinstance(executor, AnyExecutor) else None
        self._wanted = workers
        self._replies: queue.SimpleQueue[_Finished] = queue.SimpleQueue()
        self._key = ""
        self._shipped: Job | bytes = b""
        self.name = "executor"

    def _start(self, job: Job) -> None:
        self._forget_workers()
        executor = self._ready()
        self._key = uuid.uuid4().hex
        self._shipped = job if isinstance(executor, ThreadPoolExecutor) else serialize(job)
        self.name = f"{type(executor).__name__}:{len(self.workers)}"

    def _quiet(self) -> contextlib.AbstractContextManager[object]:
        assert self.job is not None
        here = isinstance(self._executor, ThreadPoolExecutor)
        return self.job.quiet() if here else contextlib.nullcontext()

    def _ready(self) -> AnyExecutor:
        """Return the executor, made if there is none; use as many workers as it has."""
        executor = self._executor
        if executor is None:
            assert self._make is not None
            try:
                made = self._make()
            except TypeError as error:
                raise TypeError(
                    "engine must be an executor or a function without arguments that makes one, "
                    f"found {shown(self._make)}: {error}"
                ) from error
            if not isinstance(made, AnyExecutor):
                raise TypeError(
                    f"engine must make a concurrent.futures.Executor, found {type(made).__name__}"
                )
            self._executor = executor = made
        own = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
        size = self._wanted or own
        if not size:
            raise CapabilityError(
                f"{type(executor).__name__} does not tell its number of workers: pass "
                "wolfpack.engines.Executor(executor, workers=...)"
            )
        self.workers = [Worker(None, f"task {i}") for i in range(int(size))]
        return executor

    def _send(self, worker: TaskWorker, ticket: Ticket, job: Job | bytes | None = None) -> int:
        assert self._executor is not None
        try:
            future = self._executor.submit(
                _task, self._key, job, ticket.id, ticket.question, ticket.blocks
            )
        except (BrokenExecutor, RuntimeError) as error:
            raise OSError(str(error)) from error
        future.add_done_callback(lambda done: self._replies.put((worker, ticket, done)))
        return nbytes(ticket.question) + (len(job) if isinstance(job, bytes) else 0)

    def _receive(self, timeout: float) -> list[Received[None]]:
        try:
            worker, ticket, future = self._replies.get(timeout=timeout)
        except queue.Empty:
            return []
        try:
            reply = future.result()
            if reply.lacks_data and worker.alive and not ticket.done:
                self._round.bytes_out += self._send(worker, ticket, self._shipped)
                return []
        except (BrokenExecutor, CancelledError, OSError):
            return [Received(worker, None)]
        size = sum(partial.mean.nbytes for partial in reply.partials or [])
        return [Received(worker, reply, size)]

    def _maintain(self) -> None:
        if self.workers or self._executor is None:
            return
        if self._make is None:
            raise EngineFailure(
                "the executor is broken; pass a function that makes it "
                "(engine=lambda: ProcessPoolExecutor(4)) to have it made again"
            )
        _shut_down(self._executor, busy=True)
        self._executor = None
        self._ready()

    def _abandon(self, worker: TaskWorker) -> None:
        """Do nothing: a task cannot be ended, and keeps its place in the executor."""

    def _stop(self) -> None:
        if self._make is not None and self._executor is not None:
            _shut_down(self._executor, busy=any(worker.queue for worker in self.workers))
            self._executor = None


def _shut_down(executor: AnyExecutor, busy: bool) -> None:
    """Shut an executor of ours down; processes that may hang are killed."""
    if busy:
        for process in list((getattr(executor, "_processes", None) or {}).values()):
            with contextlib.suppress(Exception):
                process.kill()
    executor.shutdown(wait=not busy)


class _Kept(threading.local):
    """The job of this thread of a worker."""

    key = ""
    worker: BlockWorker | None = None


_kept = _Kept()


def _task(
    key: str, job: Job | bytes | None, ticket: int, question: Question, blocks: range
) -> Reply:
    """Compute blocks of the job that was sent before, or say that it is not here."""
    if _kept.key != key:
        if job is None:
            return Reply(ticket)
        if isinstance(job, Job):
            job = copy.copy(job)  # Threads share the set but not the random streams.
            job.pins = False
        _kept.worker, _kept.key = BlockWorker(job), key
    assert _kept.worker is not None
    return _kept.worker.work(ticket, question, blocks)
