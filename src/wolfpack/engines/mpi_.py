"""MPI: every rank runs the same program; rank 0 drives, all of them compute."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import threading
import time
from typing import Any

import numpy as np

from ..problem import CapabilityError
from ..smoothing.job import Job, Partial, Question
from ._protocol import (
    EngineFailure,
    OracleError,
    Span,
    Stats,
    arrays_of,
    missing,
    nbytes,
    serialize,
    with_arrays,
    without_arrays,
)
from ._worker import Bench, Reply

_REPLY = 7
"""Tag of the messages with contributions."""


def ranks() -> int:
    """Return how many processes mpiexec or srun has started, 1 without them.

    As the environment tells, since asking the library would start it: Open MPI, MPICH and Intel
    MPI, and Slurm's steps where it manages the ranks itself.
    """
    names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
    names += ["SLURM_STEP_NUM_TASKS"] if "PMIX_RANK" in os.environ else []
    return max(int(os.environ.get(name, "1")) for name in names)


class Mpi:
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
    A round is one broadcast of v and one message back from every rank; blocks are dealt out evenly,
    without regard to how long they take. A rank that dies takes the whole job with it, as is usual
    with MPI: keep a checkpoint and start again with `resume`.
    """

    def __init__(self, comm: Any = None) -> None:
        if comm is None:
            try:
                from mpi4py import MPI
            except (ImportError, RuntimeError):  # RuntimeError: mpi4py without an MPI library
                raise missing("mpi4py and an MPI library", "mpi") from None
            comm = MPI.COMM_WORLD
        self._comm = comm.Dup()
        self._rank, self._size = comm.Get_rank(), comm.Get_size()
        self._bench: Bench | None = None
        self._stats = Stats(self._size)
        self._stuck = False
        self.name = f"mpi:{self._size}"

    @property
    def follows(self) -> bool:
        """Whether this rank serves another one instead of driving."""
        return self._rank != 0

    def agreed(self, fine: bool) -> bool:
        """Return on every rank what rank 0 says."""
        return self._comm.bcast(fine)

    def open(self, job: Job) -> None:
        """Ship rank 0's job to every rank."""
        blob = serialize(job)
        self._comm.bcast(("job", blob))
        self._bench = Bench(blob)

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
        assert self._bench is not None
        self._stats = Stats(self._size)
        began = time.perf_counter()
        shares = min(self._size, len(blocks))
        arrays = [None if a is None else np.ascontiguousarray(a) for a in arrays_of(question)]
        kinds = [None if array is None else (array.shape, array.dtype) for array in arrays]
        self._comm.bcast(("round", without_arrays(question), kinds, blocks))
        for array in arrays:
            if array is not None:
                self._comm.Bcast(array, root=0)
        here = time.perf_counter()
        replies = {0: self._bench.work(0, question, _share(blocks, 0, self._size))}
        received = self._collect(replies, shares, question, timeout)
        done: dict[int, Partial] = {}
        for rank, reply in sorted(replies.items()):
            if reply.error is not None:
                cause, text = reply.error
                raise OracleError(text) from cause
            assert reply.partials is not None
            done.update(zip(_share(blocks, rank, self._size), reply.partials, strict=True))
        seconds = max(time.perf_counter() - began, 1e-9)
        busy = sum(reply.busy for reply in replies.values()) / (self._size * seconds)
        sent = (self._size - 1) * nbytes(question)
        spans = []
        for rank, reply in replies.items():
            share = _share(blocks, rank, self._size)
            span = Span(question.k, f"rank {rank}", share[0], share[-1], here, here + reply.busy)
            spans.append(span)
        self._stats = Stats(self._size, 0, 0, 0, sent, received, min(1.0, busy), tuple(spans))
        return done

    def _collect(
        self, replies: dict[int, Reply], shares: int, question: Question, timeout: float | None
    ) -> int:
        """Receive one reply from every rank that has a share; return their bytes."""
        assert self._bench is not None
        received, job = 0, self._bench.job
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

    def late(self) -> list[tuple[int, int, Partial]]:
        """Return nothing: every round is complete."""
        return []

    def stats(self) -> Stats:
        """Return what the last round cost."""
        return self._stats

    def conclude(self, result: Any) -> None:
        """Give rank 0's result to the others, which are done then."""
        if self._bench is not None and not self._stuck:
            self._comm.bcast(("end", result))
            self._bench = None

    def close(self) -> None:
        """End the others, which raise if they were not given a result."""
        if self._stuck:
            # ranks that hang would keep mpiexec waiting for ever; let the program finish first
            atexit.register(self._comm.Abort, 1)
        else:
            self.conclude(None)
        self._bench = None

    def follow(self) -> Any:
        """Serve rank 0 until it has a result, and return that."""
        interruptible = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN) if interruptible else None
        try:
            return self._serve()
        finally:
            if interruptible:
                signal.signal(signal.SIGINT, before)

    def _serve(self) -> Any:
        bench: Bench | None = None
        while True:
            kind, *content = self._comm.bcast(None)
            if kind == "job":
                bench = Bench(content[0])
            elif kind == "end":
                if content[0] is None:
                    raise EngineFailure("rank 0 ended with an error, which it reports itself")
                return content[0]
            else:
                assert bench is not None
                question, kinds, blocks = content
                v, also = map(self._received, kinds)
                mine = _share(blocks, self._rank, self._size)
                if mine:
                    reply = bench.work(0, with_arrays(question, (v, also)), mine)
                    self._comm.send((self._rank, pickle.dumps(reply)), dest=0, tag=_REPLY)

    def _received(self, kind: tuple[Any, Any] | None) -> Any:
        """Take part in the broadcast of an array."""
        if kind is None:
            return None
        array = np.empty(*kind)
        self._comm.Bcast(array, root=0)
        return array


def _share(blocks: range, rank: int, size: int) -> range:
    """Return the blocks of a rank; the first ranks have one more where they do not divide."""
    each, more = divmod(len(blocks), size)
    first = rank * each + min(rank, more)
    return blocks[first : first + each + (rank < more)]
