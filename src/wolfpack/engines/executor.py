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
from typing import Any, ClassVar

from ..problem import CapabilityError
from ..smoothing.job import Job, Question
from ._pool import Pool
from ._protocol import EngineFailure, nbytes, serialize
from ._ticket import Ticket, Worker
from ._worker import Bench, Reply


class Executor(Pool):
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
    An executor cannot be told to send something to each worker once. A task therefore names the
    job, and a worker that has not got it says so and is sent it with the next task. The query point
    travels with every task; `Processes` is faster on one machine.
    """

    latency: ClassVar[float] = 1e-3

    def __init__(
        self, executor: AnyExecutor | Callable[[], Any], workers: int | None = None
    ) -> None:
        super().__init__()
        self._make = None if isinstance(executor, AnyExecutor) else executor
        self._executor: Any = executor if self._make is None else None
        self._wanted = workers
        self._replies: Any = queue.SimpleQueue()
        self._key, self._blob = "", b""
        self.name = "executor"

    def _start(self, job: Job) -> None:
        if self._executor is None:
            self._executor = self._made()
        here = isinstance(self._executor, ThreadPoolExecutor)
        self._key = uuid.uuid4().hex
        self._blob = job if here else serialize(job)
        self.name = f"{type(self._executor).__name__}:{self._size()}"
        for worker in self.workers:
            worker.alive = False
        self.workers = [Worker(None, f"task {i}") for i in range(self._size())]

    def _quiet(self) -> contextlib.AbstractContextManager[Any]:
        assert self.job is not None
        here = isinstance(self._executor, ThreadPoolExecutor)
        return self.job.quiet() if here else contextlib.nullcontext()

    def _made(self) -> AnyExecutor:
        assert self._make is not None
        executor = self._make()
        if not isinstance(executor, AnyExecutor):
            raise TypeError(
                f"engine must make a concurrent.futures.Executor, found {type(executor).__name__}"
            )
        return executor

    def _size(self) -> int:
        own = getattr(self._executor, "_max_workers", None)
        size = self._wanted or own or getattr(self._executor, "num_workers", None)
        if not size:
            raise CapabilityError(
                f"{type(self._executor).__name__} does not tell its number of workers: pass "
                "wolfpack.engines.Executor(executor, workers=...)"
            )
        return int(size)

    def _send(self, worker: Worker, ticket: Ticket, blob: Any = None) -> int:
        try:
            task = (self._key, blob, ticket.id, ticket.question, ticket.blocks)
            future = self._executor.submit(_task, *task)
        except (BrokenExecutor, RuntimeError) as error:
            raise OSError(str(error)) from error
        future.add_done_callback(lambda f: self._replies.put((worker, ticket, f)))
        return nbytes(ticket.question) + (len(blob) if isinstance(blob, bytes) else 0)

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        try:
            worker, ticket, future = self._replies.get(timeout=timeout)
        except queue.Empty:
            return []
        reply = _result(future)
        empty = reply is not None and reply.partials is None and reply.error is None
        if empty and worker.alive and not ticket.done:
            try:
                self._sent += self._send(worker, ticket, self._blob)
            except OSError:
                return [(worker, None, 0)]
            return []
        return [(worker, reply, 0 if reply is None else _size_of(reply))]

    def _maintain(self) -> None:
        if self.workers or self._executor is None:
            return
        if self._make is None:
            raise EngineFailure(
                "the executor is broken; pass a function that makes it "
                "(engine=lambda: ProcessPoolExecutor(4)) to have it made again"
            )
        _end(self._executor, busy=True)
        self._executor = self._made()
        self.workers = [Worker(None, f"task {i}") for i in range(self._size())]

    def _abandon(self, worker: Worker) -> None:
        """Leave a task that hangs behind; its place in the executor stays taken."""

    def _stop(self) -> None:
        if self._make is not None and self._executor is not None:
            busy = any(worker.queue for worker in self.workers)
            _end(self._executor, busy)
            self._executor = None


def _end(executor: Any, busy: bool) -> None:
    """Shut an executor of ours down; processes that may hang are not waited for."""
    if busy:
        for process in list((getattr(executor, "_processes", None) or {}).values()):
            with contextlib.suppress(Exception):
                process.kill()
    executor.shutdown(wait=not busy)


def _result(future: Future[Any]) -> Reply | None:
    """Return a task's reply, None when its worker was lost."""
    try:
        return future.result()
    except (BrokenExecutor, CancelledError, OSError):
        return None


def _size_of(reply: Reply) -> int:
    return sum(partial.mean.nbytes for partial in reply.partials or [])


_benches = threading.local()


def _task(key: str, blob: Any, ticket: int, question: Question, blocks: range) -> Reply:
    """Work on the worker's own job, or say that it has none (no partials and no error)."""
    if getattr(_benches, "key", None) != key:
        if blob is None:
            return Reply(ticket, None, None, 0.0)
        if not isinstance(blob, bytes):
            blob = copy.copy(blob)  # threads share the set but not the random streams
            blob.pins = False
        _benches.bench, _benches.key = Bench(blob), key
    return _benches.bench.work(ticket, question, blocks)
