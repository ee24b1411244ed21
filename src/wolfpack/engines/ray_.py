"""Ray: actors on a cluster of the user's, or on one that is started here."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import time
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..smoothing.job import Job, Question
from ._interrupts import interrupts_held
from ._link import TICKET, named, plain
from ._pool import Pool
from ._protocol import (
    EngineFailure,
    arrays_of,
    missing,
    nbytes,
    serialize,
    with_arrays,
)
from ._ticket import Patience, Ticket, Worker
from ._worker import Bench, Reply

_SMALL = 2**16
"""Bytes up to which a query point is sent with each call."""

_FEW = 8
"""Calls up to which each is looked at by itself."""

_LOOK = 1.0
"""Seconds between two looks at the size of the cluster."""

_SOON = 10.0
"""Seconds to wait for all workers when some are ready."""


class Seat:
    """An actor as the driver sees it; asking Ray for a method anew takes longer than calling it."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.work = actor.work.remote


class Ray(Pool):
    """Oracles in Ray actors, one per CPU of the cluster.

    Parameters
    ----------
    cluster : int or str
        Number of workers of a local cluster that is started and stopped again, or the address of a
        cluster, "auto" for the one that this process is connected to or that runs here. A cluster
        that was not started here is left alone.
    patience : float
        Seconds to wait for a worker when none is left.

    Notes
    -----
    A query point of more than 64 kB is put into Ray's object store once per round and read from
    there without a copy. CPUs that join the cluster during a run are used. Ray's services listen on
    all network interfaces and ask nobody for a password: start it only on a machine or a network
    that strangers cannot reach.
    """

    latency: ClassVar[float] = 3e-3

    def __init__(self, cluster: Any, patience: float = 60.0) -> None:
        super().__init__()
        self._wanted = cluster
        self.patience = patience
        self._ray: Any = None
        self._ours = False
        self._blob: Any = None
        self._asked = b""
        self._arrays: Any = None
        self._seats: list[Worker] = []
        self._calls: dict[Any, Worker] = {}
        self._looked = 0.0
        self._stillborn = 0
        self.name = f"ray:{cluster}"

    def _start(self, job: Job) -> None:
        if self._ray is None:
            self._ray = self._connected()
        self._blob = self._ray.put(serialize(job))
        self._reload()
        patience, soon = Patience(self.patience), Patience(_SOON)
        self._looked = 0.0
        self._maintain()
        while len(self.workers) < len(self._seats) or not self._seats:
            self._receive(0.1)
            self._maintain()
            if soon.ends() and self.workers:
                break  # others may hold the remaining CPUs; who comes later is used
            if patience.ends():
                raise EngineFailure(f"no worker of {self.name} was ready in {self.patience:g} s")

    def _reload(self) -> None:
        """Give idle actors of an earlier job the new one; end those that may be busy with it."""
        idle = [worker for worker in self.workers if worker.alive and not worker.queue]
        self._dismiss(idle)
        for worker in idle:
            self._calls[worker.address.actor.load.remote(self._blob)] = worker

    def _connected(self) -> Any:
        try:
            import ray
        except ImportError:
            raise missing("ray", "ray") from None
        if isinstance(self._wanted, int):
            if ray.is_initialized():
                raise EngineFailure(
                    "this process is connected to a Ray cluster already: use engine='ray:auto'"
                )
            with interrupts_held():
                self._ours, self._ray = True, ray
                ray.init(
                    address="local",  # also where another cluster runs on this machine
                    num_cpus=self._wanted,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    _node_ip_address="127.0.0.1",
                )
        elif not ray.is_initialized():
            self._ours = True
            ray.init(address=self._wanted, log_to_driver=False, logging_level=logging.ERROR)
        return ray

    def _maintain(self) -> None:
        """Keep one actor per CPU; those of lost workers are made anew."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        try:
            cpus = int(self._ray.cluster_resources().get("CPU", 0))
        except Exception as error:
            raise EngineFailure(f"{self.name} does not answer: {error}") from error
        wanted = self._wanted if isinstance(self._wanted, int) else cpus
        while len(self._seats) < wanted:
            actor = self._ray.remote(num_cpus=1, max_restarts=0)(Actor)
            worker = Worker(Seat(actor.remote(self._blob)), "")
            self._seats.append(worker)
            self._calls[worker.address.actor.ready.remote()] = worker

    def _announce(self, question: Question) -> int:
        # what is small travels faster with the call than through the object store
        size, arrays = nbytes(question), arrays_of(question)
        large = size > _SMALL
        self._arrays = self._ray.put(arrays) if large else None
        v, also = (None, None) if large else map(_flat, arrays)
        self._asked = pickle.dumps(tuple(question._replace(v=v, also=also)), protocol=5)
        return size if large else 0

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        blocks = ticket.blocks
        message = TICKET.pack(ticket.id, blocks.start, blocks.stop) + self._asked
        arguments = (message,) if self._arrays is None else (message, self._arrays)
        self._calls[worker.address.work(*arguments)] = worker
        return len(message)

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        found = self._at_once(timeout) if self._together else []
        if found:
            return found
        calls = list(self._calls)
        if not calls:
            time.sleep(min(timeout, 0.01))
            return []
        ready, _ = self._ray.wait(calls, num_returns=1, timeout=min(timeout, _LOOK))
        if ready and len(calls) > _FEW:  # a look at many calls costs too much for one reply
            ready, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        for call in ready:
            found += self._answer(self._calls.pop(call), call)
        return found

    def _at_once(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        """Return all replies in one go, if they come soon; none if one is late or is lost."""
        heads = [(call, worker.head()) for call, worker in self._calls.items()]
        calls = [call for call, head in heads if head is not None and not head.done]
        try:
            replies = self._ray.get(calls, timeout=min(timeout, 2 * self.latency))
        except self._ray.exceptions.RayError:
            return []
        return [
            (self._calls.pop(call), named(pickle.loads(data)), len(data))
            for call, data in zip(calls, replies, strict=True)
        ]

    def _answer(self, worker: Worker, call: Any) -> list[tuple[Worker, Reply | None, int]]:
        """Return what a call that is over has brought; a worker that has the job joins."""
        try:
            data = self._ray.get(call, timeout=self.patience)
        except self._ray.exceptions.RayActorError as error:
            return self._gone(worker, error)
        except self._ray.exceptions.RayError as error:
            raise EngineFailure(f"{self.name}: {error}") from error
        if not isinstance(data, str):
            return [(worker, named(pickle.loads(data)), len(data))]
        if worker in self._seats:
            worker.name = data
            self.workers.append(worker)
            self._stillborn = 0
        return []

    def _gone(self, worker: Worker, error: Any = None) -> list[tuple[Worker, Reply | None, int]]:
        if worker not in self._seats:
            return []
        self._seats.remove(worker)
        self._looked = 0.0
        if worker in self.workers:
            return [(worker, None, 0)]
        self._stillborn += error is not None and error.actor_init_failed
        if self._stillborn >= 3:
            raise EngineFailure(f"a Ray worker could not read the job: {error}")
        return []

    def _abandon(self, worker: Worker) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(worker.address.actor)
        self._gone(worker)

    def _dismiss(self, kept: Sequence[Worker] = ()) -> None:
        for worker in self._seats:
            if worker not in kept:
                worker.alive = False
                with contextlib.suppress(Exception):
                    self._ray.kill(worker.address.actor)
        self.workers, self._seats, self._calls = [], list(kept), {}

    def _stop(self) -> None:
        if self._ray is None:
            return
        self._dismiss()
        self._blob = self._arrays = None
        if self._ours:
            self._ray.shutdown()
        self._ray, self._ours = None, False


class Actor:
    """A worker's bench, which receives the query point from Ray's object store.

    Parameters
    ----------
    blob : bytes
        What `serialize` made of the job.
    """

    def __init__(self, blob: bytes) -> None:
        self.load(blob)

    def load(self, blob: bytes) -> str:
        """Take a job; return the name of this worker."""
        self._bench = Bench(blob)
        return self.ready()

    def ready(self) -> str:
        """Return which process of which machine this is, when the job is there."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def work(self, message: bytes, arrays: Any = None) -> bytes:
        """Compute some blocks and return the pickled reply."""
        ticket, first, end = TICKET.unpack_from(message)
        question = Question._make(pickle.loads(memoryview(message)[TICKET.size :]))
        question = with_arrays(question, arrays or tuple(map(_whole, arrays_of(question))))
        return pickle.dumps(
            plain(self._bench.work(ticket, question, range(first, end))), protocol=5
        )


def _flat(array: np.ndarray | None) -> tuple[Any, ...] | None:
    """Return an array as bytes, which pickle several times faster."""
    return None if array is None else (array.tobytes(), array.dtype.str, array.shape)


def _whole(flat: tuple[Any, ...] | None) -> np.ndarray | None:
    """Return what `_flat` was given."""
    return None if flat is None else np.frombuffer(flat[0], flat[1]).reshape(flat[2])
