"""Least squares over listed vertices: exact in one round, clear refusals, a place in auto."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import hilbert

import wolfpack as wp
from wolfpack.problem import CapabilityError
from wolfpack.solvers import nnls

sets, objectives = wp.sets, wp.objectives
RNG = np.random.default_rng(7)
A, B = RNG.standard_normal((9, 6)), RNG.standard_normal(9)
POINTS = RNG.standard_normal((8, 6))
SETS = {
    "simplex": sets.Simplex(6, radius=2.0),
    "unit simplex": sets.UnitSimplex(6, 0.3),
    "unit simplex around the minimum": sets.UnitSimplex(6, 50.0),
    "l1 ball": sets.L1Ball(6, 0.2),
    "weighted l1 ball": sets.WeightedL1Ball(np.arange(1.0, 7.0), 0.7),
    "hull": sets.ConvexHull(POINTS),
    "mirrored": sets.Scale(sets.Simplex(6), -0.5),
    "moved": sets.Translate(sets.L1Ball(6, 0.4), POINTS[0]),
    "moved and scaled": sets.Translate(sets.Scale(sets.Simplex(6), 3.0), POINTS[1]),
}


def exact(f, K):
    """Return the result, whose gap the oracle alone proves."""
    res = wp.minimize(f, K, method="nnls", tol=0)
    assert res.nit == 1
    assert res.status == "stalled"  # no gap is 0
    assert K.contains(res.x, 1e-12)
    g = f.gradient(res.x)
    # the oracle's own word, apart from the certificate
    assert g @ res.x - K.lmo(g).dot(g) <= 1e-11 * max(1.0, np.linalg.norm(g))
    assert res.gap <= 1e-10 * max(1.0, abs(res.fun))
    return res


@pytest.mark.parametrize("name", SETS)
def test_one_round_is_exact(name):
    exact(objectives.LeastSquares(A, B), SETS[name])


@pytest.mark.parametrize("name", SETS)
def test_a_weight_and_a_quadratic_are_the_same_problem(name):
    first = exact(objectives.LeastSquares(A, B, reduction="mean"), SETS[name])
    second = exact(objectives.Quadratic(A.T @ A / 9, -A.T @ B / 9), SETS[name])
    np.testing.assert_allclose(first.x, second.x, atol=1e-9)


def test_sparse_rows_and_single_precision():
    K = sets.Simplex(6)
    dense = exact(objectives.LeastSquares(A, B), K)
    thin = exact(objectives.LeastSquares(sparse.csr_array(A), B), K)
    np.testing.assert_allclose(thin.x, dense.x, atol=1e-12)
    single = objectives.LeastSquares(A.astype(np.float32), B.astype(np.float32))
    res = wp.minimize(single, K, method="nnls", tol=1e-5)
    assert res.success
    np.testing.assert_allclose(res.x, dense.x, atol=1e-5)


def test_ill_conditioned_data_and_a_far_target():
    """A unit that is too large or too small for the residuals would cost the digits."""
    f = objectives.LeastSquares(hilbert(12), hilbert(12) @ np.linspace(0.0, 1.0, 12))
    assert wp.minimize(f, sets.Simplex(12, radius=6.0), method="nnls", tol=1e-14).success
    for size in (1e-8, 1e8):
        far = objectives.LeastSquares(A, size * B)
        res = wp.minimize(far, sets.Simplex(6, radius=size), method="nnls", rtol=1e-9, tol=0)
        assert res.success, size


def test_a_singular_matrix_leaves_the_run_where_it_is():
    f = objectives.Quadratic(np.ones((4, 4)), np.arange(4.0))
    res = wp.minimize(f, sets.Simplex(4), method="nnls", tol=0)
    assert res.status == "stalled"
    assert res.fun == f.value(sets.Simplex(4).start())
    assert wp.minimize(f, sets.Simplex(4), tol=1e-9).success  # by the methods after it


@pytest.mark.parametrize("every", [1, 3, 10])
def test_it_ends_whenever_rounds_are_certified(every):
    f, K = objectives.LeastSquares(A, B), sets.Simplex(6)
    res = wp.minimize(f, K, method="nnls", tol=0, record_every=every)
    assert (res.status, res.nit) == ("stalled", every)
    short = wp.minimize(f, K, method="nnls", tol=0, record_every=every, max_rounds=2)
    assert short.nit == min(every, 2)


def test_a_limit_on_its_steps_leaves_the_run_where_it_is(monkeypatch):
    def refused(*arguments):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(nnls, "nnls", refused)
    f, K = objectives.LeastSquares(A, B), sets.Simplex(6)
    assert wp.minimize(f, K, method="nnls", tol=1e-9).status == "stalled"
    res = wp.minimize(f, K, tol=1e-9)
    assert res.success
    assert res.method != "nnls"


@pytest.mark.parametrize(
    ("f", "K", "word"),
    [
        (objectives.LeastSquares(A, B), sets.Box(np.zeros(6), np.ones(6)), "lists its vertices"),
        (objectives.LeastSquares(A, B), sets.L2Ball(6), "lists its vertices"),
        (objectives.Quadratic(1.0, np.ones(5000)), sets.Simplex(5000), "at most 4,000"),
        (objectives.Logistic(A, np.sign(B)), sets.Simplex(6), "Logistic gives none"),
        (lambda x: (x @ x, 2 * x), sets.Simplex(6), "quadratic f whose matrix is known"),
    ],
)
def test_refusals(f, K, word):
    with pytest.raises(CapabilityError, match=word):
        wp.minimize(f, K, method="nnls")


def test_auto_begins_with_it_where_it_is_cheap():
    f, K = objectives.LeastSquares(A, B), sets.Simplex(6)
    choice = wp.explain(f, K)
    assert choice.opening == ("nnls", {})
    assert "One solve by 'nnls' comes first" in str(choice)
    res = wp.minimize(f, K, tol=1e-9)
    assert (res.method, res.nit, res.plan.switches) == ("nnls", 1, ())
    again = wp.minimize(f, K, tol=1e-9, method=res.plan)
    assert again.x.tobytes() == res.x.tobytes()
    hull = wp.explain(f, sets.ConvexHull(POINTS))
    assert (hull.method, hull.opening) == ("corrective", ("nnls", {}))


def test_auto_keeps_it_in_reserve_where_it_is_dear_and_leaves_it_out_where_it_is_large():
    def plan(m, n):
        f = objectives.LeastSquares(np.ones((m, n)), np.ones(m))
        return [name for name, _ in wp.explain(f, sets.Simplex(n)).plan.methods]

    assert plan(200, 300)[:4] == ["conjugate", "projected", "corrective", "nnls"]
    assert "nnls" not in plan(600, 1000)
    assert wp.explain(objectives.LeastSquares(A, B), sets.Simplex(6), m=4).opening is None
