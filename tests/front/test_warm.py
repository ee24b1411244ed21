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


def boxed(seed=1, n=60):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((90, n))
    f = wp.objectives.LeastSquares(A, A @ np.repeat([0.35, -0.05], [n // 6, n - n // 6]))
    return f, wp.sets.Box(np.zeros(n), np.full(n, 0.2))


def hulled(seed=2):
    rng = np.random.default_rng(seed)
    f = wp.objectives.LeastSquares(np.eye(20), rng.standard_normal(20))
    return f, wp.sets.ConvexHull(rng.standard_normal((60, 20)))


DENSE = {
    "l1": lambda: (next(near()), wp.sets.L1Ball(60, 0.7)),
    "box": boxed,
    "hull": hulled,
    "birkhoff": lambda: (
        wp.objectives.Quadratic(1.0, -np.random.default_rng(3).random((7, 7))),
        wp.sets.Birkhoff(7),
    ),
}


@pytest.mark.parametrize("problem", DENSE)
@pytest.mark.parametrize("method", ["bpcg", "away", "pairwise"])
def test_a_dense_start_costs_no_more_rounds_than_none(problem, method):
    f, K = DENSE[problem]()
    mixed = wp.minimize(f, K, method="fw", max_rounds=50, tol=0).x
    cold = wp.minimize(f, K, method=method, tol=1e-6)
    warm = wp.minimize(f, K, mixed, method=method, tol=1e-6)
    assert cold.success
    assert warm.success
    assert warm.nit <= 1.2 * cold.nit
    assert warm.history["fun"][0] <= f.value(mixed) + 0.2 * (f.value(mixed) - cold.fun)


def test_the_vertices_of_a_start_are_those_of_the_set():
    f, K = DENSE["box"]()
    x0 = np.linspace(0.0, 0.2, 60)
    res = wp.minimize(f, K, x0, method="bpcg", max_rounds=0)
    ends = abs(res.active.vertices - 0.1)
    assert np.allclose(ends, 0.1)  # corners alone, x0 is no more among them
    assert f.value(res.active.point) <= f.value(x0)


def test_a_start_is_kept_where_no_mixture_is_near_it():
    M = np.diag(np.linspace(1.0, 0.5, 90))
    f, K = wp.objectives.Quadratic(1.0, -M), wp.sets.TraceNormBall((90, 90), radius=67.5)
    # of rank 90, and 64 answers of rank 1 make no such matrix
    res = wp.minimize(f, K, x0=M, method="bpcg", tol=1e-9, max_rounds=5)
    assert res.nit == 0
    assert res.fun == pytest.approx(f.value(M), rel=1e-12)


def test_a_start_that_is_a_vertex_stays_one():
    f, K = next(near()), wp.sets.Simplex(60)
    res = wp.minimize(f, K, np.eye(60)[7], method="away", max_rounds=0, tol=0)
    assert res.fun <= f.value(np.eye(60)[7])
    assert res.nlmo <= 4


def test_a_start_at_the_edge_of_the_domain_keeps_its_point():
    # the corners of the simplex are outside the domain of a logarithm
    f = wp.objectives.LogUtility(np.eye(5) + 1e-3)
    x0 = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    res = wp.minimize(f, wp.sets.Simplex(5), x0, method="bpcg", tol=1e-5)
    assert res.success
    assert res.history["fun"][0] <= f.value(x0) + 1e-9


@pytest.mark.parametrize("x", [np.float32, np.float64])
def test_a_dense_start_keeps_its_precision(x):
    _f, K = DENSE["hull"]()
    start = K.points.mean(axis=0).astype(x)
    res = wp.minimize(lambda y: (0.5 * float(y @ y), y), K, start, method="pairwise", tol=1e-3)
    assert res.success
    assert res.x.dtype == x


def test_oracles_of_the_user_are_asked_for_gradients_alone():
    asked = []

    def lmo(g):
        asked.append(g)
        return np.eye(6)[g.argmin()]

    f, x0 = wp.objectives.Quadratic(1.0, -np.arange(1.0, 7.0)), np.full(6, 1 / 6)
    K = wp.sets.Oracle(lmo, shape=6, radius=1.0, polytope=True, contains=lambda x: True)
    res = wp.minimize(f, K, x0, method="bpcg", tol=1e-6)
    assert res.success
    assert all((g <= 0).all() for g in asked[:5])
