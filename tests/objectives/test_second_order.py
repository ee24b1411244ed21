"""Hessians as matrices, against differences of gradients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import wolfpack as wp
from wolfpack import objectives as o

RNG = np.random.default_rng(5)
A, B = RNG.standard_normal((40, 5)), RNG.standard_normal(40)
SIGNS, CLASSES, SHARES = np.sign(B), RNG.integers(0, 3, 40), RNG.uniform(0.1, 3.0, 40)
LOSSES = {
    "least squares": lambda X: o.LeastSquares(X, B, reduction="mean"),
    "two outputs": lambda X: o.LeastSquares(X, np.stack([B, -B], axis=1)),
    "logistic": lambda X: o.Logistic(X, SIGNS),
    "several labels": lambda X: o.Logistic(X, np.stack([SIGNS, -SIGNS], axis=1)),
    "squared hinge": lambda X: o.SquaredHinge(X, SIGNS),
    "multinomial": lambda X: o.Multinomial(X, CLASSES),
    "Huber": lambda X: o.Huber(X, B, delta=0.7),
    "quantile": lambda X: o.Quantile(X, B, q=0.8, delta=0.9),
    "Poisson": lambda X: o.Poisson(X, CLASSES),
    "weighted": lambda X: o.Weighted(o.Logistic(X, SIGNS), SHARES),
    "weighted classes": lambda X: o.Weighted(o.Multinomial(X, CLASSES), SHARES),
}


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("name", LOSSES)
def test_hessians_are_differences_of_gradients(name, kind):
    G = LOSSES[name](kind(A))
    x = 0.3 * RNG.standard_normal(G.shape)
    free = RNG.random(G.shape) < 0.7
    free.flat[0] = True
    H = np.zeros((x.size, x.size))
    for places, matrix in G.hessian_blocks(G.evaluate(x).dual, free):
        H[np.ix_(places, places)] = matrix
    for j in np.flatnonzero(free):
        h = np.zeros(x.size)
        h[j] = 1e-6
        h = h.reshape(x.shape)
        column = (G.gradient(x + h) - G.gradient(x - h)).ravel() / 2e-6
        np.testing.assert_allclose(H[:, j], np.where(free.ravel(), column, 0.0), atol=1e-6)
    assert 0.0 < G.hessian_passes(free) < 10.0


def test_large_sums_use_a_sample_of_rows():
    rows = RNG.standard_normal((60_000, 64))
    G = o.Logistic(rows, np.sign(rows[:, 0]))
    at, free = G.evaluate(np.zeros(64)), np.ones(64, bool)
    ((_, sampled),) = G.hessian_blocks(at.dual, free)
    exact = 0.25 * rows.T @ rows / len(rows)
    assert 0.0 < abs(sampled - exact).max() < 0.04
    squares = o.LeastSquares(rows, rows[:, 0])  # one step with the exact Hessian is enough
    ((_, full),) = squares.hessian_blocks(at.dual, free)
    np.testing.assert_allclose(full, rows.T @ rows, atol=1e-8)
    assert G.hessian_passes(free) < 1.5  # and all rows would take four passes


def test_hessians_that_are_too_large_or_unknown():
    wide = o.Logistic(RNG.standard_normal((3, 3000)), [1, 0, 1])
    assert wide.hessian_passes(np.ones(3000, bool)) == np.inf
    assert wide.hessian_passes(np.arange(3000) < 10) < 1.0
    f = o.Quadratic(1.0, -np.eye(3)[0])
    assert f.hessian_blocks(0.0, np.ones(3, bool)) is None
    assert f.hessian_passes(np.ones(3, bool)) == np.inf


@pytest.mark.parametrize(
    "H",
    [
        wp.regularizers.SquaredNorm(0.5),
        wp.regularizers.ElasticNet(np.array([0.1, 0.0, 0.2, 0.3]), 0.5),
        wp.regularizers.ElasticNet(0.0, np.array([0.1, 1.0, 0.2, 0.3])),
        wp.regularizers.BoxRidge(-np.ones(4), np.ones(4), 0.5),
    ],
    ids=["ridge", "elastic net", "ridges", "box"],
)
def test_pieces_are_the_regulariser(H):
    pieces = H.pieces()
    low = np.full(4, -np.inf) if pieces.low is None else pieces.low
    high = np.full(4, np.inf) if pieces.high is None else pieces.high
    for _ in range(20):
        y = np.clip(RNG.standard_normal(4), low, high) * (RNG.random(4) < 0.7)
        value = (pieces.kink * abs(y)).sum() + 0.5 * (pieces.ridge * y * y).sum()
        assert H.value(y) == pytest.approx(value, abs=1e-12)
        gradient = RNG.standard_normal(4)
        slopes = pieces.slopes(y, gradient)
        for j in range(4):
            # a coordinate can go down exactly where its least slope is not 0
            lower = []
            for h in (-1e-7, 1e-7):
                other = y.copy()
                other[j] = np.clip(y[j] + h, low[j], high[j])
                lower.append((H.value(other) - H.value(y) + gradient[j] * (other[j] - y[j])) / 1e-7)
            assert min(0.0, *lower) == pytest.approx(-abs(slopes[j]), abs=1e-5)
    assert pieces.inside(np.full(4, 0.5)).all()
