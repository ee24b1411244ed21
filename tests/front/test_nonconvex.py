"""Functions that are not convex: stationary points, and several starts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front.methods import METHODS, PARTICULAR
from wolfpack.solvers.descending import AVERAGING

D = 4
BOX = wp.sets.Box(-2.0 * np.ones(D), 2.0 * np.ones(D))
DESCENT = [name for name in METHODS if name not in (*AVERAGING, *PARTICULAR)]


def wells(x: np.ndarray) -> tuple[float, np.ndarray]:
    """2^d wells; the deepest is near -1 in every entry."""
    return float(((x * x - 1.0) ** 2).sum() + 0.1 * x.sum()), 4.0 * x * (x * x - 1.0) + 0.1


def assert_stationary(res: wp.Result, K: Any, f: Any, tol: float) -> None:
    assert res.status == "stationary"
    assert res.success
    assert math.isinf(res.gap)
    assert res.lower_bound == -math.inf
    g = f(res.x)[1]
    assert res.stationarity == pytest.approx(float(g @ res.x + K.support(-g)), abs=1e-12)
    assert res.stationarity <= tol
    assert K.contains(res.x)
    assert res.fun == pytest.approx(f(res.x)[0])


@pytest.mark.parametrize("method", ["auto", *DESCENT])
@pytest.mark.parametrize("K", [BOX, wp.sets.Simplex(D), wp.sets.L2Ball(D, 1.5)], ids=str)
def test_methods_descend_to_a_stationary_point(method, K):
    options: dict[str, Any] = {"L": 50.0} if method == "fw-short" else {}
    x0 = 0.9 * K.start() + 0.1 * K.lmo(np.arange(D) - 1.0).to_dense()
    res = wp.minimize(wells, K, x0, method=method, convex=False, tol=1e-2, **options)
    assert_stationary(res, K, wells, 1e-2)
    assert np.all(np.diff(res.history["fun"]) <= 0)


@pytest.mark.parametrize("method", AVERAGING)
def test_methods_that_average_gradients_are_refused(method):
    options: dict[str, Any] = {"L": 50.0} if method in ("pfw", "r-pfw", "cgs") else {}
    with pytest.raises(ValueError, match=f"{method!r} averages gradients, which needs a convex f"):
        wp.minimize(wells, BOX, method=method, convex=False, **options)


def test_an_objective_may_declare_it():
    f = wp.objectives.Function(wells, convex=False)
    x0 = np.array([0.1, -0.1, 0.2, 0.3])
    res = wp.minimize(f, BOX, x0, tol=1e-6)
    assert_stationary(res, BOX, wells, 1e-6)
    assert wp.explain(f, BOX).method == res.method
    K = wp.sets.Oracle(lambda g: np.eye(D)[g.argmin()], D, 1.0)
    assert wp.explain(wells, K, convex=False).method == "fw"


def test_starts_find_the_deepest_well():
    res = wp.minimize(wells, BOX, np.ones(D), convex=False, starts=24, tol=1e-6)
    assert len(res.starts) == 24
    assert res.fun == min(one.fun for one in res.starts)
    lowest = min(wells(np.array(x))[0] for x in itertools.product([-1.0, 1.0], repeat=D))
    assert res.fun <= lowest
    assert res.starts[0].fun > res.fun + 0.1
    assert res.nfev == sum(one.nfev for one in res.starts)
    assert "best of 24 starts" in res.message
    again = wp.minimize(wells, BOX, np.ones(D), convex=False, starts=24, tol=1e-6)
    np.testing.assert_array_equal(again.x, res.x)
    other = wp.minimize(wells, BOX, np.ones(D), convex=False, starts=3, tol=1e-6, seed=1)
    assert other.starts[1].fun != res.starts[1].fun or other.starts[2].fun != res.starts[2].fun


def test_quadratic_assignment_has_many_stationary_points():
    rng = np.random.default_rng(0)
    A, B = rng.random((4, 4)), rng.random((4, 4))
    A, B = A + A.T, B + B.T

    def f(X):
        return float((A @ X @ B * X).sum()), 2.0 * A @ X @ B

    K = wp.sets.Birkhoff(4)
    res = wp.minimize(f, K, convex=False, starts=12, tol=1e-7, method="pairwise")
    assert res.status == "stationary"
    best = min(f(np.eye(4)[list(p)])[0] for p in itertools.permutations(range(4)))
    assert res.fun <= best + 1e-6  # the relaxation is at most the assignment's minimum


def test_a_wrong_gradient_is_noticed_here_too():
    def f(x):
        value, gradient = wells(x)
        return value, 0.5 * gradient

    res = wp.minimize(f, BOX, np.array([0.1, -0.1, 0.2, 0.3]), convex=False)
    assert res.status == "contradiction"
    assert not res.success
    assert math.isinf(res.stationarity)
    assert "gradient does not belong to f" in res.message


def test_limits_leave_the_stationarity_of_the_best_point():
    res = wp.minimize(wells, BOX, np.array([0.1, -0.1, 0.2, 0.3]), convex=False, max_rounds=2)
    assert res.status == "max_rounds"
    assert not res.success
    assert 0 < res.stationarity < math.inf


def test_rounding_ends_a_run_without_tolerance():
    res = wp.minimize(wells, BOX, np.full(D, 0.3), convex=False, tol=0, max_rounds=5000)
    assert res.status in ("stalled", "stationary")
    assert res.stationarity <= 1e-6


def test_a_run_is_resumed_to_the_same_bits(tmp_path):
    path, x0 = tmp_path / "run.ckpt", np.array([0.1, -0.1, 0.2, 0.3])
    options: dict[str, Any] = {"method": "away", "convex": False, "tol": 0}
    whole = wp.minimize(wells, BOX, x0, max_rounds=12, **options)
    wp.minimize(wells, BOX, x0, max_rounds=6, checkpoint=path, **options)
    resumed = wp.resume(path, wells, BOX, max_rounds=12)
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert resumed.stationarity == whole.stationarity
    assert resumed.nfev == whole.nfev


def test_results_keep_the_stationarity(tmp_path):
    res = wp.minimize(wells, BOX, np.full(D, 0.3), convex=False)
    assert wp.load(res.save(tmp_path / "run")).stationarity == res.stationarity
    assert res.to_dict()["stationarity"] == res.stationarity


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"starts": 3}, ValueError, "starts=3 is for functions that are not convex"),
        ({"starts": 3, "convex": True}, ValueError, "Pass convex=False, or leave starts out"),
        ({"starts": 0, "convex": False}, ValueError, "starts must be an integer >= 1"),
        ({"starts": 2, "convex": False, "checkpoint": "x"}, ValueError, "holds one run"),
        ({"convex": "no"}, TypeError, "convex must be True or False or None, found 'no'"),
    ],
)
def test_bad_arguments_are_explained(options, error, text):
    with pytest.raises(error, match=text):
        wp.minimize(wells, BOX, **options)
