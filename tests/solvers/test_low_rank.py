"""Corrections over small matrices: rounds, memory, symmetric sets, and starts of high rank."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from problems import minimum, paper_trace_ball
from wolfpack.arrays import LowRank
from wolfpack.problem import CapabilityError, Problem
from wolfpack.solvers.parts.factors import swept


def completion(p: int, q: int, share: float, radius: float, seed: int = 0) -> tuple[Any, Any]:
    """Noisy entries of a matrix of rank 3, and a trace-norm ball."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((p, 3)), rng.standard_normal((q, 3))
    at = rng.choice(p * q, int(share * p * q), replace=False)
    rows, columns = at // q, at % q
    values = (truth[0][rows] * truth[1][columns]).sum(axis=1) + 0.1 * rng.standard_normal(len(at))
    f = wp.objectives.MatrixCompletion(rows, columns, values, (p, q))
    return f, wp.sets.TraceNormBall((p, q), radius)


def symmetric(n: int, equality: bool) -> tuple[Any, Any]:
    """The projection onto a spectrahedron of a matrix of rank 3 and noise."""
    rng = np.random.default_rng(1)
    B, noise = rng.standard_normal((n, 3)), rng.standard_normal((n, n))
    target = B @ B.T / n + 0.02 * (noise + noise.T)
    f = wp.objectives.Quadratic(1.0, -target, 0.5 * float(np.vdot(target, target)))
    return f, wp.sets.Spectrahedron(n, 1.5, equality)


@pytest.mark.parametrize("m", [1, 4, 16])
def test_reaches_on_the_paper_trace_ball(m):
    f, K, x0 = paper_trace_ball()
    res = wp.minimize(f, K, x0, method="corrective", m=m, tol=1e-8, max_rounds=40)
    assert res.success
    assert K.contains(res.x)
    assert np.all(res.history["lower_bound"] <= minimum("paper_trace_ball") + 1e-6)
    assert abs(res.fun - minimum("paper_trace_ball")) <= 1e-6


@pytest.mark.parametrize("m", [1, 4])
def test_factored_and_dense_runs_agree(m):
    f, K = completion(25, 18, 0.5, 20.0)
    whole = wp.objectives.Function(lambda X: f.value_and_gradient(X), L=1.0)
    run = {"method": "corrective", "m": m, "tol": 1e-6, "max_rounds": 100}
    factored, dense = wp.minimize(f, K, **run), wp.minimize(whole, K, **run)
    assert factored.success
    assert dense.success
    assert isinstance(factored.x, LowRank)
    assert isinstance(dense.x, np.ndarray)
    assert abs(factored.fun - dense.fun) <= 2e-6
    np.testing.assert_allclose(np.asarray(factored.x), dense.x, atol=1e-2)
    assert abs(f.value(np.asarray(factored.x)) - factored.fun) <= 1e-10
    assert K.contains(np.asarray(factored.x))


def test_matches_the_projected_gradient():
    f, K = completion(30, 30, 0.4, 30.0, seed=2)
    low = wp.minimize(f, K, method="corrective", m=4, tol=1e-5)
    best = wp.minimize(f, K, method="projected", tol=1e-5)
    assert low.success
    assert best.success
    assert abs(low.fun - best.fun) <= 2e-5


@pytest.mark.parametrize("equality", [True, False])
@pytest.mark.parametrize("max_rank", [1, 100])
def test_symmetric_sets_from_starts_of_high_rank(equality, max_rank):
    f, K = symmetric(25, equality)
    run = {"m": 2, "max_rank": max_rank, "tol": 1e-8, "max_rounds": 60}
    res = wp.minimize(f, K, method="corrective", **run)
    best = wp.minimize(f, K, method="projected", tol=1e-8)
    assert res.success
    assert abs(res.fun - best.fun) <= 2e-8
    assert K.contains(res.x)
    assert res.state.factors.rank <= 6


def test_zero_is_the_answer_where_the_gradient_is_positive():
    K = wp.sets.Spectrahedron(5, 1.0, equality=False)
    f = wp.objectives.Quadratic(1.0, np.eye(5))
    res = wp.minimize(f, K, method="corrective", m=2, tol=1e-10)
    assert res.success
    np.testing.assert_allclose(res.x, 0.0, atol=1e-8)


@pytest.mark.parametrize("m", [1, 5])
def test_a_large_sparse_problem_makes_no_dense_matrix(m):
    p, q = 1500, 1200
    f, K = completion(p, q, 0.01, 300.0)
    f0 = 0.5 * float(f.values @ f.values)

    def measure(r: Any) -> None:
        if r.nit == 0:
            tracemalloc.start()

    try:
        res = wp.minimize(f, K, method="corrective", m=m, tol=1e-2 * f0, callback=measure)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert res.success
    assert res.nit >= 1
    assert peak < 0.5 * p * q * 8


def test_a_result_can_be_the_next_start():
    f, K = completion(25, 18, 0.5, 20.0)
    first = wp.minimize(f, K, method="corrective", m=2, tol=1e-2)
    again = wp.minimize(f, K, first.x, method="corrective", m=2, tol=1e-2)
    assert again.nit == 0
    assert again.fun == pytest.approx(first.fun)


def test_sweeps_over_the_factors_save_rounds(monkeypatch):
    f, K = completion(150, 120, 0.3, 350.0)
    run = {"method": "corrective", "m": 4, "rtol": 1e-6}
    quick = wp.minimize(f, K, **run)
    monkeypatch.setattr(type(f), "best_factor", lambda *_, **__: None)
    slow = wp.minimize(f, K, **run)
    assert quick.success
    assert slow.success
    assert abs(quick.fun - slow.fun) <= 2e-6 * slow.fun
    assert quick.njev < 0.5 * slow.njev


def test_sweeps_stay_in_the_set_and_never_raise_f():
    f, K = completion(60, 50, 0.3, 5.0)
    X = wp.minimize(f, K, method="fw-ls", max_rounds=3, tol=0).x
    U, s, Vt = np.linalg.svd(X)
    X = LowRank(U[:, :3], s[:3], Vt[:3].T)
    problem = Problem(f, K)
    for _ in range(3):
        at = problem.evaluate(X)
        found = swept(problem, X, at, 1.0)
        assert found is not None
        X, there = found
        assert there.value <= at.value
        assert there.value == pytest.approx(f.value(X))
        assert K.violation(X) <= 1e-12
        np.testing.assert_allclose(X.U.T @ X.U, np.eye(X.rank), atol=1e-12)
    assert X.s.sum() == pytest.approx(5.0)


@pytest.mark.parametrize("radius", [30.0, 1e4])
def test_scaled_completion_over_active_and_idle_bounds(radius):
    rng = np.random.default_rng(3)
    f, K = completion(30, 25, 0.6, radius)
    scales = 0.5 + rng.random(30), 0.5 + rng.random(25)
    g = wp.objectives.MatrixCompletion(f.rows, f.columns, f.values, f.shape, scales)
    low = wp.minimize(g, K, method="corrective", m=4, tol=1e-6 * g.value(np.zeros(g.shape)))
    best = wp.minimize(g, K, method="projected", tol=1e-8)
    assert low.success
    assert low.lower_bound <= best.fun <= low.fun + 1e-8
    assert f.value(g.completed(low.x)) == pytest.approx(low.fun)


def test_gap_at_the_level_of_rounding_ends_a_run():
    f, K, x0 = paper_trace_ball()
    res = wp.minimize(f, K, x0, method="corrective", m=4, tol=0, max_rounds=200)
    # rounding decides whether the last gap is a little above zero or exactly zero
    assert res.status in ("stalled", "converged")
    assert res.gap <= 1e-11
    assert K.violation(res.x) <= 1e-12


def test_float32_stays_float32():
    f, K, x0 = paper_trace_ball()
    res = wp.minimize(f, K, x0.astype(np.float32), method="corrective", m=2, tol=1e-3)
    assert res.success
    assert res.x.dtype == np.float32


def test_vectors_are_refused():
    f = wp.objectives.LeastSquares(np.eye(3), np.ones(3))
    with pytest.raises(CapabilityError, match="a set of low-rank matrices, found Simplex"):
        wp.minimize(f, wp.sets.Simplex(3), method=wp.solvers.LowRankCorrective())


@pytest.mark.parametrize("n", [90, 130])
@pytest.mark.parametrize("equality", [True, False])
def test_a_start_of_full_rank_is_followed_by_matrices_of_low_rank(n, equality):
    # The start r/n I has more terms than a run keeps once n exceeds max_rank.
    rng = np.random.default_rng(n)
    at = rng.choice(n * n, 4 * n, replace=False)
    f = wp.objectives.MatrixCompletion(at // n, at % n, rng.standard_normal(4 * n), (n, n))
    K = wp.sets.Spectrahedron(n, 3.0, equality=equality)
    res = wp.minimize(f, K, method="corrective", tol=1e-3, max_rounds=50)
    dense = np.asarray(res.x)
    assert res.success
    assert K.violation(res.x) == pytest.approx(K.violation(dense), abs=1e-9)
    assert K.contains(res.x, 1e-7)
    assert K.contains(dense, 1e-7)
    assert not K.contains(2.0 * res.x)
    assert K.support(res.x) == pytest.approx(K.support(dense))
    for factor in (res.x.U, res.x.V):
        np.testing.assert_allclose(factor.T @ factor, np.eye(res.x.rank), atol=1e-9)
