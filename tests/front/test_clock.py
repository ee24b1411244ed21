"""The time of a call holds for many problems, workers, whole sources and long programs."""

from __future__ import annotations

import itertools
import math
import queue
import threading
import time
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.engines import Processes
from wolfpack.engines._starting import started
from wolfpack.front.instances import InstanceJob
from wolfpack.problem import Counts, LimitReached, counted, time_left
from wolfpack.sets import _highs
from wolfpack.smoothing.job import Question

D = 4


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def late() -> Any:
    """Return the context of a run whose time is over."""
    counts = Counts()
    counts.allow(-math.inf, math.inf)
    return counted(counts)


def within(seconds: float) -> Any:
    counts = Counts()
    counts.allow(time.perf_counter() + seconds, math.inf)
    return counted(counts)


def slow(clock: Clock, seconds: float) -> Any:
    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        clock.now += seconds
        excess = x - 0.3
        return float((np.cosh(excess) - 1.0).sum()), np.sinh(excess)

    return f


def test_the_time_that_is_left(clock):
    assert time_left() == math.inf
    with within(3.0):
        assert time_left() == 3.0
        clock.now += 5.0
        assert time_left() == 0.0


# many problems


@pytest.mark.parametrize("engine", ["local", "threads:1"])
def test_an_engine_shares_the_time_among_all_problems(clock, engine):
    began = clock.now
    res = wp.minimize_many(
        [slow(clock, 1.0)] * 30,
        wp.sets.Simplex(D),
        method="fw",
        tol=0.0,
        max_seconds=20.0,
        engine=engine,
    )
    assert clock.now - began <= 22.0  # 30 times as long when each problem had all of it
    assert res.seconds == clock.now - began
    begun = np.isfinite(res.fun)
    assert begun[0]
    assert not begun[-1]
    assert set(res.status[~begun]) == {wp.Status.MAX_SECONDS}
    assert (res.gap[~begun] == math.inf).all()


def test_a_worker_counts_from_its_first_problem(clock):
    job = InstanceJob([slow(clock, 1.0)] * 9, wp.sets.Simplex(D), None, {"max_rounds": 2})
    first = job.compute(Question(0, np.array([200.0]), 0.0, 9), range(2))
    clock.now += 200.0
    (late,) = job.compute(Question(0, np.array([200.0]), 0.0, 9), range(2, 3))
    (again,) = job.compute(Question(1, np.array([200.0]), 0.0, 9), range(3, 4))
    assert [part.mean.x is None for part in (*first, late, again)] == [False, False, True, False]


def test_without_a_limit_every_problem_is_solved_on_an_engine():
    f = [wp.objectives.Quadratic(1.0, -c) for c in np.eye(D)]
    res = wp.minimize_many(f, wp.sets.Simplex(D), method="away", engine="threads:2")
    assert res.success.all()


def test_a_start_is_asked_for_once_for_all_problems_that_were_not_begun(clock):
    calls = itertools.count()

    def lmo(g: np.ndarray) -> np.ndarray:
        next(calls)
        clock.now += 1.0
        return np.eye(D)[int(g.argmin())]

    K = wp.sets.Oracle(lmo, (D,), radius=1.0)
    f = [wp.objectives.Quadratic(1.0, -c) for c in np.tile(np.eye(D), (5, 1))]
    res = wp.minimize_many(f, K, method="fw", tol=0.0, max_seconds=5.0)
    assert int(np.isnan(res.fun).sum()) > 10
    assert next(calls) <= 9


@pytest.mark.parametrize("seconds", [1.5, 4.5, 6.5])
def test_checks_of_a_batch_end_with_the_time(clock, seconds):
    def f(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        clock.now += 1.0
        return 0.5 * (X**2).sum(axis=1), X

    began = clock.now
    res = wp.minimize_many(
        f, wp.sets.Simplex(D), np.full((3, D), 1.0 / D), tol=0.0, max_seconds=seconds
    )
    assert clock.now - began <= seconds + 2.0  # checks alone took 14 of these calls
    assert "before the last check of f" in res.message


# engines that start


def test_a_start_that_takes_too_long_is_undone_later():
    running, go, undone = threading.Event(), threading.Event(), queue.SimpleQueue()

    def start() -> str:
        running.set()
        go.wait(30.0)
        return "cluster"

    with within(0.05), pytest.raises(LimitReached):
        started(lambda: None, start, undone.put)
    assert running.is_set()
    assert undone.empty()
    go.set()
    assert undone.get(timeout=30.0) == "cluster"
    assert started(lambda: None, lambda: "next", undone.put) == "next"


def test_nothing_is_started_when_imports_have_taken_all_the_time():
    loading, go, tried = threading.Event(), threading.Event(), []

    def load() -> None:
        loading.set()
        go.wait(30.0)

    with within(0.05), pytest.raises(LimitReached):
        started(load, lambda: tried.append(1), tried.append)
    go.set()
    assert started(lambda: None, lambda: 3, tried.append) == 3  # waits for the thread before it
    assert tried == []


def test_what_a_start_raises_is_raised_here():
    def start() -> None:
        raise OSError("no room")

    for context in (within(30.0), counted(None)):
        with context, pytest.raises(OSError, match="no room"):
            started(lambda: None, start, lambda made: None)
    assert started(lambda: None, lambda: 5, lambda made: None) == 5


def test_a_run_whose_engine_was_not_ready_in_time_has_a_result(monkeypatch):
    def open_late(self: Processes, job: Any) -> None:
        raise LimitReached("max_seconds")

    monkeypatch.setattr(Processes, "open", open_late)
    f = wp.objectives.Quadratic(1.0, -np.ones(D))
    for options in ({"method": "anytime", "m": 4}, {"method": "corrective", "m": 4}):
        res = wp.minimize(
            f, wp.sets.Simplex(D), engine="processes:2", max_seconds=0.0, tol=0.0, **options
        )
        assert res.status == "max_seconds"
        assert res.nit == 0
        assert math.isfinite(res.fun)


@pytest.mark.slow
def test_processes_give_up_when_the_time_is_over():
    f, K = wp.objectives.Quadratic(1.0, -np.arange(float(D))), wp.sets.Simplex(D)
    engine = Processes(1)
    try:
        res = wp.minimize(f, K, method="anytime", m=4, engine=engine, max_seconds=0.0)
        assert (res.status, engine.stats().workers) == ("max_seconds", 0)
        res = wp.minimize(f, K, method="anytime", m=4, engine=engine, max_rounds=2, tol=0)
        assert res.nit == 2
    finally:
        engine.close()


# oracles and sources


def test_highs_is_told_how_much_time_is_left(monkeypatch):
    K = wp.sets.MixedInteger(np.ones((1, 3)), [1.5], bounds=[(0, 1)] * 3, time_limit=50.0)
    told = []

    def run(model: Any) -> None:
        told.append(model.getOptionValue("time_limit")[1])
        type(model).run(model)

    class Seen(_highs._Solver):
        def _run(self, model: Any, branches: bool = False) -> None:
            class Model:
                run = staticmethod(lambda: run(model))
                getRunTime = model.getRunTime
                setOptionValue = model.setOptionValue

            super()._run(Model, branches)

    monkeypatch.setattr(_highs, "_Solver", Seen)
    K._program._idle.clear()
    g = -np.arange(1.0, 4.0)
    with within(20.0):
        found = K.lmo(g).to_dense()
    K.lmo(g)
    with within(1e6):
        K.lmo(g)
    assert np.array_equal(found, [0.0, 0.0, 1.0])
    assert 0.0 < told[0] <= 20.0
    assert told[-2:] == [50.0, 50.0]
    with late(), pytest.raises(LimitReached):
        K.lmo(g)


def test_linear_programs_look_at_the_time():
    K = wp.sets.LinearProgram(A_ub=np.ones((1, 3)), b_ub=[2.0], bounds=[(0, 1)] * 3)
    g = np.array([1.0, -2.0, 0.5])
    alone = K.lmo(g).to_dense()
    with late(), pytest.raises(LimitReached):
        K.lmo(g)
    with within(100.0):
        assert np.array_equal(K.lmo(g).to_dense(), alone)
    assert np.array_equal(K.lmo(g).to_dense(), alone)


def test_threads_that_help_with_a_batch_see_the_time():
    from wolfpack.sets._batch import map_batch

    with within(1e3):
        left = map_batch(lambda item: time_left(), np.zeros((64, 1)), threads=True)
    assert max(left) <= 1e3


def test_blocks_of_a_batched_oracle_are_cut_and_counted(clock):
    n = 1500

    class Ball(wp.sets.L2Ball):
        def _lmo(self, g: np.ndarray) -> Any:
            clock.now += 1.0
            return super()._lmo(g)

    began, K = clock.now, Ball(n)
    f = wp.objectives.Quadratic(1.0, -np.ones(n))
    res = wp.minimize(f, K, method="anytime", m=4096, noise="gaussian", max_seconds=5.5)
    assert res.status == "max_seconds"
    assert clock.now - began <= 7.5
    assert res.nlmo < 4096


def test_an_endless_source_is_no_hang(clock):
    A, b = np.eye(3), np.ones(3)

    def source() -> Any:
        while True:
            clock.now += 1.0
            yield A, b

    G = wp.objectives.Batches("huber", source, beta=1.0)
    H = wp.regularizers.SquaredNorm(1.0)
    with pytest.raises(ValueError, match="source must end, or max_seconds be larger: after 9 mini"):
        wp.minimize_composite(G, H, max_seconds=9.0)
    G = wp.objectives.Batches("huber", source, beta=1.0, evaluate=False)
    res = wp.minimize_composite(G, H, max_seconds=50.0)
    assert res.status == "max_seconds"


def test_a_late_composite_run_ends_without_a_proximal_step_that_is_dear(clock):
    began = clock.now
    res = wp.minimize_composite(
        slow(clock, 1.0), wp.regularizers.ElasticNet(0.1, 0.5), np.zeros(D), tol=0, max_seconds=5.5
    )
    assert res.status == "max_seconds"
    assert clock.now - began <= 7.5


def test_newton_steps_need_pieces():
    G = wp.objectives.Quadratic(1.0, -np.ones(3))
    H = wp.regularizers.IndicatorRidge(wp.sets.Simplex(3), 0.5)
    with pytest.raises(wp.CapabilityError, match="method 'newton' needs an H that is a sum over"):
        wp.minimize_composite(G, H, method="newton")
