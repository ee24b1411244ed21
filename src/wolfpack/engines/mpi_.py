"""MPI: every rank runs the same program; rank 0 drives, all of them compute."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ..problem import CapabilityError, Counts, counted
from ..smoothing.job import Job, Partial, Question
from ._messages import Reply, nbytes, on_points, serialize
from ._mpi_sums import Gathered, gather
from ._protocol import EngineFailure, RankEngine, Span, Stats, missing
from ._worker import BlockWorker

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

_REPLY = 7
"""Tag of the messages with contributions."""

Kind: TypeAlias = tuple[tuple[int, ...], np.dtype]
"""Shape and type of an array that is broadcast next."""


class RoundMessage(NamedTuple):
    """Rank 0 asks for blocks; the question has kinds of arrays in the place of its points.

    The only other messages are jobs, as bytes, and in the end the result, None after a failure.
    """

    question: Question
    blocks: range


def ranks() -> int:
    """Return how many processes mpiexec or srun has started, 1 without them.

    The environment tells, since asking the library would start it: Open MPI, MPICH and Intel MPI,
    and Slurm's steps where it manages the ranks itself.
    """
    names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
    names += ["SLURM_STEP_NUM_TASKS"] if "PMIX_RANK" in os.environ else []
    return max(int(os.environ.get(name, "1")) for name in names)


class Mpi(RankEngine):
    """Oracles on the ranks of an MPI job: ``mpiexec -n 4 python script.py``.

    All ranks call `minimize`. Rank 0 evaluates f and takes the steps, and computes its share of the
    blocks like every other rank; the others serve it until it is done and then return the same
    result. Callbacks, progress and checkpoints are rank 0's alone.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        The ranks to use; all of them by default.

    Notes
    -----
    A round is one broadcast of v and one message back from every rank. Sums over blocks of data
    are added on the way, so that rank 0 receives log2(ranks) messages. Every rank gets the same
    number of blocks, however long they take. A rank that dies takes the whole job with it, as is
    usual with MPI: keep a checkpoint and start again with `resume`.
    """

    def __init__(self, comm: Comm | None = None) -> None:
        self._comm = _world().Dup() if comm is None else comm.Dup()
        self._rank, self._size = self._comm.Get_rank(), self._comm.Get_size()
        hosts = self._comm.allgather(socket.gethostname())
        self._names = [f"rank {rank} on {host}" for rank, host in enumerate(hosts)]
        self._worker: BlockWorker | None = None
        self._stats = Stats(self._size)
        self._stuck = False
        self.name = f"mpi:{self._size}"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "Mpi cannot be copied or pickled, because its ranks live in this job: make a new "
            "engine where it is used"
        )

    @property
    def follows(self) -> bool:
        """Whether this rank serves rank 0 instead of driving."""
        return self._rank != 0

    def agreed(self, fine: bool) -> bool:
        """Return on every rank what rank 0 says."""
        return self._comm.bcast(fine)

    def open(self, job: Job) -> None:
        """Ship rank 0's job to every rank."""
        blob = serialize(job)
        self._comm.bcast(blob)
        self._worker = BlockWorker(blob)

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        """Return the contributions of the blocks, each rank's share computed by it."""
        if need is not None:
            raise CapabilityError("engine='mpi' waits for every block: stragglers='wait' only")
        assert self._worker is not None
        self._stats = Stats(self._size)
        began = time.perf_counter()
        self._ask(question, blocks)
        asked = time.perf_counter()
        with counted(Counts()):  # The other ranks wait for this one: no limit may end its share.
            replies = {0: self._worker.work(0, question, self._share(blocks, 0))}
        if question.task is not None:
            return self._sums(question, blocks, replies[0], (began, asked))
        received = self._collect(replies, min(self._size, len(blocks)), question, timeout)
        done: dict[int, Partial] = {}
        spans = []
        for rank, reply in sorted(replies.items()):
            share = self._share(blocks, rank)
            done.update(zip(share, reply.contributions(self._names[rank]), strict=True))
            end = asked + reply.busy
            spans.append(Span(question.k, self._names[rank], share[0], share[-1], asked, end))
        seconds = max(time.perf_counter() - began, 1e-9)
        busy = sum(reply.busy for reply in replies.values()) / (self._size * seconds)
        self._stats = Stats(
            self._size,
            bytes_out=(self._size - 1) * nbytes(question),
            bytes_in=received,
            busy=min(1.0, busy),
            spans=tuple(spans),
        )
        return done

    def _sums(
        self, question: Question, blocks: range, reply: Reply, times: tuple[float, float]
    ) -> dict[int, Partial]:
        """Return what all ranks contribute to a question about blocks of data."""
        began, asked = times
        found = Gathered.of(0, self._share(blocks, 0), reply)
        found, received = gather(self._comm, found, question, len(blocks), _REPLY)
        for rank, failure in sorted(found.failures.items()):
            Reply(0, None, failure).contributions(self._names[rank])
        spans = []
        for rank, busy in sorted(found.busy.items()):
            share = self._share(blocks, rank)
            if share:
                name = self._names[rank]
                spans.append(Span(question.k, name, share[0], share[-1], asked, asked + busy))
        seconds = max(time.perf_counter() - began, 1e-9)
        self._stats = Stats(
            self._size,
            bytes_out=(self._size - 1) * nbytes(question),
            bytes_in=received,
            busy=min(1.0, sum(found.busy.values()) / (self._size * seconds)),
            spans=tuple(spans),
        )
        return found.contributions(blocks)

    def _ask(self, question: Question, blocks: range) -> None:
        """Broadcast a question, its points as raw memory."""
        question = on_points(question, np.ascontiguousarray)
        kinds = on_points(question, lambda array: (array.shape, array.dtype))
        self._comm.bcast(RoundMessage(kinds, blocks))
        self._comm.Bcast(question.v, root=0)
        if question.also is not None:
            self._comm.Bcast(question.also, root=0)

    def _collect(
        self, replies: dict[int, Reply], shares: int, question: Question, timeout: float | None
    ) -> int:
        """Receive one reply from every rank that has a share; return their bytes."""
        assert self._worker is not None
        received, job = 0, self._worker.job
        share = job.length(question.m) * -(-job.blocks(question.m) // self._size)
        deadline = np.inf if timeout is None else time.perf_counter() + timeout * share
        while len(replies) < shares:
            if timeout is not None and not self._comm.iprobe(tag=_REPLY):
                if time.perf_counter() > deadline:
                    self._stuck = True
                    raise EngineFailure(
                        f"a rank has not answered round {question.k} within oracle_timeout"
                    )
                time.sleep(1e-4)
                continue
            rank, data = self._comm.recv(tag=_REPLY)
            replies[rank] = pickle.loads(data)
            received += len(data)
        return received

    def stats(self) -> Stats:
        return self._stats

    def conclude(self, result: object) -> None:
        """Give rank 0's result to the other ranks, which return it from `follow`."""
        if self._worker is not None and not self._stuck:
            self._comm.bcast(result)
            self._worker = None

    def close(self) -> None:
        """End the other ranks; they raise an error if they were not given a result."""
        if self._stuck:
            # Ranks that hang would keep mpiexec waiting for ever. The program may finish first.
            atexit.register(self._comm.Abort, 1)
        else:
            self.conclude(None)
        self._worker = None

    def follow(self) -> Any:
        """Serve rank 0 until it has a result, and return that result."""
        interruptible = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if interruptible else None
        try:
            return self._serve()
        finally:
            if interruptible:
                signal.signal(signal.SIGINT, before)

    def _serve(self) -> Any:
        worker: BlockWorker | None = None
        while True:
            message = self._comm.bcast(None)
            if message is None:
                raise EngineFailure("rank 0 ended with an error, which it reports itself")
            if isinstance(message, bytes):
                worker = BlockWorker(message)
            elif not isinstance(message, RoundMessage):
                return message
            else:
                assert worker is not None
                question = on_points(message.question, self._received)
                share = self._share(message.blocks, self._rank)
                if question.task is not None:
                    reply = worker.work(0, question, share) if share else Reply(0, [])
                    found = Gathered.of(self._rank, share, reply)
                    gather(self._comm, found, question, len(message.blocks), _REPLY)
                elif share:
                    reply = worker.work(0, question, share)
                    self._comm.send((self._rank, pickle.dumps(reply)), dest=0, tag=_REPLY)

    def _received(self, kind: Kind) -> np.ndarray:
        """Take part in the broadcast of an array."""
        shape, dtype = kind
        array = np.empty(shape, dtype)
        self._comm.Bcast(array, root=0)
        return array

    def _share(self, blocks: range, rank: int) -> range:
        """Return the blocks of a rank; the first ranks have one more if they do not divide."""
        each, more = divmod(len(blocks), self._size)
        first = rank * each + min(rank, more)
        return blocks[first : first + each + (rank < more)]


def _world() -> Comm:
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):  # RuntimeError: mpi4py without an MPI library
        raise missing("mpi4py and an MPI library", "mpi") from None
    return MPI.COMM_WORLD
