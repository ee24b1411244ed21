"""Newton steps at restarts: where they lead, and that nothing is lost where they fail."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.objectives import Huber, LeastSquares, Logistic, Multinomial, Poisson, Quantile
from wolfpack.regularizers import BoxRidge, ElasticNet, SquaredNorm
from wolfpack.solvers.composite import NewtonComposite, newton

RNG = np.random.default_rng(11)
A = RNG.standard_normal((300, 12)) @ np.diag(np.logspace(-2, 1, 12)) @ RNG.standard_normal((12, 12))
B = A @ RNG.standard_normal(12) + RNG.standard_normal(300)
SMOOTH = {
    "least squares": LeastSquares(A, B, reduction="mean"),
    "logistic": Logistic(A, np.sign(B)),
    "multinomial": Multinomial(A, (B > 0).astype(int) + (B > 2)),
    "Huber": Huber(A, B),
    "quantile": Quantile(A, B, q=0.9),
    "Poisson": Poisson(A, RNG.poisson(np.exp(np.clip(0.1 * B, None, 2.0)))),
}
SIMPLE = {
    "ridge": lambda shape: SquaredNorm(1e-4),
    "elastic net": lambda shape: ElasticNet(0.02, 1e-4),
    "box": lambda shape: BoxRidge(np.full(shape, -0.2), 0.5, 1e-4),
}


@pytest.mark.parametrize("simple", SIMPLE)
@pytest.mark.parametrize("smooth", SMOOTH)
def test_ill_conditioned_problems_take_few_passes(smooth, simple):
    G = SMOOTH[smooth]
    H = SIMPLE[simple](G.shape)
    res = wp.minimize_composite(G, H, method="newton", tol=1e-9)
    searched = wp.minimize_composite(G, H, beta="search", tol=1e-7, max_rounds=1500)
    assert res.success
    assert res.passes < 80
    assert res.passes < searched.passes
    assert res.lower_bound <= searched.fun
    assert searched.lower_bound <= res.fun <= searched.fun + 1e-9
    assert res.fun == pytest.approx(G.value(res.x) + H.value(res.x), abs=1e-12)


def test_newton_steps_converge_quadratically():
    G, H = SMOOTH["logistic"], SquaredNorm(1e-3)
    res = wp.minimize_composite(G, H, method="newton", tol=1e-13, record_every=1)
    gaps = res.history["gap"]
    assert res.nit <= 15
    fast = gaps[gaps < 1e-2 * gaps[0]]
    assert np.any(fast[1:] < 1e-4 * fast[:-1])


def test_a_ridge_regression_is_one_step():
    G, H = SMOOTH["least squares"], SquaredNorm(1e-3)
    exact = np.linalg.solve(A.T @ A / 300 + 1e-3 * np.eye(12), A.T @ B / 300)
    res = wp.minimize_composite(G, H, method="newton", tol=1e-10)
    assert res.nit == 1
    np.testing.assert_allclose(res.x, exact, rtol=1e-8)


@pytest.mark.parametrize("simple", SIMPLE)
def test_steps_never_raise_f(simple):
    G = SMOOTH["Poisson"]
    H = SIMPLE[simple](G.shape)
    start = RNG.uniform(-0.2, 0.5, 12)
    res = wp.minimize_composite(G, H, start, method="newton", tol=0, max_rounds=30, record_every=1)
    values = res.history["fun"]
    assert res.state.leap.last > 0
    assert values[-1] <= values[0]
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))


def test_wrong_hessians_cost_rounds_and_no_certificate(monkeypatch):
    """A direction that does not descend is refused, and Algorithm 1 goes on."""
    G, H = SMOOTH["logistic"], ElasticNet(0.02, 1e-2)
    best = wp.minimize_composite(G, H, tol=1e-8)
    true = newton._newton_step
    monkeypatch.setattr(newton, "_newton_step", lambda *data: -true(*data))
    res = wp.minimize_composite(G, H, method="newton", tol=1e-5, max_rounds=5000)
    assert res.success
    assert res.state.leap.failures > 0
    assert res.lower_bound <= best.fun <= res.fun <= best.fun + 1e-5
    monkeypatch.setattr(newton, "_newton_step", lambda *data: None)
    assert wp.minimize_composite(G, H, method="newton", tol=1e-5, max_rounds=5000).success


def test_dear_steps_wait_for_rounds_of_the_same_cost(monkeypatch):
    G, H = SMOOTH["logistic"], SquaredNorm(1e-4)
    monkeypatch.setattr(type(G), "hessian_passes", lambda self, free: 25.0)
    res = wp.minimize_composite(G, H, method="newton", tol=1e-9, record_every=1)
    plain = wp.minimize_composite(G, H, beta="search", tol=0, max_rounds=25, record_every=1)
    np.testing.assert_array_equal(res.history["fun"][:26], plain.history["fun"])
    assert res.history["gap"][-1] < 1e-3 * res.history["gap"][25]


def test_the_model_is_minimised_within_the_box():
    """The least value of random quadratics over orthants and boxes, against a solver of others."""
    optimize = pytest.importorskip("scipy.optimize")
    for seed in range(30):
        rng = np.random.default_rng(seed)
        root, slopes = rng.standard_normal((9, 6)), 3.0 * rng.standard_normal(6)
        matrix, low, high = root.T @ root + 0.1 * np.eye(6), -rng.random(6), rng.random(6)
        x = newton._least(matrix, slopes, low, high)
        found = slopes @ x + 0.5 * x @ matrix @ x
        factor = np.linalg.cholesky(matrix).T
        target = -np.linalg.solve(factor.T, slopes)
        best = optimize.lsq_linear(factor, target, (low, high)).x
        assert np.all((low <= x) & (x <= high))
        assert found < 0.0
        least = slopes @ best + 0.5 * best @ matrix @ best
        assert found <= 0.5 * least  # coordinates at a bound stay there, so it need not be least


def test_a_batch_is_refused_and_all_rows_are_none():
    G, H = SMOOTH["logistic"], SquaredNorm(1e-3)
    with pytest.raises(TypeError, match="needs exact gradients"):
        wp.minimize_composite(G, H, method="newton", batch=8)
    whole, plain = (
        wp.minimize_composite(G, H, method=NewtonComposite(batch), tol=1e-8)
        for batch in (300, None)
    )
    np.testing.assert_array_equal(whole.x, plain.x)
