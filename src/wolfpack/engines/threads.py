"""Threads of this process, for oracles that free Python's lock."""

from __future__ import annotations

import copy
import itertools
import queue
import threading
from contextlib import AbstractContextManager
from functools import partial
from typing import ClassVar, TypeAlias

from ..problem.checks import checked
from ..smoothing.job import Job
from ._tickets import Received, Ticket, Worker
from ._worker import BlockWorker
from ._worker_pool import WorkerPool, workers_kind

Inbox: TypeAlias = "queue.SimpleQueue[Ticket | None]"


class Threads(WorkerPool[Inbox]):
    """Oracles in threads: no copies, no messages.

    Parameters
    ----------
    workers : int
        Number of threads.

    Notes
    -----
    Threads run in parallel only while the oracle frees Python's lock: most of SciPy's compiled
    solvers do (``K.releases_gil``), Python code does not. BLAS is held to one thread during a
    round, since the workers already use the cores. A thread that hangs cannot be killed; another
    one replaces it.
    """

    tries_elsewhere: ClassVar[bool] = False
    latency: ClassVar[float] = 1e-4

    @checked(workers=workers_kind)
    def __init__(self, workers: int) -> None:
        super().__init__()
        self.name = f"threads:{workers}"
        self._count = workers
        self._names = itertools.count()
        self._replies: queue.SimpleQueue[Received[Inbox]] = queue.SimpleQueue()

    def __reduce__(self) -> tuple[object, ...]:
        return Threads, (self._count,)

    def _quiet(self) -> AbstractContextManager[object]:
        assert self.job is not None
        return self.job.quiet()

    def _start(self, job: Job) -> None:
        self.close()
        self._maintain()

    def _maintain(self) -> None:
        while len(self.workers) < self._count:
            worker: Worker[Inbox] = Worker(queue.SimpleQueue(), f"thread {next(self._names)}")
            job = copy.copy(self.job)  # Each thread must have its own random streams.
            assert job is not None
            job.pins = False  # Threads share BLAS, so the driver limits it once for all of them.
            serve = partial(self._serve, worker, BlockWorker(job, pack=False))
            threading.Thread(target=serve, daemon=True, name="wolfpack").start()
            self.workers.append(worker)

    def _serve(self, worker: Worker[Inbox], block_worker: BlockWorker) -> None:
        """Answer the tickets of a worker; this is what its thread runs."""
        while (ticket := worker.address.get()) is not None:
            reply = block_worker.work(ticket.id, ticket.question, ticket.blocks)
            self._replies.put(Received(worker, reply))

    def _send(self, worker: Worker[Inbox], ticket: Ticket) -> int:
        worker.address.put(ticket)
        return 0

    def _receive(self, timeout: float) -> list[Received[Inbox]]:
        try:
            return [self._replies.get(timeout=timeout)]
        except queue.Empty:
            return []

    def _abandon(self, worker: Worker[Inbox]) -> None:
        worker.address.put(None)

    def _stop(self) -> None:
        for worker in self.workers:
            worker.address.put(None)
