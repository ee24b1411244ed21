"""Limits that hold: the user's clock, and every call of the oracle and of f."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front.methods import METHODS, PARTICULAR
from wolfpack.loop import Limits
from wolfpack.problem import Counts, LimitReached, affordable, counted, spend, tick

D = 6
GOAL = np.linspace(-0.2, 0.9, D)
SAMPLED = {"anytime": {"m": 3}, "pfw": {"m": 3, "alpha": 0.1}, "r-pfw": {"m": 3}}
OPTIONS: dict[str, dict[str, Any]] = {name: {} for name in METHODS} | SAMPLED
INSIDE = ("projected", *PARTICULAR)  # methods that need more of K than its oracle
CASES = {
    **{name: (name, options) for name, options in OPTIONS.items() if name not in INSIDE},
    "pfw by accuracy": ("pfw", {"m": 3, "epsilon": 0.05}),
    "r-pfw by certificate": ("r-pfw", {"m": 3, "restart": "certificate"}),
    "corrective m=4": ("corrective", {"m": 4}),
    "lazy bpcg": ("bpcg", {"lazy": True}),
    "anytime auto": ("anytime", {"m": "auto"}),
    "anytime without noise": ("anytime", {"noise": None}),
    "heavy ball": ("momentum", {"kind": "heavy-ball"}),
    **{
        f"{name} {rule}": (name, {"rule": rule})
        for name in ("away", "lazy", "conjugate")
        for rule in ("short-step", "backtracking", "secant")
    },
}


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


class Counted:
    """A quadratic and the oracle of a simplex, which count their calls and take time."""

    def __init__(self, clock: Clock | None = None, f: float = 0.0, lmo: float = 0.0) -> None:
        self.clock, self.slow_f, self.slow_lmo = clock, f, lmo
        self.evaluations = self.answers = 0

    def f(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        self._wait(self.slow_f)
        # not a quadratic: line searches have to look
        excess = x - GOAL
        return float((np.cosh(excess) - 1.0).sum()), np.sinh(excess)

    def lmo(self, g: np.ndarray) -> np.ndarray:
        self.answers += 1
        self._wait(self.slow_lmo)
        return np.eye(D)[int(g.argmin())]

    def _wait(self, seconds: float) -> None:
        if self.clock is not None:
            self.clock.now += seconds

    @property
    def K(self) -> wp.sets.Oracle:
        return wp.sets.Oracle(self.lmo, shape=D, radius=1.0, contains=lambda x: True)

    def minimize(self, case: str, x0: Any = None, **limits: Any) -> wp.Result:
        method, options = CASES[case]
        settings: dict[str, Any] = {"tol": 0.0, "L": 2.0, "progress": False} | options | limits
        x0 = np.full(D, 1.0 / D) if x0 is None else x0
        return wp.minimize(self.f, self.K, x0, method=method, **settings)


@pytest.mark.parametrize("case", CASES)
def test_every_call_is_counted(case):
    counted_ = Counted()
    res = counted_.minimize(case, max_rounds=40)
    assert res.nlmo == counted_.answers
    assert res.nfev == res.njev == counted_.evaluations
    assert res.history["nlmo"][-1] == res.nlmo


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [0, 2, 30])
def test_max_lmo_is_never_exceeded(case, most):
    counted_ = Counted()
    res = counted_.minimize(case, max_lmo=most, max_rounds=200)
    assert res.nlmo == counted_.answers <= most
    assert res.status in ("max_lmo", "stalled", "max_rounds", "converged")
    assert counted_.K.radius >= np.linalg.norm(res.x)
    assert res.fun == counted_.f(res.x)[0]
    if most >= 30:
        assert res.gap < math.inf


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("slow", ["f", "lmo"])
@pytest.mark.parametrize("seconds", [0.5, 7.5])
def test_max_seconds_holds_within_one_call(case, slow, seconds, clock):
    began = clock.now
    counted_ = Counted(clock, **{slow: 1.0})
    res = counted_.minimize(case, max_seconds=seconds, max_rounds=200)
    assert clock.now - began <= seconds + 1.0
    assert res.seconds == clock.now - began
    if res.status == "max_seconds":
        assert res.seconds >= seconds
    else:
        assert res.status in ("stalled", "max_rounds")
    assert res.history["seconds"][-1] <= res.seconds


def test_projected_holds_max_seconds(clock):
    began, counted_ = clock.now, Counted(clock, f=1.0)
    res = wp.minimize(counted_.f, wp.sets.Simplex(D), method="projected", tol=0, max_seconds=7.5)
    assert clock.now - began <= 8.5
    assert res.status == "max_seconds"
    assert res.nfev == counted_.evaluations


def test_a_batch_is_cut_by_the_clock(clock):
    began, counted_ = clock.now, Counted(clock, lmo=1.0)
    res = counted_.minimize("anytime", m=1000, max_seconds=20.0)
    assert clock.now - began <= 21.0
    assert res.status == "max_seconds"
    assert res.nit == 0
    assert res.gap < math.inf
    assert res.nlmo == counted_.answers <= 22


@pytest.mark.parametrize("engine", [None, wp.engines.Local()], ids=["none", "local"])
def test_calls_of_a_batch_that_is_cut_are_counted_as_made(clock, engine):
    counted_ = Counted(clock, lmo=1.0)
    res = counted_.minimize("anytime", m=8, max_seconds=20.0, engine=engine)
    assert res.status == "max_seconds"
    assert res.nlmo == counted_.answers


def test_threads_count_the_calls_they_were_given():
    lock, answers = threading.Lock(), [0]

    def slow(g: np.ndarray) -> np.ndarray:
        with lock:
            answers[0] += 1
        time.sleep(0.002)
        return np.eye(D)[int(g.argmin())]

    K = wp.sets.Oracle(slow, shape=D, radius=1.0, contains=lambda x: True)
    f = wp.objectives.Quadratic(1.0, -GOAL)
    engine, settings = wp.engines.Threads(2), {"L": 1.0, "tol": 0.0, "checks": False}
    res = wp.minimize(f, K, method="anytime", m=500, engine=engine, max_seconds=0.3, **settings)
    deadline = time.monotonic() + 20.0
    while answers[0] < res.nlmo and time.monotonic() < deadline:
        time.sleep(0.01)  # threads finish what they were given
    time.sleep(0.1)
    engine.close()
    assert res.status == "max_seconds"
    assert 0 < res.nlmo < 500
    assert res.nlmo == answers[0]


def test_all_that_happens_after_the_call_is_on_the_clock(clock):
    counted_ = Counted()

    def think(intermediate_result: wp.Result) -> None:
        clock.now += 3.0

    began = clock.now
    res = counted_.minimize("fw", max_seconds=10.0, callback=think)
    assert res.status == "max_seconds"
    assert res.nit == 3
    assert res.seconds == clock.now - began == 12.0
    assert res.solver_seconds == 0.0
    assert res.history["seconds"].tolist() == [0.0, 3.0, 6.0, 9.0]


def test_the_solver_has_its_own_share(clock):
    counted_ = Counted(clock, f=0.5, lmo=0.25)
    options: dict[str, Any] = {"callback": lambda now: counted_._wait(1.0), "checks": False}
    res = counted_.minimize("fw", max_rounds=4, **options)
    assert res.solver_seconds == 5 * 0.75
    assert res.seconds == 5 * 1.75
    assert res.to_dict()["solver_seconds"] == res.solver_seconds


def test_starting_an_engine_is_on_the_clock(clock):
    class Slow(wp.engines.Threads):
        def open(self, job: Any) -> None:
            clock.now += 5.0
            super().open(job)

    engine = Slow(1)
    res = Counted().minimize("anytime", max_seconds=4.0, engine=engine)
    engine.close()
    assert res.status == "max_seconds"
    assert res.nit == 0
    assert res.seconds >= 5.0


def test_a_round_on_an_engine_is_cut():
    def slow(g: np.ndarray) -> np.ndarray:
        time.sleep(0.02)
        return np.eye(D)[int(g.argmin())]

    K = wp.sets.Oracle(slow, shape=D, radius=1.0)
    f = wp.objectives.Quadratic(1.0, -GOAL)
    res = wp.minimize(f, K, method="anytime", m=10_000, L=1.0, engine="threads:2", max_seconds=0.2)
    assert res.status == "max_seconds"
    assert res.nit == 0


def test_preparation_is_on_the_clock_and_counted(clock):
    counted_ = Counted(clock, lmo=1.0)
    K = wp.sets.Oracle(counted_.lmo, shape=D, radius=1.0)
    # K.start() asks the oracle
    res = wp.minimize(counted_.f, K, method="fw", tol=0, max_rounds=3, checks=False)
    assert res.nlmo == counted_.answers == 5
    assert res.seconds == 5.0
    counted_.answers = 0
    res = wp.minimize(counted_.f, K, np.full(D, 1 / D), method="fw", tol=0, max_rounds=3)
    assert res.nlmo == counted_.answers > 5  # without contains=, only the oracle can judge x0


def test_judging_x0_takes_a_tenth_of_the_calls():
    counted_ = Counted()
    K = wp.sets.Oracle(counted_.lmo, shape=D, radius=1.0)
    res = wp.minimize(counted_.f, K, np.full(D, 1 / D), method="fw-ls", tol=0, max_lmo=20)
    assert res.nlmo == counted_.answers == 20
    assert res.nit == 20 - 2 - 1


@pytest.mark.parametrize("smoothing", ["ambient", "image"])
def test_estimates_of_the_bias_are_oracle_calls(smoothing):
    answers = 0

    def batched(g: np.ndarray) -> np.ndarray:
        nonlocal answers
        answers += 1 if g.ndim == 1 else len(g)
        return np.eye(D)[g.argmin(axis=-1)]

    f = wp.objectives.LeastSquares(np.eye(D), GOAL)
    options: dict[str, Any] = {"method": "anytime", "m": 2, "tol": 0, "smoothing": smoothing}

    def run(**limits: Any) -> wp.Result:
        K = wp.sets.Oracle(batched, shape=D, radius=1.0, batched=True, contains=lambda x: True)
        return wp.minimize(f, K, np.full(D, 1 / D), **options, **limits)

    res = run(max_rounds=30)
    assert res.nlmo == answers > 256
    answers = 0
    res = run(max_lmo=50)
    assert res.nlmo == answers <= 50
    assert res.nit > 8


def test_a_second_run_counts_as_the_first():
    f, K = wp.objectives.Quadratic(1.0, -np.eye(3)), wp.sets.Birkhoff(3)
    runs = [wp.minimize(f, K, method="anytime", m=2, tol=0, max_rounds=20) for _ in range(2)]
    assert runs[0].nlmo == runs[1].nlmo


def test_both_clocks_go_on_after_resume(clock, tmp_path):
    counted_, path = Counted(clock, lmo=1.0), tmp_path / "run.ckpt"
    first = counted_.minimize("anytime", max_rounds=6, checkpoint=path, checks=False)
    spent, answers = first.seconds, counted_.answers
    clock.now += 100.0
    res = wp.resume(path, counted_.f, counted_.K, max_rounds=10**6, max_seconds=spent + 20.0)
    assert res.status == "max_seconds"
    assert spent + 20.0 <= res.seconds <= spent + 21.0
    assert first.solver_seconds < res.solver_seconds <= res.seconds
    assert counted_.answers - answers <= 22


def test_a_run_that_a_limit_cut_goes_on_to_the_same_bits(tmp_path):
    path = tmp_path / "run.ckpt"
    # With kappa="auto" the bias is estimated, from a tenth of the calls that are allowed.
    whole = Counted().minimize("anytime", max_rounds=30, kappa=1.0)
    cut = Counted().minimize("anytime", max_lmo=40, kappa=1.0, checkpoint=path)
    assert cut.status == "max_lmo"
    assert 0 < cut.nit < 30
    res = wp.resume(path, Counted().f, Counted().K, max_rounds=30, max_lmo=10**6)
    assert (res.x == whole.x).all()
    assert res.nlmo == whole.nlmo
    assert (res.history["lower_bound"] == whole.history["lower_bound"]).all()


def test_a_corrections_quadratic_programs_are_cut(monkeypatch):
    from wolfpack.solvers.parts import barycentric

    counts = Counts()
    counts.allow(time.perf_counter() - 1.0, math.inf)
    gram, w = np.eye(4), np.array([1.0, 0, 0, 0])
    with counted(counts), pytest.raises(LimitReached):
        barycentric.minimize_weights(gram, gram[0], w, 1e-9)


def test_without_a_run_nothing_is_counted():
    tick()
    spend(10**9)
    assert affordable(4096) == 4096
    counts = Counts()
    counts.allow(math.inf, 60)
    with counted(counts):
        assert affordable(4096) == 6
        spend(60)
        with pytest.raises(LimitReached, match="max_lmo"):
            spend(1)
        with counted(None):
            spend(1)
    assert counts.nlmo == 60


def test_a_run_inside_a_run_has_limits_of_its_own():
    inner_calls = []

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        inner = Counted().minimize("fw", max_rounds=5, checks=False)
        inner_calls.append(inner.nlmo)
        return 0.5 * float((x - GOAL) @ (x - GOAL)), x - GOAL

    res = wp.minimize(f, wp.sets.Simplex(D), method="fw", tol=0, max_lmo=4)
    assert res.nlmo == 4
    assert set(inner_calls) == {6}


def test_composite_limits(clock):
    calls = 0

    def G(y: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        clock.now += 1.0
        return 0.5 * float((y - GOAL) @ (y - GOAL)), y - GOAL

    H = wp.regularizers.SquaredNorm(0.1)
    began = clock.now
    res = wp.minimize_composite(G, H, np.zeros(D), beta=1.0, tol=0, max_seconds=9.5)
    assert clock.now - began <= 10.5
    assert res.status == "max_seconds"
    assert res.nfev + res.njev == calls
    calls = 0
    res = wp.minimize_composite(G, H, np.zeros(D), tol=0, max_rounds=20)
    assert res.nfev + res.njev == calls
    calls = 0
    res = wp.minimize_composite(G, H, np.zeros(D), tol=0, beta="search", max_rounds=20)
    assert res.nfev + res.njev == calls


def test_a_start_needs_no_time_but_calls():
    counted_ = Counted()
    res = wp.minimize(counted_.f, counted_.K, method="fw", max_seconds=0)
    assert (res.status, res.nlmo) == ("max_seconds", counted_.answers) == ("max_seconds", 1)
    two = wp.sets.Product(counted_.K, counted_.K)
    with pytest.raises(ValueError, match="max_lmo must pay for the starting point of Product"):
        wp.minimize(lambda x: (float(x @ x), 2.0 * x), two, method="fw", max_lmo=1)


def test_rounds_without_oracle_calls_are_limited_too():
    limits = Limits(max_lmo=50)
    assert limits.exceeded(100_016, 0.0, 17) is None
    assert limits.exceeded(100_017, 0.0, 17) == "max_rounds"
    assert Limits(max_lmo=50, max_seconds=9).exceeded(200_000, 0.0, 17) is None


@pytest.mark.parametrize("lifted", [math.inf, np.inf, None])
def test_resume_lifts_limits(tmp_path, lifted):
    path = tmp_path / "run.ckpt"
    f = wp.objectives.Quadratic(np.diag([1.0, 2.0, 3.0, 4.0]), np.zeros(4))
    first = wp.minimize(f, wp.sets.Simplex(4), method="fw", tol=0, max_rounds=3, checkpoint=path)
    assert first.status == "max_rounds"
    res = wp.resume(path, f, wp.sets.Simplex(4), max_rounds=lifted, max_lmo=50, checkpoint=None)
    assert res.status == "max_lmo"
    assert res.nit > 3
    kept = wp.resume(path, f, wp.sets.Simplex(4), max_lmo=50, checkpoint=None)
    assert kept.status == "max_rounds"
    with pytest.raises(ValueError, match="tol must be"):
        wp.resume(path, f, wp.sets.Simplex(4), tol=math.inf)
