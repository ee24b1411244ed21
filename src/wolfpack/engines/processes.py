"""Processes of this machine: one socket each, query points in shared memory."""

from __future__ import annotations

import math
import pickle
import selectors
import socket
from collections import deque
from typing import ClassVar

from ..problem import CapabilityError
from ..smoothing.job import Job, Question
from ._link import TICKET, named
from ._pool import Pool
from ._protocol import EngineFailure, arrays_of, nbytes, serialize, without_arrays
from ._shared import SLOTS, Slots
from ._spawn import Nursery, Process
from ._ticket import Patience, Ticket, Worker
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
        self._links = selectors.DefaultSelector()
        self._blob = self._asked = b""
        self._serial = 0
        self._stillborn = 0

    def _start(self, job: Job) -> None:
        self._serial += 1
        self._blob = TICKET.pack(-1, self._serial, 0) + serialize(job)
        nbytes = max(1, 8 * job.smoothing.K.dimension)
        if self._slots is not None and self._slots.nbytes != nbytes:
            self.close()
        if self._slots is None:
            self._slots = Slots(nbytes)
        former, self.workers = self.workers, []
        for worker in former:
            if worker.queue:  # it still works for an earlier run, who knows how long
                self._abandon(worker)
            else:
                self._joining.append(worker)
        for worker in list(self._joining):
            if worker.address.up:
                self._ship(worker)
        patience = Patience(self.patience)
        while len(self.workers) < self._count and not patience.ends():
            self._maintain()
            self._receive(1.0)
        if not self.workers:
            raise EngineFailure(f"no worker process was ready after {self.patience:g} seconds")

    def _maintain(self) -> None:
        while len(self.workers) + len(self._joining) < self._count:
            assert self._slots is not None
            process = Process(self._slots, self._nursery)
            worker = Worker(process, f"process {process.kin.pid}")
            self._joining.append(worker)
            self._links.register(process.link, selectors.EVENT_READ, worker)

    def _ship(self, worker: Worker) -> None:
        """Send the job to a worker that is up."""
        try:
            worker.address.up = True
            worker.address.link.send(self._blob)
        except OSError:
            self._bury(worker)

    def _bury(self, worker: Worker) -> None:
        """Forget a worker that ended before it could work."""
        self._joining.remove(worker)
        self._abandon(worker)
        self._stillborn += 1
        if self._stillborn >= 5:
            raise EngineFailure("worker processes end before they can work")

    def _admit(self, worker: Worker, answer: Loaded) -> None:
        """Take in a worker that has read the job."""
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
        free = set(range(0, SLOTS, 2)).difference(ticket.place for ticket in tickets)
        if not free:
            # a worker so far behind is of no use
            oldest = min(self.workers, key=lambda w: h.id if (h := w.head()) else math.inf)
            self._abandon(oldest)
            self._lose(oldest, deque(), question)
            return self._announce(question)
        self._slot = min(free)
        places = [
            None if array is None else self._slots.write(self._slot + i, array)
            for i, array in enumerate(arrays_of(question))
        ]
        self._asked = pickle.dumps((places, tuple(without_arrays(question))), protocol=5)
        return nbytes(question)

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        ticket.place = self._slot
        blocks = ticket.blocks
        message = TICKET.pack(ticket.id, blocks.start, blocks.stop) + self._asked
        worker.address.link.send(message)
        return len(message)

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        found: list[tuple[Worker, Reply | None, int]] = []
        for key, _ in self._links.select(timeout):
            worker: Worker = key.data
            try:
                messages = worker.address.link.receive()
            except (EOFError, OSError):
                if worker in self._joining:
                    self._bury(worker)
                else:
                    self._abandon(worker)
                    found.append((worker, None, 0))
                continue
            for data in messages:
                answer = pickle.loads(data)
                if not isinstance(answer, Loaded):
                    if worker not in self._joining:  # or it replies to what an earlier job asked
                        found.append((worker, named(answer), len(data)))
                else:
                    self._admit(worker, answer)
        return found

    def _abandon(self, worker: Worker, grace: float = 0.0) -> None:
        if worker.address.link.fileno() >= 0:  # unless it was given up before
            self._links.unregister(worker.address.link)
            worker.address.end(grace)

    def _stop(self) -> None:
        for worker in [*self.workers, *self._joining]:
            # an idle worker ends when its socket is closed; others are not waited for
            self._abandon(worker, 0.0 if worker.queue or not worker.address.up else 0.5)
        self._joining = []
        self._nursery.close()
        if self._slots is not None:
            self._slots.close()
            self._slots = None
