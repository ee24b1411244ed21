"""Newton steps at restarts: where they lead, and that nothing is lost where they fail."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.objectives import Huber, LeastSquares, Logistic, Multinomial, Poisson, Quantile
from wolfpack.problem import Pieces
from wolfpack.regularizers import BoxRidge, ElasticNet, SquaredNorm
from wolfpack.solvers.composite import NewtonComposite, newton
from wolfpack.solvers.parts.kinked import minimize_kinked

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


@pytest.mark.parametrize("kind", ["lasso", "weights", "box", "box and kinks", "more columns"])
def test_the_model_is_minimised(kind):
    """Random quadratics with kinks and bounds: no move of any coordinate lowers the value."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 30))
        root = rng.standard_normal((n // 2 + 1 if kind == "more columns" else 2 * n, n))
        matrix = root.T @ root + 1e-3 * np.eye(n)
        c, x0 = matrix @ rng.standard_normal(n), rng.uniform(-0.3, 0.3, n)
        kink = np.full(n, 3.0) * (rng.random(n) < (1.0 if kind == "lasso" else 0.7))
        low = high = None
        if "box" in kind:
            kink *= "kinks" in kind
            low, high = -rng.random(n), rng.random(n)
            x0 = np.clip(x0, low, high)
        before = x0.copy()
        x = minimize_kinked(matrix, c, x0, kink, low, high)
        np.testing.assert_array_equal(x0, before)
        if low is not None:
            assert np.all((low <= x) & (x <= high))
        slopes = Pieces(0.0, kink, low, high).slopes(x, c + matrix @ x)
        # the curvature is at least 1e-3, so that these slopes bound what is left
        assert abs(slopes).max(initial=0.0) <= 1e-5 * abs(c).max()


def test_models_without_kinks_are_solved_and_degenerate_ones_refused():
    matrix, c = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0])
    x = minimize_kinked(matrix, c, np.ones(2), np.zeros(2))
    np.testing.assert_allclose(matrix @ x, -c, atol=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        minimize_kinked(np.ones((2, 2)) - 2.0 * np.eye(2), c, np.ones(2), np.zeros(2))
    stuck = minimize_kinked(matrix, c, np.zeros(2), np.full(2, 5.0))
    np.testing.assert_array_equal(stuck, [0.0, 0.0])


@pytest.mark.parametrize("shape", [(60, 900), (300, 400), (200, 30)])
def test_a_lasso_takes_few_steps_of_its_working_set(shape):
    """The minimum, and the zeros, of coordinate descent; fewer than thirty passes to 1e-12."""
    n, d = shape
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    b = X[:, :5] @ rng.standard_normal(5) + 0.3 * rng.standard_normal(n)
    G = LeastSquares(X, b, reduction="mean")
    l1 = 0.03 * abs(G.gradient(np.zeros(d))).max()
    H = ElasticNet(l1, 1e-5)
    res = wp.minimize_composite(G, H, tol=1e-12)
    assert res.success
    assert res.passes < 30
    y = res.x.copy()
    for j in np.tile(np.arange(d), 3):  # coordinate descent has nothing left to do
        rest = X[:, j] @ (b - X @ y + X[:, j] * y[j]) / n
        y[j] = np.sign(rest) * max(abs(rest) - l1, 0.0) / (X[:, j] @ X[:, j] / n + 1e-5)
    np.testing.assert_allclose(y, res.x, atol=1e-4 * abs(res.x).max())
    assert np.count_nonzero(res.x) < d


def test_working_sets_hold_the_steepest_coordinates_that_a_step_can_afford():
    rng = np.random.default_rng(0)
    G = LeastSquares(rng.standard_normal((50, 2000)), rng.standard_normal(50))
    slopes, inside = rng.standard_normal(2000), np.zeros(2000, bool)
    inside[:7] = True
    chosen = newton._working_set(G, inside, slopes, passes=50.0)
    assert chosen[:7].all()
    assert 100 < chosen.sum() < 500
    assert abs(slopes[chosen & ~inside]).min() >= abs(slopes[~chosen]).max()
    assert G.hessian_passes(chosen) <= newton._MODEST
    assert newton._working_set(G, np.arange(2000) < 500, slopes, passes=2.0) is None
    everything = newton._working_set(G, ~inside, 0.0 * slopes, passes=np.inf)
    np.testing.assert_array_equal(everything, ~inside)


def test_a_batch_is_refused_and_all_rows_are_none():
    G, H = SMOOTH["logistic"], SquaredNorm(1e-3)
    with pytest.raises(TypeError, match="needs exact gradients"):
        wp.minimize_composite(G, H, method="newton", batch=8)
    whole, plain = (
        wp.minimize_composite(G, H, method=NewtonComposite(batch), tol=1e-8)
        for batch in (300, None)
    )
    np.testing.assert_array_equal(whole.x, plain.x)
