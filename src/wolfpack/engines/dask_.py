"""Dask distributed: a cluster of our own on this machine, or the user's."""

from __future__ import annotations

import contextlib
import logging
import pickle
import queue
import time
import uuid
import warnings
from multiprocessing import resource_tracker
from typing import Any, ClassVar

from ..smoothing.job import Job, Question
from ._interrupts import interrupts_held
from ._pool import Pool
from ._protocol import (
    EngineFailure,
    arrays_of,
    missing,
    nbytes,
    serialize,
    with_arrays,
    without_arrays,
)
from ._ticket import Patience, Ticket, Worker
from ._worker import Bench, Reply

_LOOK = 1.0
"""Seconds between two looks at who is in the cluster."""

_UNDISTURBED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
}
"""Settings of a cluster of our own, where nobody looks at what its parts find out about themselves
and where actors neither move nor hold data that could."""


class Desk:
    """A worker's bench; it remembers the last query point, which travels once per round.

    Parameters
    ----------
    blob : bytes
        What `serialize` made of the job.
    """

    def __init__(self, blob: bytes) -> None:
        self._bench = Bench(bytes(blob))
        self._tag, self._arrays = -1, (None, None)

    def work(self, message: bytes) -> bytes:
        """Compute some blocks and return the pickled reply; an empty one if v is not here."""
        ticket, tag, question, blocks = pickle.loads(message)
        if question.v is not None:
            self._tag, self._arrays = tag, arrays_of(question)
        elif tag != self._tag:
            return pickle.dumps(Reply(ticket, None, None, 0.0))
        return pickle.dumps(self._bench.work(ticket, with_arrays(question, self._arrays), blocks))


class Seat:
    """An actor as the driver sees it: where it is, its method, and which query point it has."""

    def __init__(self, place: str, future: Any, work: Any) -> None:
        self.place = place
        self.future = future  # the scheduler drops an actor that no one holds a future of
        self.work = work
        self.tag = -1


class Dask(Pool):
    """Oracles in actors on Dask workers, one actor per worker.

    Parameters
    ----------
    cluster : int, str or Client
        Number of workers of a local cluster that is started, on loopback and without a dashboard,
        profiles or memory limits, and stopped again; the address of a scheduler; or a client. A
        cluster that was not started here is left alone.
    patience : float
        Seconds to wait for a worker when none is left.

    Notes
    -----
    Workers that join the cluster during a run are used. In a script, starting a local cluster needs
    ``if __name__ == "__main__"``. A worker whose oracle hangs (``oracle_timeout``) is restarted,
    also one of yours, with what it holds in memory. Whoever can reach a scheduler can run code on
    its workers: keep it on a private network or use Dask's TLS settings, with which a ``Client``
    works here as well.
    """

    latency: ClassVar[float] = 6e-3

    def __init__(self, cluster: Any, patience: float = 30.0) -> None:
        super().__init__()
        self._wanted = cluster
        self.patience = patience
        self._client: Any = None
        self._owned: list[Any] = []
        self._seats: dict[str, Any] = {}
        self._replies: Any = queue.SimpleQueue()
        self._blob = b""
        self._looked = 0.0
        self._tag = 0
        self.name = "dask" if isinstance(cluster, int) else f"dask:{_address(cluster)}"

    def _start(self, job: Job) -> None:
        self._blob = serialize(job)
        if self._client is None:
            self._client = self._connected()
        self._dismiss()
        patience = Patience(self.patience)
        expected = self._wanted if isinstance(self._wanted, int) else 1
        while len(self.workers) < max(expected, len(self._seats)):
            self._looked = 0.0
            self._maintain()
            if patience.ends():
                if self.workers:
                    break
                raise EngineFailure(f"no worker of {self.name} was ready in {self.patience:g} s")
            time.sleep(0.01)

    def _connected(self) -> Any:
        try:
            import dask.config
            import distributed
        except ImportError:
            raise missing("dask and distributed", "dask") from None
        if isinstance(self._wanted, distributed.Client):
            return self._wanted
        if isinstance(self._wanted, str):
            client = distributed.Client(self._wanted, set_as_default=False, timeout=self.patience)
            self._owned = [client]
            return client
        resource_tracker.ensure_running()  # workers need it, and its start unblocks Ctrl-C
        with interrupts_held(), dask.config.set(_UNDISTURBED):
            cluster = distributed.LocalCluster(
                n_workers=self._wanted,
                threads_per_worker=1,
                memory_limit=0,  # an oracle may take what there is, as on other engines
                processes=True,
                host="127.0.0.1",
                # None would serve pages on port 8787 all the same
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
            self._owned = [cluster]
            client = distributed.Client(cluster, set_as_default=False, direct_to_workers=True)
            self._owned = [client, cluster]
        self.name = f"dask:{self._wanted}"
        return client

    def _maintain(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        present = self._present()
        for worker in [w for w in self.workers if w.address.place not in present]:
            self._replies.put((worker, None))
        self._seats = {place: seat for place, seat in self._seats.items() if place in present}
        for place in present.difference(self._seats):
            self._seats[place] = self._seated(place)
        for place, future in self._seats.items():
            if not isinstance(future, Worker) and future.status == "finished":
                with self._client.as_current():  # an actor looks for its client there
                    work = future.result(timeout=self.patience).work
                worker = Worker(Seat(place, future, work), place)
                self._seats[place] = worker
                self.workers.append(worker)
            elif not isinstance(future, Worker) and future.status == "error":
                raise EngineFailure(f"a Dask worker could not read the job: {future.exception()}")

    def _present(self) -> set[str]:
        """Return the addresses of the workers that the scheduler knows."""
        scheduler = self._client.scheduler
        if scheduler is None:
            raise EngineFailure(f"the scheduler of {self.name} is gone")
        try:
            identity = self._client.sync(
                scheduler.identity, n_workers=-1, callback_timeout=self.patience
            )
        except (OSError, TimeoutError) as error:
            raise EngineFailure(f"the scheduler of {self.name} does not answer: {error}") from error
        return set(identity["workers"])

    def _seated(self, place: str) -> Any:
        """Begin to make an actor on a worker; the job travels with it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # on the size of the job
            key = f"wolfpack-{uuid.uuid4().hex}"
            return self._client.submit(Desk, self._blob, key=key, workers=[place], actor=True)

    def _announce(self, question: Question) -> int:
        self._tag += 1
        return 0

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        ticket.place = self._tag
        known, worker.address.tag = worker.address.tag == self._tag, self._tag
        question = ticket.question
        self._call(worker, ticket, without_arrays(question) if known else question)
        return 0 if known else nbytes(question)

    def _call(self, worker: Worker, ticket: Ticket, question: Question) -> None:
        if self._client.status != "running":
            raise EngineFailure(f"the scheduler of {self.name} is gone")
        message = pickle.dumps((ticket.id, ticket.place, question, ticket.blocks), protocol=5)
        self._client.loop.add_callback(self._deliver, worker, message)

    async def _deliver(self, worker: Worker, message: bytes) -> None:
        try:
            self._replies.put((worker, await worker.address.work(message)))
        except Exception:  # whatever it is, the actor is of no more use
            self._replies.put((worker, None))

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        try:
            worker, data = self._replies.get(timeout=min(timeout, _LOOK))
        except queue.Empty:
            return []
        if data is None:
            self._seats.pop(worker.address.place, None)
            return [(worker, None, 0)]
        reply: Reply = pickle.loads(data)
        if reply.partials is None and reply.error is None:  # messages may overtake each other
            ticket = worker.queue.get(reply.ticket)
            if ticket is not None and worker.alive and not ticket.done:
                self._sent += nbytes(ticket.question)
                self._call(worker, ticket, ticket.question)
                return []
        return [(worker, reply, len(data))]

    def _abandon(self, worker: Worker) -> None:
        """End a worker process that hangs; Dask's nanny starts another one."""
        with contextlib.suppress(Exception):
            self._client.restart_workers([worker.address.place], timeout=self.patience)

    def _dismiss(self) -> None:
        """Drop the actors of an earlier job."""
        for worker in self.workers:
            worker.alive = False
        self.workers, self._seats = [], {}

    def _stop(self) -> None:
        self._dismiss()
        owned, self._owned = self._owned, []
        for thing in owned:
            with contextlib.suppress(Exception):
                thing.close(timeout=5)
        if owned:
            self._client = None


def _address(cluster: Any) -> str:
    return cluster if isinstance(cluster, str) else "client"
