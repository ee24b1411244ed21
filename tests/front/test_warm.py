"""Runs that begin with the result of another."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp

METHODS = ["corrective", "bpcg", "away", "pairwise", "fcfw"]


def near(seed=0, n=60, count=6):
    """Yield least squares problems whose data change a little from one to the next."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((90, n))
    b = A @ rng.dirichlet(np.full(n, 0.05))
    for _ in range(count):
        b = b + 0.02 * rng.standard_normal(90)
        yield wp.objectives.LeastSquares(A, b)


@pytest.mark.parametrize("method", METHODS)
def test_vertices_of_an_earlier_result_save_oracle_calls(method):
    K, earlier, cold, warm = wp.sets.UnitSimplex(60, 0.8), None, 0, 0
    for f in near():
        whole = wp.minimize(f, K, method=method, tol=1e-6)
        found = wp.minimize(f, K, earlier, method=method, tol=1e-6)
        assert found.success
        assert abs(found.fun - whole.fun) <= 2e-6
        if earlier is not None:
            cold, warm = cold + whole.nlmo, warm + found.nlmo
        earlier = found
    # methods that correct all weights at once need few new vertices
    most = {"corrective": 1 / 3, "fcfw": 1 / 2}.get(method, 0.95)
    assert warm <= most * cold


@pytest.mark.parametrize("method", [*METHODS, "auto", "fw", "anytime", "projected"])
def test_any_result_is_a_start(method):
    f, K = next(near()), wp.sets.Simplex(60)
    for first in ("corrective", "projected"):
        earlier = wp.minimize(f, K, method=first, tol=1e-3)
        res = wp.minimize(f, K, x0=earlier, method=method, tol=1e-2, max_rounds=3000)
        assert res.history["fun"][0] == pytest.approx(earlier.fun, rel=1e-2)
        assert res.success


def test_vertices_outside_of_another_set_are_left_out():
    f = next(near())
    large = wp.minimize(f, wp.sets.L1Ball(60, 2.0), method="corrective", tol=1e-6)
    with pytest.raises(ValueError, match="x0"):
        wp.minimize(f, wp.sets.L1Ball(60, 0.1), x0=large, method="corrective")
    # the point is inside of the larger set, and so are the vertices
    res = wp.minimize(f, wp.sets.L1Ball(60, 3.0), x0=large, method="corrective", tol=1e-6)
    assert res.success
    # the middle of two far vertices is inside of the smaller set, and they are not
    g = wp.objectives.Quadratic(1.0, np.zeros(2))
    far = wp.minimize(g, wp.sets.Box([-4.0, -4.0], [4.0, 4.0]), [1.0, 1.0], method="bpcg")
    res = wp.minimize(g, wp.sets.Box([-1.0, -1.0], [1.0, 1.0]), x0=far, method="bpcg")
    assert res.success
    assert (abs(res.active.vertices) <= 1.0).all()


def test_a_loaded_result_is_a_start_without_vertices(tmp_path):
    f, K = next(near()), wp.sets.Simplex(60)
    path = wp.minimize(f, K, method="bpcg", tol=1e-6).save(tmp_path / "run")
    assert wp.minimize(f, K, wp.load(path), method="corrective", tol=1e-6).success
