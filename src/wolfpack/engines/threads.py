"""Threads of this process, for oracles that free Python's lock."""

from __future__ import annotations

import copy
import itertools
import queue
import threading
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from ..smoothing.job import Job
from ._pool import Pool
from ._ticket import Ticket, Worker
from ._worker import Bench, Reply


class Threads(Pool):
    """Oracles in threads: no copies, no messages.

    Parameters
    ----------
    workers : int
        Number of threads.

    Notes
    -----
    Threads run in parallel only while the oracle frees Python's lock: most of SciPy's compiled
    solvers do (``K.releases_gil``), Python code does not. BLAS is held to one thread during a
    round, since the workers are the parallelism. A thread that hangs cannot be killed; it is left
    behind and replaced.
    """

    latency: ClassVar[float] = 1e-4

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.name = f"threads:{workers}"
        self._count = workers
        self._names = itertools.count()
        self._replies: Any = queue.SimpleQueue()

    def _quiet(self) -> AbstractContextManager[Any]:
        assert self.job is not None
        return self.job.quiet()

    def _start(self, job: Job) -> None:
        self.close()
        self.workers = [self._spawn() for _ in range(self._count)]

    def _spawn(self) -> Worker:
        worker = Worker(queue.SimpleQueue(), f"thread {next(self._names)}")
        # a job must not be shared between threads: each has random streams of its own
        job = copy.copy(self.job)
        assert job is not None
        job.pins = False  # one limit for all threads, by the driver: they share BLAS
        bench = Bench(job, pack=False)
        arguments = (worker, bench, self._replies)
        thread = threading.Thread(target=_serve, args=arguments, daemon=True, name="wolfpack")
        thread.start()
        return worker

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        worker.address.put((ticket.id, ticket.question, ticket.blocks))
        return 0

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        try:
            worker, reply = self._replies.get(timeout=timeout)
        except queue.Empty:
            return []
        return [(worker, reply, 0)]

    def _maintain(self) -> None:
        while len(self.workers) < self._count:
            self.workers.append(self._spawn())

    def _abandon(self, worker: Worker) -> None:
        worker.address.put(None)

    def _stop(self) -> None:
        for worker in self.workers:
            worker.address.put(None)


def _serve(worker: Worker, bench: Bench, replies: Any) -> None:
    while (message := worker.address.get()) is not None:
        replies.put((worker, bench.work(*message)))
