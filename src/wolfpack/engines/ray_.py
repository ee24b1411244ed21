"""Ray: actors on a cluster of the user's, or on one that is started here."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import time
from typing import Any, ClassVar

from ..smoothing.job import Job, Question
from ._pool import Pool
from ._protocol import EngineFailure, missing, serialize
from ._ticket import Ticket, Worker
from ._worker import Bench, Reply

_LOOK = 1.0
"""Seconds between two looks at the size of the cluster."""


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
    The query point is put into Ray's object store once per round and read from there without a
    copy. CPUs that join the cluster during a run are used. Ray's services listen on all network
    interfaces and ask nobody for a password: start it only on a machine or a network that strangers
    cannot reach.
    """

    latency: ClassVar[float] = 3e-3

    def __init__(self, cluster: Any, patience: float = 60.0) -> None:
        super().__init__()
        self._wanted = cluster
        self.patience = patience
        self._ray: Any = None
        self._ours = False
        self._blob: Any = None
        self._v: Any = None
        self._seats: list[Worker] = []
        self._calls: dict[Any, Worker] = {}
        self._looked = 0.0
        self._stillborn = 0
        self.name = f"ray:{cluster}"

    def _start(self, job: Job) -> None:
        if self._ray is None:
            self._ray = self._connected()
        self._dismiss()
        self._blob = self._ray.put(serialize(job))
        deadline = time.monotonic() + self.patience
        self._looked = 0.0
        self._maintain()
        while len(self.workers) < len(self._seats) or not self._seats:
            self._receive(0.1)
            self._maintain()
            if time.monotonic() > deadline:
                if self.workers:
                    break
                raise EngineFailure(f"no worker of {self.name} was ready in {self.patience:g} s")

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
            self._ours = True
            ray.init(
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
        actor = self._ray.remote(num_cpus=1, max_restarts=0)(Actor)
        while len(self._seats) < wanted:
            worker = Worker(actor.remote(self._blob), "")
            self._seats.append(worker)
            self._calls[worker.address.ready.remote()] = worker

    def _announce(self, question: Question) -> int:
        self._v = self._ray.put(question.v)
        return question.v.nbytes

    def _send(self, worker: Worker, ticket: Ticket) -> int:
        question = ticket.question._replace(v=None)
        call = worker.address.work.remote(ticket.id, question, self._v, ticket.blocks)
        self._calls[call] = worker
        return 0

    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        if not self._calls:
            time.sleep(min(timeout, 0.01))
            return []
        ready, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=timeout)
        found: list[tuple[Worker, Reply | None, int]] = []
        for call in ready:
            worker = self._calls.pop(call)
            try:
                data = self._ray.get(call, timeout=self.patience)
            except self._ray.exceptions.RayActorError as error:
                found += self._gone(worker, error)
                continue
            except self._ray.exceptions.RayError as error:
                raise EngineFailure(f"{self.name}: {error}") from error
            if isinstance(data, str):
                worker.name = data
                self.workers.append(worker)
                self._stillborn = 0
            else:
                found.append((worker, pickle.loads(data), len(data)))
        return found

    def _gone(self, worker: Worker, error: Any = None) -> list[tuple[Worker, Reply | None, int]]:
        if worker in self._seats:
            self._seats.remove(worker)
        self._looked = 0.0
        if worker in self.workers:
            return [(worker, None, 0)]
        self._stillborn += error is not None
        if self._stillborn >= 3:
            raise EngineFailure(f"a Ray worker could not read the job: {error}")
        return []

    def _abandon(self, worker: Worker) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(worker.address)
        self._gone(worker)

    def _dismiss(self) -> None:
        for worker in self._seats:
            worker.alive = False
            with contextlib.suppress(Exception):
                self._ray.kill(worker.address)
        self.workers, self._seats, self._calls = [], [], {}

    def _stop(self) -> None:
        if self._ray is None:
            return
        self._dismiss()
        self._blob = self._v = None
        if self._ours:
            self._ray.shutdown()
        self._ray = None


class Actor:
    """A worker's bench, which receives the query point from Ray's object store.

    Parameters
    ----------
    blob : bytes
        What `serialize` made of the job.
    """

    def __init__(self, blob: bytes) -> None:
        self._bench = Bench(blob)

    def ready(self) -> str:
        """Answer, when the job is there, which process of which machine this is."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def work(self, ticket: int, question: Question, v: Any, blocks: range) -> bytes:
        """Compute some blocks and return the pickled reply."""
        return pickle.dumps(self._bench.work(ticket, question._replace(v=v), blocks))
