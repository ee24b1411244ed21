"""Convex functions of a user whose values cancel: no accusation, and no gap that is too small.

The true gaps are computed in rational arithmetic, or by formulas without cancellation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.checks.scatter import scatter
from wolfpack.loop.many import Ledger
from wolfpack.loop.status import Status
from wolfpack.loop.stopping import Limits
from wolfpack.loop.tracker import Tracker
from wolfpack.problem import Problem

METHODS = ("auto", "fw-ls", "bpcg", "anytime", "corrective", "projected", "fcfw", "conjugate")
HALF = Fraction(1, 2)


def half_square(x: np.ndarray, t: np.ndarray) -> float:
    pairs = zip(x.tolist(), t.tolist(), strict=True)
    return float(HALF * sum((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs))


def log_cosh(x: np.ndarray, t: np.ndarray) -> float:
    return sum(math.log1p(2.0 * math.sinh(0.5 * z) ** 2) for z in (x - t).tolist())


def pseudo_huber(x: np.ndarray, t: np.ndarray) -> float:
    return sum(z * z / (1.0 + math.sqrt(1.0 + z * z)) for z in (x - t).tolist())


CANCELLING: dict[str, tuple[Any, Any]] = {
    "expanded": (
        lambda x, t: (0.5 * float(x @ x) - float(t @ x) + 0.5 * float(t @ t), x - t),
        half_square,
    ),
    "shifted": (lambda x, t: (77.7 + 0.5 * float((x - t) @ (x - t)) - 77.7, x - t), half_square),
    "log cosh": (
        lambda x, t: (float((np.logaddexp(x - t, t - x) - math.log(2.0)).sum()), np.tanh(x - t)),
        log_cosh,
    ),
    "pseudo-Huber": (
        lambda x, t: (
            float((np.sqrt(1.0 + (x - t) ** 2) - 1.0).sum()),
            (x - t) / np.sqrt(1.0 + (x - t) ** 2),
        ),
        pseudo_huber,
    ),
}


def instance(seed: int) -> tuple[np.ndarray, Any, np.ndarray]:
    """Return a minimiser t, a box around it, and a start at t or near it."""
    rng = np.random.default_rng(seed)
    d, size = int(rng.integers(2, 6)), (0.0, 1.0, 1e3, 1e6)[seed % 4]
    t = rng.random(d) + size * (1.0 + 0.1 * rng.random(d))
    K = wp.sets.Box(t - 1.5 - rng.random(d), t + 1.0 + rng.random(d))
    away = 10.0 ** rng.uniform(-9, -4) * rng.uniform(-1, 1, d) if seed % 3 else 0.0
    return t, K, t + away


@pytest.mark.parametrize("name", CANCELLING)
@pytest.mark.parametrize("method", METHODS)
def test_values_that_cancel_neither_contradict_nor_are_certified_too_well(name, method):
    f, true_gap = CANCELLING[name]
    for seed in range(8):
        t, K, x0 = instance(seed)
        for tol in (None, 0.0):
            options = {} if tol is None else {"tol": tol}
            res = wp.minimize(
                lambda x, t=t: f(x, t), K, x0=x0, method=method, max_rounds=30, **options
            )
            where = f"seed {seed}, tol {tol}: {res.message}"
            assert res.status != "contradiction", where
            assert res.gap >= true_gap(res.x, t), where


@pytest.mark.parametrize("method", METHODS)
def test_the_gap_of_values_that_cancel_names_what_they_scatter(method):
    t = np.full(3, 1e6)
    K = wp.sets.Box(t - 3, t - 1)
    res = wp.minimize(
        lambda x: CANCELLING["expanded"][0](x, t), K, method=method, tol=1e-6, max_rounds=200
    )
    assert not res.success
    assert 1e-4 < res.gap < 0.2  # values are multiples of 2.4e-4
    assert "Values of f scatter by about" in res.message
    assert "absolute_error" in res.message


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", ["expanded", "shifted"])
def test_functions_of_a_batch_that_cancel(name, size):
    rng = np.random.default_rng(3)
    T = size * (1.0 + 0.1 * rng.random((6, 4)))
    K = [wp.sets.Box(t - 2.0, t + 1.5) for t in T]
    f = {
        "expanded": lambda X: (0.5 * (X * X).sum(1) - (T * X).sum(1) + 0.5 * (T * T).sum(1), X - T),
        "shifted": lambda X: (77.7 + 0.5 * ((X - T) ** 2).sum(1) - 77.7, X - T),
    }[name]
    for x0 in (T, T + 1e-6 * rng.random(T.shape), T + 1.0):
        for tol in (1e-6, 1e-9, 0.0):
            res = wp.minimize_many(f, K, x0, tol=tol, max_rounds=100)
            assert "contradiction" not in [str(status) for status in res.status], res.message
            for i, t in enumerate(T):
                assert res.gap[i] >= half_square(res.x[i], t), (i, tol)
                assert res.success[i] == (res.gap[i] <= tol)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_composite_functions_that_cancel(size, mu):
    t = size * (1.0 + 0.1 * np.random.default_rng(4).random(4))
    for tol in (1e-6, 0.0):
        res = wp.minimize_composite(
            lambda x: CANCELLING["expanded"][0](x, t),
            wp.regularizers.SquaredNorm(mu),
            y0=np.zeros(4),
            beta=1.0,
            tol=tol,
            max_rounds=300,
        )
        assert res.status != "contradiction", res.message
        assert "too small" not in res.message, res.message
        # F(x) - F* = (1 + mu)/2 ||x - t/(1 + mu)||^2
        mu_exact = Fraction(mu)
        rest = [
            Fraction(a) - Fraction(b) / (1 + mu_exact)
            for a, b in zip(res.x.tolist(), t.tolist(), strict=True)
        ]
        assert res.gap >= float((1 + mu_exact) * HALF * sum(r * r for r in rest))


def test_declared_errors_are_counted():
    t = np.full(3, 2.0)
    K = wp.sets.Box(t - 3, t - 1)

    def gap(**errors: float) -> float:
        f = wp.objectives.Function(
            lambda x: (0.5 * float((x - t) @ (x - t)), x - t), convex=True, **errors
        )
        return wp.minimize(f, K, method="fw-ls", tol=0.0).gap

    plain = gap()
    assert gap(absolute_error=1e-3) - plain == pytest.approx(2e-3, rel=1e-6)
    assert gap(gradient_error=1e-3) - plain == pytest.approx(1e-3 * K.diameter, rel=1e-6)
    with pytest.raises(ValueError, match="absolute_error"):
        wp.objectives.Function(lambda x: (0.0, x), absolute_error=-1.0)
    with pytest.raises(ValueError, match="gradient_error"):
        wp.objectives.Function(lambda x: (0.0, x), gradient_error=math.nan)


def test_what_is_declared_is_not_counted_twice():
    t = np.full(3, 1e6)
    K = wp.sets.Box(t - 3, t - 1)
    f = wp.objectives.Function(
        lambda x: CANCELLING["expanded"][0](x, t), absolute_error=0.01, convex=True
    )
    res = wp.minimize(f, K, method="fw-ls", tol=0.0)
    assert res.gap == pytest.approx(0.02, rel=1e-3)
    assert "scatter" not in res.message


class Noisy:
    """A smooth function with errors in its values, its gradients, or a constant one in these."""

    def __init__(self, value: float = 0.0, gradient: float = 0.0, shift: float = 0.0) -> None:
        self.rng = np.random.default_rng(6)
        self.value, self.gradient, self.shift = value, gradient, shift

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        e = np.exp(x)
        noise = self.gradient * self.rng.standard_normal(x.size) / math.sqrt(x.size)
        return float(e.sum() + self.value * self.rng.standard_normal()), e + noise + self.shift


def seen(f: Any, d: int = 5) -> Any:
    problem = Problem(wp.objectives.Function(f), wp.sets.Box(-np.ones(d), np.ones(d)))
    x = np.linspace(-0.3, 0.2, d)
    return scatter(problem, x, problem.evaluate(x), np.linspace(1.0, 0.4, d))


def test_errors_are_measured_to_a_factor_of_eight():
    smooth = seen(Noisy())
    assert smooth.value < 1e-13
    assert smooth.gradient < 1e-13
    assert smooth.constant < 1e-8
    for size in (1e-10, 1e-6):
        assert 3 * size < seen(Noisy(value=size)).value < 24 * size
        assert 3 * size < seen(Noisy(gradient=size)).gradient < 24 * size
    d = np.linspace(1.0, 0.4, 5)
    along = 1e-4 * d.sum() / np.linalg.norm(d)
    assert seen(Noisy(shift=1e-4)).constant == pytest.approx(along * math.sqrt(5), rel=1e-3)


def test_values_that_are_multiples_of_a_unit_are_told_from_exact_ones():
    """They are all equal on a segment that is too short."""
    found = seen(lambda x: (round(float(np.exp(x).sum()), 3), np.exp(x)))
    assert 1e-3 < found.value < 1e-2


@pytest.mark.parametrize("method", METHODS)
def test_rounded_gradients_are_counted(method):
    t = np.array([0.123, 0.456, 0.789])
    K = wp.sets.Box(-np.ones(3), np.ones(3))
    res = wp.minimize(
        lambda x: (0.5 * float((x - t) @ (x - t)), np.round(x - t, 2)), K, method=method, tol=1e-3
    )
    assert res.gap >= half_square(res.x, t)
    assert not res.success or res.gap <= 1e-3


@pytest.mark.parametrize("method", ["auto", "bpcg", "corrective", "away", "fw-ls"])
@pytest.mark.parametrize("sign", [0.0, -1.0])
def test_a_wrong_entry_where_no_answer_of_a_users_oracle_has_been(method, sign):
    """The run keeps away from the only vertex whose slopes would show it."""
    t = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.9])

    def f(x):
        g = x - t
        g[5] *= sign
        return 0.5 * float((x - t) @ (x - t)), g

    K = wp.sets.Oracle(lambda g: np.eye(6)[np.argmin(g)], (6,), radius=1.0)
    res = wp.minimize(f, K, method=method, tol=1e-6, x0=np.eye(6)[0])
    assert res.status == "contradiction"
    assert "The gradient does not belong to f" in res.message


def test_an_error_of_gradients_that_is_too_small_to_be_blamed_is_counted():
    t = np.full(4, 2.0)  # the minimum is a corner
    K = wp.sets.Box(-np.ones(4), np.ones(4))
    res = wp.minimize(
        lambda x: (0.5 * float((x - t) @ (x - t)), x - t + 1e-7), K, method="fw-ls", tol=1e-9
    )
    assert not res.success
    assert 0.5e-7 * K.diameter < res.gap < 1e-5 * K.diameter
    assert "Gradients of f scatter" in res.message


def test_bounds_that_were_proved_before_fall_by_what_is_measured_later():
    problem = Problem(
        wp.objectives.Quadratic(1.0, -np.ones(2)), wp.sets.Box(np.zeros(2), np.ones(2))
    )
    tracker = Tracker(problem)
    tracker.see(SimpleNamespace(x=np.zeros(2), at=problem.evaluate(np.zeros(2))))
    tracker.best_bound = -1.0
    before = tracker.lower_bound
    problem.counts.owed = 0.5
    tracker.reconsider()
    assert before - tracker.lower_bound == pytest.approx(0.5, rel=1e-9)
    assert problem.counts.owed == 0.0

    ledger = Ledger(2, Limits(tol=1.0))
    ledger.fun, ledger.bound = np.zeros(2), np.full(2, -0.9)
    ledger.status[:] = Status.CONVERGED
    ledger.allow_for(np.array([0.0, 0.1]), np.array([0.0, 0.2]))
    assert ledger.gap == pytest.approx([0.9, 0.9 + 2 * 0.1 + 0.2])
    assert ledger.status.tolist() == [Status.CONVERGED, Status.STALLED]
