"""Processes of this machine: one socket each, query points in shared memory."""

from __future__ import annotations

import math
import pickle
import socket
import time
from collections import deque
from multiprocessing import connection
from typing import Any, ClassVar

from ..problem import CapabilityError
from ..smoothing.job import Job, Question
from ._pool import Pool
from ._protocol import EngineFailure, serialize
from ._shared import SLOTS, Slots
from ._spawn import Nursery, Process
from ._ticket import Ticket, Worker
from ._worker import Loaded, Reply


class Processes(Pool):
    """Oracles in worker processes that are started once and hold the job.

    Parameters
    ----------
    workers : int
        Number of processes.
    fork : bool, optional
        Whether workers are forked from a clean process that has imported the library, or each is a
        new interpreter; the former, which is faster, on Linux.

    Notes
    -----
    Scripts need no ``if __name__ == "__main__"``, and nothing is forked from a process that may
    have threads. A round costs two small messages per worker; the query point lies in memory that
    all of them see. A worker that dies is replaced; if this process dies, its workers end by
    themselves.
    """

    latency: ClassVar[float] = 1e-4

    def __init__(self, workers: int, fork: bool | None = None) -> None:
        if not hasattr(socket, "send_fds"):
            raise CapabilityError(
                "engine='processes' needs a POSIX system; pass a "
                "concurrent.futures.ProcessPoolExecutor instead"
            )
        super().__init__()
        self.name = f"processes:{workers}"
        self._count = workers
        self._nursery = Nursery() if fork is None else Nursery(fork)
        self._slots: Slots | None = None
        self._slot = 0
        self._joining: list[Worker] = []
        self._blob = b""
        self._serial = 0
        self._stillborn = 0

    def _start(self, job: Job) -> None:
        self._serial += 1
        self._blob = pickle.dumps((self._serial, serialize(job)), protocol=5)
        nbytes = max(1, 8 * job.smoothing.K.dimension)
        if self._slots is not None and self._slots.nbytes != nbytes:
            self.close()
        if self._slots is None:
            self._slots = Slots(nbytes)
        former, self.workers = self.workers, []
        for worker in former:
            if worker.queue:  # it still works for an earlier run, who knows how long
                worker.address.end()
            else:
                self._joining.append(worker)
        for worker in list(self._joining):
            if worker.address.up:
                self._ship(worker)
        deadline = time.monotonic() + self.patience
        while len(self.workers) < self._count and time.monotonic() < deadline:
            self._maintain()
            self._admit(1.0)
        if not self.workers:
            raise EngineFailure(f"no worker process was ready after {self.patience:g} seconds")

    def _maintain(self) -> None:
        while len(self.workers) + len(self._joining) < self._count:
            assert self._slots is not None
            process = Process(self._slots, self._nursery)
            self._joining.append(Worker(process, f"process {process.kin.pid}"))

    def _ship(self, worker: Worker) -> None:
        """Send the job to a worker that is up."""
        try:
            worker.address.up = True
            worker.address.connection.send_bytes(self._blob)
        except OSError:
            self._bury(worker)

    def _bury(self, worker: Worker) -> None:
        """Forget a worker that ended before it could work."""
        self._joining.remove(worker)
        worker.address.end()
        self._stillborn += 1
        if self._stillborn >= 5:
            raise EngineFailure("worker processes end before they can work")

    def _admit(self, patience: float) -> None:
        """Take in workers that have read the job."""
        waiting: dict[Any, Worker] = {w.address.connection: w for w in self._joining}
        for link in connection.wait(list(waiting), patience):
            worker = waiting[link]
            try:
                answer = pickle.loads(link.recv_bytes())  # pyright: ignore
            except (EOFError, OSError):
                self._bury(worker)
                continue
            if not isinstance(answer, Loaded):
                continue  # it replies to what an earlier job asked
            if answer.serial == -1:
                self._ship(worker)
            elif answer.error:
                raise EngineFailure(f"a worker process could not read the job: {answer.error}")
            elif answer.serial == self._serial:
                self._stillborn = 0
                self._joining.remove(worker)
                self.workers.append(worker)

    def _announce(self, question: Question) -> int:
        assert self._slots is not None
        tickets = [t for worker in self.workers for t in worker.queue.values()]
        free = set(range(SLOTS)).difference(ticket.place for ticket in tickets)
        if not free:
            # a worker so far behind is of no use
            oldest = min(self.workers, key=lambda w: h.id if (h := w.head()) else math.inf)
            self._abandon(oldest)
            self._lose(oldest, deque(), question)
            return self._announce(question)
        self._slot = min(free)
        self._slots.write(self._slot, question.v)
        return question.v.nbytes

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        ticket.place = self._slot
        v = ticket.question.v
        question = ticket.question._replace(v=(self._slot, v.dtype.str, v.shape))
        message = pickle.dumps((ticket.id, question, ticket.blocks), protocol=5)
        worker.address.connection.send_bytes(message)
        return len(message)

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        links: dict[Any, Worker] = {w.address.connection: w for w in self.workers}
        newcomers = [w.address.connection for w in self._joining]
        found: list[tuple[Worker, Reply | None, int]] = []
        for link in connection.wait([*links, *newcomers], timeout):
            if link not in links:
                continue
            try:
                data = link.recv_bytes()  # pyright: ignore
            except (EOFError, OSError):
                links[link].address.end()
                found.append((links[link], None, 0))
                continue
            found.append((links[link], pickle.loads(data), len(data)))
        if newcomers:
            self._admit(0.0)
        return found

    def _abandon(self, worker: Worker) -> None:
        worker.address.end()

    def _stop(self) -> None:
        for worker in [*self.workers, *self._joining]:
            # an idle worker ends when its socket is closed; others are not waited for
            worker.address.end(0.0 if worker.queue or not worker.address.up else 0.5)
        self._joining = []
        self._nursery.close()
        if self._slots is not None:
            self._slots.close()
            self._slots = None
