"""Processes of this machine: one socket each, query points in shared memory."""

from __future__ import annotations

import math
import pickle
import selectors
import sys
from typing import ClassVar

from ..problem import CapabilityError, tick, time_left
from ..problem.checks import checked, flag, optional
from ..smoothing.job import Job, Question
from ._messages import Loaded, nbytes, read_reply, serialize, ticket_bytes
from ._pace import Deadline
from ._protocol import EngineFailure
from ._rescue import NO_ROUND
from ._shared import SLOTS, Slots
from ._spawn import ProcessStarter, WorkerProcess
from ._tickets import Received, Ticket, Worker
from ._worker_pool import WorkerPool, workers_kind

_MAX_FAILED_STARTS = 5


class Processes(WorkerPool[WorkerProcess]):
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
    all of them see. A worker that dies is replaced. If this process dies, its workers end by
    themselves.
    """

    latency: ClassVar[float] = 1e-4

    @checked(workers=workers_kind, fork=optional(flag))
    def __init__(self, workers: int, fork: bool | None = None) -> None:
        if sys.platform == "win32":
            raise CapabilityError(
                "engine='processes' needs a POSIX system; pass a "
                "concurrent.futures.ProcessPoolExecutor instead"
            )
        super().__init__()
        self.name = f"processes:{workers}"
        self._count = workers
        self._fork = fork
        self._starter = ProcessStarter() if fork is None else ProcessStarter(fork)
        self._slots: Slots | None = None
        self._slot = 0
        self._joining: list[Worker[WorkerProcess]] = []
        self._links = selectors.DefaultSelector()
        self._job = b""
        self._serial = 0
        self._question = NO_ROUND
        self._failed_starts = 0

    def __reduce__(self) -> tuple[object, ...]:
        return Processes, (self._count, self._fork)

    def _start(self, job: Job) -> None:
        self._serial += 1
        self._job = serialize(job)
        nbytes = max(1, 8 * job.smoothing.K.dimension)
        if self._slots is not None and self._slots.nbytes != nbytes:
            self.close()
        if self._slots is None:
            self._slots = Slots(nbytes)
        former, self.workers = self.workers, []
        for worker in former:
            if worker.queue:  # It still works for an earlier run, nobody knows how long.
                self._abandon(worker)
            else:
                self._joining.append(worker)
        for worker in list(self._joining):
            if worker.address.ready:
                self._send_job(worker)
        deadline = Deadline(self.patience)
        while len(self.workers) < self._count and not deadline.passed():
            tick()
            self._maintain()
            self._receive(min(1.0, time_left()))
        if not self.workers:
            raise EngineFailure(f"no worker process was ready after {self.patience:g} seconds")

    def _maintain(self) -> None:
        while len(self.workers) + len(self._joining) < self._count:
            assert self._slots is not None
            address = WorkerProcess(self._slots, self._starter)
            worker = Worker(address, f"process {address.pid}")
            self._joining.append(worker)
            self._links.register(address.link, selectors.EVENT_READ, worker)

    def _send_job(self, worker: Worker[WorkerProcess]) -> None:
        try:
            worker.address.ready = True
            worker.address.link.send_bytes(pickle.dumps(self._serial))
            worker.address.link.send_bytes(self._job)
        except OSError:
            self._count_failed_start(worker)

    def _count_failed_start(self, worker: Worker[WorkerProcess]) -> None:
        """Forget a worker that ended before it could work; give up after several of them."""
        self._joining.remove(worker)
        self._abandon(worker)
        self._failed_starts += 1
        if self._failed_starts >= _MAX_FAILED_STARTS:
            raise EngineFailure("worker processes end before they can work")

    def _admit(self, worker: Worker[WorkerProcess], answer: Loaded) -> None:
        """Send a job to a worker that waits for one, or use a worker that has read it."""
        if answer.serial == -1:
            self._send_job(worker)
        elif answer.error:
            raise EngineFailure(f"a worker process could not read the job: {answer.error}")
        elif answer.serial == self._serial:
            self._failed_starts = 0
            self._joining.remove(worker)
            self._join(worker)

    def _announce(self, question: Question) -> int:
        assert self._slots is not None
        taken = {ticket.place for worker in self.workers for ticket in worker.queue.values()}
        free = set(range(0, SLOTS, 2)) - taken
        if not free:
            # A worker that is so far behind is of no use.
            oldest = min(self.workers, key=lambda w: t.id if (t := w.current()) else math.inf)
            self._abandon(oldest)
            self._lose(oldest)
            return self._announce(question)
        self._slot = min(free)
        v, also = self._slots.write(self._slot, question.v), None
        if question.also is not None:
            also = self._slots.write(self._slot + 1, question.also)
        self._question = question._replace(v=v, also=also)
        return nbytes(question)

    def _send(self, worker: Worker[WorkerProcess], ticket: Ticket) -> int:
        ticket.place = self._slot
        message = ticket_bytes(ticket.id, self._question, ticket.blocks)
        worker.address.link.send_bytes(message)
        return len(message)

    def _receive(self, timeout: float) -> list[Received[WorkerProcess]]:
        found: list[Received[WorkerProcess]] = []
        for key, _ in self._links.select(timeout):
            worker: Worker[WorkerProcess] = key.data
            try:
                data = worker.address.link.recv_bytes()
            except (EOFError, OSError):
                if worker in self._joining:
                    self._count_failed_start(worker)
                else:
                    self._abandon(worker)
                    found.append(Received(worker, None))
                continue
            answer = pickle.loads(data)
            if isinstance(answer, Loaded):
                self._admit(worker, answer)
            elif worker not in self._joining:  # Otherwise it answers an earlier job.
                found.append(Received(worker, read_reply(answer), len(data)))
        return found

    def _abandon(self, worker: Worker[WorkerProcess], grace: float = 0.0) -> None:
        if not worker.address.link.closed:  # It may have been abandoned before.
            self._links.unregister(worker.address.link)
            worker.address.end(grace)

    def _stop(self) -> None:
        for worker in [*self.workers, *self._joining]:
            # An idle worker ends when its socket is closed. Others are killed at once.
            idle = worker.address.ready and not worker.queue
            self._abandon(worker, 0.5 if idle else 0.0)
        self._joining = []
        self._starter.close()
        if self._slots is not None:
            self._slots.close()
            self._slots = None
