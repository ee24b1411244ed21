"""Run the series of the figures in worker processes.

Runs are independent, so they are handed to a pool, the longest first. Workers write their progress
into shared memory, and the parent shows it. They use one BLAS thread each, leave Ctrl-C to the
parent, and end when the parent asks or has died.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import SpawnContext

import numpy as np
from threadpoolctl import threadpool_limits

from .. import theory
from ..engines._choose import cores
from ..engines._interrupts import interrupts_held
from ..front.minimize import minimize
from ..loop import Result
from .instances import instance
from .series import MILESTONES, Curve, Run

COLUMNS = ("round", "gap", "fun", "lower_bound", "alpha", "m", "nlmo", "seconds")
POINTS = 500
REFRESH = 0.1
# Seconds per round and per perturbed oracle, for the order of the runs and the time left; only
# their ratios matter.
COST = {"simplex": (75e-6, 5e-8), "trace": (300e-6, 4e-6), "projection": (400e-6, 5e-8)}

_board: Board | None = None


@dataclass(frozen=True)
class Record:
    """A run's history at log-spaced rounds, why it ended, and its solver time.

    ``columns`` holds `COLUMNS` of the history. Its ``gap`` is the best so far over all rounds, also
    over those that were left out.
    """

    columns: dict[str, np.ndarray]
    status: str
    seconds: float


@dataclass(frozen=True)
class RunsProgress:
    """How far all runs together are: share of the work done, runs finished, runs in all."""

    fraction: float
    finished: int
    total: int


class Board:
    """Rounds and oracle calls of every run, in memory that parent and workers share."""

    def __init__(self, context: SpawnContext, runs: int) -> None:
        self.stop = context.RawValue(ctypes.c_bool, False)
        self._cells = context.RawArray(ctypes.c_double, 2 * runs)

    def write(self, slot: int, rounds: int, calls: int) -> None:
        """Note where run ``slot`` is."""
        self._cells[2 * slot : 2 * slot + 2] = (rounds, calls)

    def read(self, slot: int) -> tuple[float, float]:
        """Return rounds and oracle calls of run ``slot``."""
        rounds, calls = self._cells[2 * slot : 2 * slot + 2]
        return rounds, calls


def kept_rounds(n: int, points: int = POINTS) -> np.ndarray:
    """Return about ``points`` log-spaced rounds from 1 to ``n``, milestones among them."""
    spaced = np.geomspace(1, n, points).round()
    return np.union1d(spaced, [k for k in MILESTONES if k <= n]).astype(np.int64)


def solve(run: Run, rounds: int, callback: Callable[[Result], None] | None = None) -> Record:
    """Do one run, in this process."""
    on = instance(run.problem)
    result = minimize(
        on.f,
        on.K,
        on.x0,
        method=run.method,
        tol=0.0,
        max_rounds=run.length(rounds),
        L=None if run.L == "estimated" else run.smoothness(on),
        callback=callback,
        progress=False,
        **dict(run.options),
    )
    # every round is recorded, so a round is its own index
    keep = kept_rounds(result.nit) if result.nit else np.array([], dtype=np.int64)
    columns = {name: result.history[name][keep] for name in COLUMNS}
    return Record(columns, str(result.status), result.seconds)


def bound(curve: Curve, rounds: np.ndarray) -> np.ndarray:
    """Return the curve's bound on the mean gap (Theorem 2) at these rounds.

    The sharp bound is for the same run, so it has the run's own M; it differs by the variance
    (R^2/m, not 4 R^2/m) and by the weights A_k themselves in place of an exponential below them.
    "lower" is what every method exceeds that mixes so many answers (Theorem B2).
    """
    run = curve.run
    on = instance(run.problem)
    if curve.bound == "lower":
        return theory.lower_bound(rounds, target=on.target)
    alpha, m = run.option("alpha"), run.option("m")
    return theory.bound_pfw(
        rounds,
        L=run.smoothness(on),
        R=on.K.radius,
        M=theory.smoothness(on.K, on.noise, 1.0, "paper") / on.K.radius,
        alpha=alpha,
        m=run.oracle_calls(1) if m == "theory" else m,
        initial_gap=on.initial_gap,
        s1=theory.s1(on.K, on.noise).value,
        constants=curve.bound or "paper",
        exact_weights=curve.bound == "sharp",
    )


def execute(
    runs: Sequence[Run],
    rounds: int,
    workers: int | None = None,
    watch: Callable[[RunsProgress], None] | None = None,
) -> dict[Run, Record]:
    """Do all runs, of ``rounds`` rounds each, in ``workers`` processes.

    By default there is one process for each available core. ``watch`` is called several times a
    second. A KeyboardInterrupt is raised after the workers have ended.
    """
    runs = sorted(runs, key=lambda run: -_work(run, rounds))
    works = [_work(run, rounds) for run in runs]
    context = multiprocessing.get_context("spawn")
    board = Board(context, len(runs))
    processes = min(workers or cores(), len(runs))
    with ProcessPoolExecutor(processes, context, _begin, (board,)) as pool:
        try:
            with interrupts_held():
                futures = [pool.submit(_do, run, rounds, slot) for slot, run in enumerate(runs)]
            _follow(futures, runs, works, board, watch)
        except BaseException:
            board.stop.value = True
            pool.shutdown(cancel_futures=True)
            raise
    return {run: future.result() for run, future in zip(runs, futures, strict=True)}


def _work(run: Run, rounds: int) -> float:
    """Expected seconds of a run; its certificates are one more oracle call a round."""
    rounds = run.length(rounds)
    return _seconds(run, rounds, run.oracle_calls(rounds) + rounds)


def _seconds(run: Run, rounds: float, calls: float) -> float:
    per_round, per_call = COST[run.problem.split("-")[0]]
    return per_round * rounds + per_call * calls


def _follow(
    futures: Sequence[Future[Record]],
    runs: Sequence[Run],
    works: Sequence[float],
    board: Board,
    watch: Callable[[RunsProgress], None] | None,
) -> None:
    """Wait for all runs, telling ``watch`` where they are; raise what a run raised."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=REFRESH, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        if watch is None:
            continue
        parts = [
            work if future.done() else min(work, _seconds(run, *board.read(slot)))
            for slot, (future, run, work) in enumerate(zip(futures, runs, works, strict=True))
        ]
        watch(RunsProgress(sum(parts) / sum(works), len(futures) - len(pending), len(futures)))


def _begin(board: Board) -> None:
    """Prepare a worker process."""
    global _board
    _board = board
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(run: Run, rounds: int, slot: int) -> Record:
    """Do one run in a worker."""
    board = _board
    assert board is not None, "the worker has been prepared"
    due = 0.0

    def note(so_far: Result) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + REFRESH
            board.write(slot, so_far.nit, so_far.nlmo)
            if board.stop.value:
                raise StopIteration

    return solve(run, rounds, note)
