"""Which rounds are certified: at most a tenth of a run, and soon enough to stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.loop.schedule import Schedule, expected

PRICES = [1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 9, 1 / 33]


def rounds(schedule: Schedule, price: float, count: int) -> np.ndarray:
    return np.array([k for k in range(count) if schedule.due(k, price)])


@pytest.mark.parametrize("price", PRICES)
def test_certificates_cost_at_most_a_tenth(price):
    due = rounds(Schedule(), price, 20_000)
    # after k rounds; the first ones (0, 1, 2, 4, 8) are dearer than that
    cost = price * np.arange(1, len(due) + 1) / np.maximum(due, 1)
    assert cost[due >= 100].max() <= 0.1 * 1.05
    assert cost[-1] < 0.03


@pytest.mark.parametrize("price", PRICES)
def test_certificates_come_within_a_twentieth_of_the_rounds(price):
    due = rounds(Schedule(), price, 20_000)
    late = np.diff(due) - 1
    least = 1 << max(0, int(np.ceil(10 * price)) - 1).bit_length()
    assert (late <= np.maximum(least - 1, due[1:] / 20)).all()


def test_free_certificates_come_every_round():
    assert (rounds(Schedule(), 0.0, 50) == np.arange(50)).all()


def test_a_number_is_a_number():
    assert rounds(Schedule(7), 0.5, 30).tolist() == [0, 7, 14, 21, 28]
    numpys: Any = np.int64(7)
    assert rounds(Schedule(numpys), 0.0, 30).tolist() == [0, 7, 14, 21, 28]
    wrongs: list[Any] = [0, -1, True, 2.5, "often", None]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="record_every must be an integer >= 1 or 'auto'"):
            Schedule(wrong)


def test_units_are_passes():
    due = rounds(Schedule("auto", unit=10, patient=False), 1.0, 1000)
    assert (due % 10 == 0).all()
    assert due[:41].tolist() == list(range(0, 410, 10))
    assert due[41] == 420


def test_the_end_is_expected_by_two_laws():
    # gaps 2^-k and 1/k
    assert expected(4, 2.0**-4, 2, 2.0**-2, 2.0**-7)[0] == 7
    assert expected(32, 1 / 32, 16, 1 / 16, 1 / 48)[-1] == 48
    for gap, gap0, goal in ((1.0, 1.0, 0.5), (1.0, np.inf, 0.5), (1.0, 2.0, 0.0), (1.0, 2.0, 1.0)):
        assert expected(32, gap, 16, gap0, goal) == ()
    assert expected(32, 1.0, 16, 1.1, 1e-9) == ()


CASES: dict[str, dict[str, Any]] = {
    "anytime m=1": {"method": "anytime", "m": 1},
    "anytime m=4": {"method": "anytime", "m": 4},
    "anytime exact": {"method": "anytime", "m": "exact"},
    "r-pfw": {"method": "r-pfw", "m": 4},
    "momentum": {"method": "momentum"},
    "cgs": {"method": "cgs"},
}


@pytest.mark.parametrize("case", CASES)
def test_the_tolerance_is_met_within_a_twentieth_of_the_rounds(case):
    rng = np.random.default_rng(3)
    A, K = rng.standard_normal((30, 20)), wp.sets.Simplex(20)
    f = wp.objectives.LeastSquares(A, rng.standard_normal(30))
    run = {"seed": 1, "tol": {"anytime m=1": 0.5, "r-pfw": 0.5}.get(case, 0.02), **CASES[case]}
    every = wp.minimize(f, K, record_every=1, **run)
    auto = wp.minimize(f, K, **run)
    assert every.success
    assert auto.success
    # with few draws the bounds are noisy; along "momentum" f is not monotone
    spare = {"anytime m=1": 20, "r-pfw": 7, "momentum": 0.2 * every.nit}.get(case, 1)
    assert every.nit <= auto.nit <= every.nit + max(spare, 0.05 * every.nit)
    assert len(auto.history["round"]) < len(every.history["round"])
    assert auto.history["round"][-1] == auto.nit


@pytest.mark.parametrize("case", CASES)
def test_recording_does_not_change_the_path(case):
    f = wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 5))
    run: dict[str, Any] = {"tol": 0, "max_rounds": 50, "L": 1.0, **CASES[case]}
    K = wp.sets.Simplex(5)
    one, auto = (wp.minimize(f, K, record_every=how, **run) for how in (1, "auto"))
    assert (one.state.x == auto.state.x).all()


def test_methods_with_a_free_bound_record_every_round():
    f, K = wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 5)), wp.sets.Simplex(5)
    for method in ("fw", "fw-short", "away", "corrective", "conjugate"):
        res = wp.minimize(f, K, method=method, tol=0, max_rounds=20)
        assert res.history["round"].tolist() == list(range(res.nit + 1))
        assert res.nlmo <= res.nit + 1
