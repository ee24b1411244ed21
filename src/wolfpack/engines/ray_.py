"""Ray: actors on a cluster of the user's, or on one that is started here."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import shutil
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from ..problem import tick
from ..problem.checks import checked, positive
from ..smoothing.job import Job, Question
from . import _messages as messages
from ._interrupts import interrupts_held
from ._pace import ALL_READY_SECONDS, Deadline
from ._protocol import EngineFailure, missing
from ._ray_head import Head, Node, shut_down
from ._ray_network import loopback_only, private_folder, reachable_from_outside
from ._rescue import NO_ROUND
from ._set_aside import SetAside
from ._starting import started
from ._tickets import Received, Ticket, Worker
from ._worker import BlockWorker
from ._worker_pool import WorkerPool, cluster_kind

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle
    from ray.exceptions import RayActorError

_SMALL_BYTES = 2**16
"""Size up to which query points are sent with each call."""

_FEW_CALLS = 8
"""Number of calls up to which Ray is asked for one finished call at a time."""

_WAIT_SECONDS = 1.0
"""Seconds after which the driver looks at the cluster again, if nothing has come."""

FlatArray: TypeAlias = tuple[bytes, str, tuple[int, ...]]


class ActorAddress:
    """An actor, its method and its node: asking Ray for a method takes longer than calling it."""

    def __init__(self, actor: ActorHandle, node: Node) -> None:
        self.actor = actor
        self.node = node
        self.work = actor.work.remote


RayWorker: TypeAlias = Worker[ActorAddress]


class Ray(WorkerPool[ActorAddress]):
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
    there without a copy. CPUs that join the cluster during a run are used. A node whose workers
    cannot read the job is set aside, and the log names it once. If the head does not answer for 20
    seconds, the run ends with ``engine_failure``.

    All services of a cluster that is started here listen on the loopback address alone, and its
    files are in a folder of their own that only this user can read. Other users of this machine
    can still reach the loopback address. If Ray can be reached from the network nevertheless, it is
    stopped and the run ends with an error.
    """

    latency: ClassVar[float] = 3e-3

    @checked(cluster=cluster_kind, patience=positive)
    def __init__(self, cluster: int | str, patience: float = 60.0) -> None:
        super().__init__()
        self._wanted = cluster
        self.patience = patience
        self._ray: Any = None  # the module
        self._owns_cluster = False
        self._folder = ""  # of the files of a cluster that was started here
        self._job: Any = None  # a reference to the object
        self._question = NO_ROUND
        self._points: Any = None
        self._actors: list[RayWorker] = []
        self._calls: dict[ObjectRef, RayWorker] = {}
        self._head: Head | None = None
        self.name = f"ray:{cluster}"

    def __reduce__(self) -> tuple[object, ...]:
        return Ray, (self._wanted, self.patience)

    def _start(self, job: Job) -> None:
        if self._ray is None:
            self._ray = self._connected()
        self._job = self._ray.put(messages.serialize(job))
        idle = [worker for worker in self.workers if worker.alive and not worker.queue]
        self._end_actors(kept=idle)  # Those that still work for an earlier run are of no use.
        for worker in idle:
            self._calls[worker.address.actor.load.remote(self._job)] = worker
        deadline, all_ready = Deadline(self.patience), Deadline(ALL_READY_SECONDS)
        self._set_aside = SetAside()
        assert self._head is not None
        self._head.ask()
        while len(self.workers) < len(self._actors) or not self._actors:
            self._receive(0.1)
            self._maintain()
            why = self._set_aside.why()
            if all_ready.passed() and self.workers:
                break  # Others may hold the remaining CPUs. Workers that come later are used.
            if why and not self._actors:
                raise EngineFailure(f"no worker of {self.name} can be used{why}")
            if deadline.passed():
                raise EngineFailure(
                    f"no worker of {self.name} was ready in {self.patience:g} s{why}"
                )
            tick()

    def _connected(self) -> Any:
        wanted = self._wanted
        if isinstance(wanted, int):
            with interrupts_held():  # until it is known what has to be stopped
                self._folder = started(_module, lambda: _local_cluster(wanted), _shut_down)
                self._owns_cluster, self._ray = True, _module()
            self._check_unreachable()
        else:
            self._owns_cluster = bool(started(_module, lambda: _connected_to(wanted), _leave))
        ray, address = _module(), ""
        with contextlib.suppress(Exception):  # A Ray client knows no such address.
            address = ray.get_runtime_context().gcs_address
        self._head = Head(address, ray.nodes)
        return ray

    def _check_unreachable(self) -> None:
        """Stop Ray if a service of it can be reached from the network."""
        address = reachable_from_outside(self._ray)
        if address:
            self._stop()
            raise EngineFailure(
                f"this version of Ray listens on the network, at {address}, where anybody may run "
                "code, although it was told not to: choose another engine, or start a cluster "
                "yourself on a network that you trust and pass its address"
            )

    def _maintain(self) -> None:
        """Keep one actor per CPU of the nodes that can be used, also when workers are lost."""
        assert self._head is not None
        if self._head.silent:
            self._raise_silent()
        nodes = self._head.nodes()
        if nodes is None:
            return
        self._set_aside.forget_others([node.id for node in nodes])
        for node in nodes:
            if node.id not in self._set_aside:
                here = sum(worker.address.node.id == node.id for worker in self._actors)
                for _ in range(node.cpus - here):
                    self._make_actor(node)

    def _make_actor(self, node: Node) -> None:
        """Begin to make an actor on a node, which joins when it has read the job."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        where = NodeAffinitySchedulingStrategy(node.id, soft=False)
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": where}
        worker = Worker(
            ActorAddress(self._ray.remote(**options)(RayActor).remote(self._job), node), ""
        )
        self._actors.append(worker)
        self._calls[worker.address.actor.ready.remote()] = worker

    def _raise_silent(self) -> None:
        later = ""
        if not self._owns_cluster:
            later = "; Ray ends this process soon unless ray.shutdown() is called"
        raise EngineFailure(f"the head of {self.name} does not answer any more{later}")

    def _announce(self, question: Question) -> int:
        size = messages.nbytes(question)
        if size <= _SMALL_BYTES:  # It travels faster with the call than through the object store.
            self._points, self._question = None, messages.on_points(question, _flat)
            return 0
        self._points = self._ray.put((question.v, question.also))
        self._question = question._replace(v=None, also=None)
        return size

    def _send(self, worker: RayWorker, ticket: Ticket) -> int:
        message = messages.ticket_bytes(ticket.id, self._question, ticket.blocks)
        points = [] if self._points is None else [self._points]
        self._calls[worker.address.work(message, *points)] = worker
        return len(message)

    def _receive(self, timeout: float) -> list[Received[ActorAddress]]:
        found = self._all_replies(timeout) if self._round.all_sent else []
        if found:
            return found
        calls = list(self._calls)
        if not calls:
            time.sleep(min(timeout, 0.01))
            return []
        ready, _ = self._ray.wait(calls, num_returns=1, timeout=min(timeout, _WAIT_SECONDS))
        if ready and len(calls) > _FEW_CALLS:  # Asking once per reply would cost too much.
            ready, _ = self._ray.wait(calls, num_returns=len(calls), timeout=0)
        for call in ready:
            found += self._answer(self._calls.pop(call), call)
        return found

    def _all_replies(self, timeout: float) -> list[Received[ActorAddress]]:
        """Return all replies at once if they come soon; none if one is late or lost."""
        current = [(call, worker.current()) for call, worker in self._calls.items()]
        calls = [call for call, ticket in current if ticket is not None and not ticket.done]
        try:
            replies = self._ray.get(calls, timeout=min(timeout, 2 * self.latency))
        except self._ray.exceptions.RayError:
            return []
        return [
            Received(self._calls.pop(call), messages.read_reply(pickle.loads(data)), len(data))
            for call, data in zip(calls, replies, strict=True)
        ]

    def _answer(self, worker: RayWorker, call: ObjectRef) -> list[Received[ActorAddress]]:
        """Return what a finished call has brought; a worker that has read the job joins."""
        errors = self._ray.exceptions
        try:
            data = self._ray.get(call, timeout=self.patience)
        except errors.RayActorError as error:
            return self._gone(worker, error)
        except (errors.ObjectLostError, errors.GetTimeoutError):  # Its host is gone or frozen.
            self._abandon(worker)
            return [Received(worker, None)]
        except errors.RayError as error:
            raise EngineFailure(f"{self.name}: {error}") from error
        if not isinstance(data, str):
            return [Received(worker, messages.read_reply(pickle.loads(data)), len(data))]
        if worker in self._actors:
            worker.name = data
            self._join(worker)
        return []

    def _gone(
        self, worker: RayWorker, error: RayActorError | None = None
    ) -> list[Received[ActorAddress]]:
        """Forget an actor that has ended; say so if it was a worker."""
        if worker not in self._actors:
            return []
        self._actors.remove(worker)
        if self._head is not None:
            self._head.ask()
        if worker in self.workers:
            return [Received(worker, None)]
        if error is not None and error.actor_init_failed:
            node, cause = worker.address.node, str(error).strip().splitlines()[-1]
            self._set_aside.add(node.id, f"the Ray node {node.host}", self.name, cause)
        return []

    def _abandon(self, worker: RayWorker) -> None:
        with contextlib.suppress(Exception):
            self._ray.kill(worker.address.actor)
        self._gone(worker)

    def _end_actors(self, kept: Sequence[RayWorker] = ()) -> None:
        for worker in self._actors:
            if worker not in kept:
                worker.alive = False
                with contextlib.suppress(Exception):
                    self._ray.kill(worker.address.actor)
        self.workers, self._actors, self._calls = [], list(kept), {}

    def _stop(self) -> None:
        if self._ray is None:
            return
        silent = self._head is not None and self._head.silent
        if self._head is not None:
            self._head.close()
            self._head = None
        self._end_actors()
        self._job = self._points = None
        if self._owns_cluster:
            shut_down(self._ray.shutdown, silent)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._ray, self._owns_cluster, self._folder = None, False, ""


def _module() -> Any:
    try:
        import ray
    except ImportError:
        raise missing("ray", "ray") from None
    return ray


def _connected_to(address: str) -> str:
    """Connect this process to a cluster; return "" where it is connected already."""
    ray = _module()
    if ray.is_initialized():
        return ""
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    return address


def _local_cluster(cpus: int) -> str:
    """Start a cluster on this machine and return the folder of its files."""
    ray = _module()
    if ray.is_initialized():
        raise EngineFailure(
            "this process is connected to a Ray cluster already: use engine='ray:auto'"
        )
    folder = private_folder()
    try:
        with loopback_only():
            ray.init(
                address="local",  # Another cluster may run on this machine.
                num_cpus=cpus,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _node_ip_address="127.0.0.1",
                # Ray opens its own folder to everybody, but not the one around it.
                _temp_dir=os.path.join(folder, "ray"),
            )
    except BaseException:
        _shut_down(folder)
        raise
    return folder


def _shut_down(folder: str) -> None:
    """Stop the cluster that was started here, and remove its files."""
    _module().shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def _leave(address: str) -> None:
    """Leave a cluster, unless this process was connected to it before."""
    if address:
        _module().shutdown()


class RayActor:
    """A worker on Ray, which reads large query points from the object store."""

    def __init__(self, job: bytes) -> None:
        self.load(job)

    def load(self, job: bytes) -> str:
        """Take a job; return the name of this worker."""
        self._worker = BlockWorker(job)
        return self.ready()

    def ready(self) -> str:
        """Return the name of this worker, which has its job by now."""
        return f"process {os.getpid()} on {socket.gethostname()}"

    def work(
        self, message: bytes, points: tuple[np.ndarray, np.ndarray | None] | None = None
    ) -> bytes:
        """Compute some blocks and return the pickled reply."""
        ticket, question, blocks = messages.read_ticket(pickle.loads(message))
        if points is None:
            question = messages.on_points(question, _unflat)
        else:
            question = question._replace(v=points[0], also=points[1])
        return messages.reply_bytes(self._worker.work(ticket, question, blocks))


def _flat(array: np.ndarray) -> FlatArray:
    """Return an array as bytes, type and shape, which pickle several times faster."""
    return array.tobytes(), array.dtype.str, array.shape


def _unflat(flat: FlatArray) -> np.ndarray:
    data, dtype, shape = flat
    return np.frombuffer(data, dtype).reshape(shape)
