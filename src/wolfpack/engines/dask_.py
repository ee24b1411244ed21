"""Dask distributed: a cluster that is started here on this machine, or the user's."""

from __future__ import annotations

import contextlib
import logging
import pickle
import queue
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from ..problem import tick
from ..problem.checks import checked, positive
from ..smoothing.job import Job, Question
from ._dask_newcomers import Arrived, Newcomers, check_address
from ._interrupts import interrupts_held
from ._messages import Reply, nbytes, serialize
from ._pace import ALL_READY_SECONDS, Deadline
from ._protocol import EngineFailure, missing
from ._set_aside import SetAside
from ._starting import started
from ._tickets import Received, Ticket, Worker
from ._worker import BlockWorker
from ._worker_pool import WorkerPool, cluster_kind

if TYPE_CHECKING:
    from distributed import Client, Future

_CHECK_SECONDS = 1.0
"""Seconds between two checks of who is in the cluster."""

_QUIET_CLUSTER = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing": False,
}
"""Settings of a cluster that is started here: nobody reads its statistics, and its actors neither
move nor hold data that could be moved."""


class DaskActor:
    """A worker on Dask; it keeps the last question, which travels once per round."""

    def __init__(self, job: bytes) -> None:
        self._worker = BlockWorker(bytes(job))
        self._tag = -1
        self._question: Question | None = None

    def work(self, message: bytes) -> bytes:
        """Compute some blocks and return the pickled reply; it lacks data without a question."""
        ticket, tag, question, blocks = pickle.loads(message)
        if question is not None:
            self._tag, self._question = tag, question
        elif tag != self._tag:
            return pickle.dumps(Reply(ticket))
        assert self._question is not None
        return pickle.dumps(self._worker.work(ticket, self._question, blocks))


@dataclass(eq=False)
class ActorAddress:
    """Where an actor is, its method, and the tag of the question that it has or is being sent.

    The scheduler drops an actor unless somebody holds its ``future``. Tickets that have overtaken
    their question are in ``waiting`` until another one's reply says that it is there.
    """

    place: str
    future: Future
    work: Callable[[bytes], Awaitable[bytes]]
    tag: int = -1
    waiting: list[Ticket] = field(default_factory=list)


DaskWorker: TypeAlias = Worker[ActorAddress]


class Dask(WorkerPool[ActorAddress]):
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
    Workers that join the cluster during a run are used. One that cannot import the library or read
    the job is set aside, and the log names it once; one that freezes delays nobody. In a script,
    starting a local cluster needs ``if __name__ == "__main__"``. A worker whose oracle hangs
    (``oracle_timeout``) is restarted, also one of yours, with what it holds in memory. Whoever can
    reach a scheduler can run code on its workers: keep it on a private network or use Dask's TLS
    settings, with which a ``Client`` works here as well.
    """

    latency: ClassVar[float] = 6e-3

    @checked(cluster=cluster_kind, patience=positive)
    def __init__(self, cluster: int | str | Client, patience: float = 30.0) -> None:
        super().__init__()
        self._wanted = cluster
        self.patience = patience
        self._client: Any = None  # None before the first run
        self._owned: list[Any] = []
        self._newcomers: Newcomers | None = None
        self._abandoned: set[str] = set()
        self._replies: queue.SimpleQueue[tuple[DaskWorker, bytes | None]] = queue.SimpleQueue()
        self._checked = 0.0
        self._tag = 0
        address = cluster if isinstance(cluster, str) else "client"
        self.name = "dask" if isinstance(cluster, int) else f"dask:{address}"

    def __reduce__(self) -> tuple[object, ...]:
        if not isinstance(self._wanted, int | str):
            return super().__reduce__()
        return Dask, (self._wanted, self.patience)

    def _start(self, job: Job) -> None:
        if self._client is None:
            self._client = self._connected()
        self._forget_workers()
        self._set_aside = SetAside()
        newcomers = Newcomers(self._client, DaskActor, serialize(job), self.name, self._set_aside)
        self._newcomers = newcomers
        deadline, all_ready = Deadline(self.patience), Deadline(ALL_READY_SECONDS)
        expected = self._wanted if isinstance(self._wanted, int) else 1
        while len(self.workers) < expected or len(newcomers):
            self._checked = 0.0
            self._maintain()
            why = self._set_aside.why()
            if self.workers and all_ready.passed():
                break  # Whoever is ready later joins the run.
            if why and not self.workers and not len(newcomers):
                raise EngineFailure(f"no worker of {self.name} can be used{why}")
            if deadline.passed():
                raise EngineFailure(
                    f"no worker of {self.name} was ready in {self.patience:g} s{why}"
                )
            tick()
            time.sleep(0.01)

    def _connected(self) -> Client:
        wanted: Any = self._wanted
        if isinstance(wanted, int):
            resource_tracker.ensure_running()  # Workers need it, and its start unblocks Ctrl-C.
            with interrupts_held():  # until it is known what has to be closed
                self._owned = started(_distributed, lambda: _local_cluster(wanted), _close_all)
            self.name = f"dask:{wanted}"
        elif isinstance(wanted, str):
            self._owned = started(
                _distributed, lambda: _client_of(wanted, self.patience), _close_all
            )
        else:
            return wanted
        return self._owned[0]

    def _maintain(self) -> None:
        now = time.monotonic()
        if now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        present = self._present()
        for worker in self.workers:
            if worker.address.place not in present:
                self._replies.put((worker, None))
        self._abandoned &= present
        known = self._abandoned.union(worker.address.place for worker in self.workers)
        assert self._newcomers is not None
        for arrived in self._newcomers.advance(present, known):
            self._admit(arrived)

    def _admit(self, arrived: Arrived) -> None:
        from distributed.actor import Actor

        with self._client.as_current():  # An actor looks for its client there.
            actor = Actor(DaskActor, arrived.place, arrived.future.key)
        address = ActorAddress(arrived.place, arrived.future, cast("Any", actor).work)
        self._join(Worker(address, f"{arrived.place} on {arrived.host}"))

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

    def _announce(self, question: Question) -> int:
        self._tag += 1
        return 0

    def _send(self, worker: DaskWorker, ticket: Ticket) -> int:
        ticket.place = self._tag
        known, worker.address.tag = worker.address.tag == self._tag, self._tag
        return self._call(worker, ticket, None if known else ticket.question)

    def _call(self, worker: DaskWorker, ticket: Ticket, question: Question | None) -> int:
        """Send a ticket, with the question unless the actor has it; return the question's bytes."""
        if self._client.status != "running":
            raise EngineFailure(f"the scheduler of {self.name} is gone")
        message = pickle.dumps((ticket.id, ticket.place, question, ticket.blocks), protocol=5)
        self._client.loop.add_callback(self._deliver, worker, message)
        return 0 if question is None else nbytes(question)

    async def _deliver(self, worker: DaskWorker, message: bytes) -> None:
        try:
            self._replies.put((worker, await worker.address.work(message)))
        except Exception:  # After any exception the actor is of no more use.
            self._replies.put((worker, None))

    def _receive(self, timeout: float) -> list[Received[ActorAddress]]:
        try:
            worker, data = self._replies.get(timeout=min(timeout, _CHECK_SECONDS))
        except queue.Empty:
            return []
        if data is None:
            return [Received(worker, None)]
        reply: Reply = pickle.loads(data)
        ticket = worker.queue.get(reply.ticket)
        if reply.lacks_data and ticket is not None and worker.alive and not ticket.done:
            self._ask_again(worker, ticket)  # Messages may overtake each other.
            return []
        self._ask_waiting(worker)
        return [Received(worker, reply, len(data))]

    def _ask_again(self, worker: DaskWorker, ticket: Ticket) -> None:
        """Send a ticket again, with its question unless that is on its way with another ticket."""
        sent = (other for other in worker.queue.values() if other.place == ticket.place)
        if any(other is not ticket and other not in worker.address.waiting for other in sent):
            worker.address.waiting.append(ticket)
        else:
            self._round.bytes_out += self._call(worker, ticket, ticket.question)

    def _ask_waiting(self, worker: DaskWorker) -> None:
        """Send the tickets that have overtaken a question, which a reply says to be there."""
        waiting, worker.address.waiting = worker.address.waiting, []
        for ticket in waiting:
            if worker.alive and not ticket.done:
                self._call(worker, ticket, None)

    def _abandon(self, worker: DaskWorker) -> None:
        """End a worker process that hangs; Dask's nanny starts another one."""
        self._abandoned.add(worker.address.place)
        self._client.loop.add_callback(self._restart, worker.address.place)

    async def _restart(self, place: str) -> None:
        with contextlib.suppress(Exception):
            await self._client.restart_workers([place], timeout=self.patience)

    def _stop(self) -> None:
        self._newcomers = None
        owned, self._owned = self._owned, []
        _close_all(owned)
        if owned:
            self._client = None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise missing("dask and distributed", "dask") from None
    return distributed


def _client_of(address: str, patience: float) -> list[Any]:
    """Return a client of the user's cluster."""
    check_address(address)
    return [_distributed().Client(address, set_as_default=False, timeout=patience)]


def _local_cluster(workers: int) -> list[Any]:
    """Return the client of a cluster that is started on this machine, and the cluster."""
    distributed = _distributed()
    import dask.config

    with dask.config.set(_QUIET_CLUSTER):
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,  # An oracle may use all memory, as on other engines.
            processes=True,
            host="127.0.0.1",
            # None would serve pages on port 8787 all the same.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )
        try:
            client = distributed.Client(cluster, set_as_default=False, direct_to_workers=True)
        except BaseException:
            _close_all([cluster])
            raise
    return [client, cluster]


def _close_all(things: list[Any]) -> None:
    for thing in things:
        with contextlib.suppress(Exception):
            thing.close(timeout=5)
