"""Processes of this machine: one socket each, query points in shared memory."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import socket
import subprocess
import sys
import time
from collections import deque
from multiprocessing import connection
from typing import Any, ClassVar

from ..problem import CapabilityError
from ..smoothing.job import Job, Question
from ._pool import Pool, Ticket, Worker
from ._protocol import EngineFailure, serialize
from ._shared import SLOTS, Slots
from ._worker import Reply

_BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Process:
    """One worker process with its ends of the socket and of the pipe that keeps it alive."""

    def __init__(self, slots: Slots) -> None:
        here, there = socket.socketpair()
        life, self._life = os.pipe()
        self.connection = connection.Connection(here.detach())
        inherited = (there.fileno(), life, slots.handle)
        arguments = [*map(str, inherited), str(slots.nbytes)]
        command = [sys.executable, "-P", "-m", "wolfpack.engines._child", *arguments]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
                env=os.environ | dict.fromkeys(_BLAS, "1") | {"PYTHONPATH": _import_path()},
            )
        except BaseException:
            self.connection.close()
            os.close(self._life)
            raise
        finally:
            there.close()
            os.close(life)
        self.connection.send_bytes(pickle.dumps(sys.path))

    def end(self, grace: float = 0.0) -> None:
        """End the process, after ``grace`` seconds at the latest, and wait until it is gone."""
        self.connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace)
        self.process.kill()
        self.process.wait()
        os.close(self._life)


class Processes(Pool):
    """Oracles in worker processes that are started once and hold the job.

    Parameters
    ----------
    workers : int
        Number of processes.

    Notes
    -----
    Workers are fresh interpreters: scripts need no ``if __name__ == "__main__"``, and nothing is
    forked from a process that may have threads. A round costs two small messages per worker; the
    query point lies in memory that all of them see. A worker that dies is replaced; if this process
    dies, its workers end by themselves.
    """

    latency: ClassVar[float] = 1e-4

    def __init__(self, workers: int) -> None:
        if not hasattr(socket, "socketpair") or sys.platform == "win32":
            raise CapabilityError(
                "engine='processes' needs a POSIX system; pass a "
                "concurrent.futures.ProcessPoolExecutor instead"
            )
        super().__init__()
        self.name = f"processes:{workers}"
        self._count = workers
        self._slots: Slots | None = None
        self._slot = 0
        self._joining: list[Worker] = []
        self._blob = b""
        self._stillborn = 0

    def _start(self, job: Job) -> None:
        self._blob = pickle.dumps(serialize(job), protocol=5)
        nbytes = max(1, 8 * job.smoothing.K.dimension)
        if self._slots is not None and self._slots.nbytes != nbytes:
            self.close()
        if self._slots is None:
            self._slots = Slots(nbytes)
        self._joining, self.workers = self.workers, []
        for worker in self._joining:
            worker.address.connection.send_bytes(self._blob)
        deadline = time.monotonic() + self.patience
        while len(self.workers) < self._count and time.monotonic() < deadline:
            self._maintain()
            self._admit(1.0)
        if not self.workers:
            raise EngineFailure(f"no worker process was ready after {self.patience:g} seconds")

    def _maintain(self) -> None:
        while len(self.workers) + len(self._joining) < self._count:
            assert self._slots is not None
            worker = Worker(Process(self._slots))
            self._joining.append(worker)
            worker.address.connection.send_bytes(self._blob)

    def _admit(self, patience: float) -> None:
        """Take in workers that have read the job."""
        waiting: dict[Any, Worker] = {w.address.connection: w for w in self._joining}
        for link in connection.wait(list(waiting), patience):
            worker = waiting[link]
            try:
                answer = pickle.loads(link.recv_bytes())  # pyright: ignore
            except (EOFError, OSError):
                self._joining.remove(worker)
                worker.address.end()
                self._stillborn += 1
                if self._stillborn >= 5:
                    raise EngineFailure("worker processes end before they can work") from None
                continue
            if not isinstance(answer, str):
                continue  # a reply to what an earlier job asked
            if answer:
                raise EngineFailure(f"a worker process could not read the job: {answer}")
            self._stillborn = 0
            self._joining.remove(worker)
            self.workers.append(worker)

    def _announce(self, question: Question) -> int:
        assert self._slots is not None
        tickets = [t for worker in self.workers for t in worker.queue.values()]
        free = set(range(SLOTS)).difference(ticket.place for ticket in tickets)
        if not free:
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
        ready = connection.wait([*links, *newcomers], timeout)
        for link in ready:
            if link not in links:
                continue
            try:
                data = link.recv_bytes()  # pyright: ignore
                found.append((links[link], pickle.loads(data), len(data)))
            except (EOFError, OSError):
                links[link].address.end()
                found.append((links[link], None, 0))
        if newcomers:
            self._admit(0.0)
        return found

    def _abandon(self, worker: Worker) -> None:
        worker.address.end()

    def _stop(self) -> None:
        everyone, deadline = [*self.workers, *self._joining], time.monotonic() + 0.5
        for worker in everyone:
            with contextlib.suppress(OSError):
                if not worker.queue:
                    worker.address.connection.send_bytes(pickle.dumps(None))
        for worker in everyone:
            idle = not worker.queue and worker in self.workers
            worker.address.end(max(0.0, deadline - time.monotonic()) if idle else 0.0)
        self._joining = []
        if self._slots is not None:
            self._slots.close()
            self._slots = None


def _import_path() -> str:
    """Return where a child finds this very package, before it has its parent's path."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
