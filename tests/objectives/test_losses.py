"""Each loss: its formula, its minimum with an elastic net against CVXPY, and bad input."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import wolfpack as wp
from wolfpack.objectives import (
    Huber,
    LeastSquares,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    SquaredHinge,
    Weighted,
)

N, D = 30, 4
RNG = np.random.default_rng(3)
A = RNG.standard_normal((N, D))
B = A @ np.array([1.0, -0.5, 0.0, 0.3]) + RNG.standard_t(2, N)
SIGNS = np.where(B > 0, 1, -1)
CLASSES = np.digitize(B, [-0.7, 0.7])
COUNTS = RNG.poisson(np.exp(0.4 * A[:, 0]))


def smoothed_pinball(r, q, delta):
    """The largest u r - delta u^2 / 2 with q-1 <= u <= q, as an infimal convolution."""
    s = cp.Variable(N)
    pinball = cp.sum(cp.maximum(q * s, (q - 1) * s))
    return pinball + cp.sum_squares(r - s) / (2 * delta)


LOSSES = {
    "huber": (
        Huber(A, B, delta=0.7),
        lambda y: cp.sum(cp.huber(A @ y - B, 0.7)) / (2 * N),
    ),
    "squared hinge": (
        SquaredHinge(csr_array(A), SIGNS, reduction="sum"),
        lambda y: cp.sum_squares(cp.pos(1 - cp.multiply(SIGNS, A @ y))) / 2,
    ),
    "poisson": (
        Poisson(A, COUNTS),
        lambda y: cp.sum(cp.exp(A @ y) - cp.multiply(COUNTS, A @ y)) / N,
    ),
    "quantile": (
        Quantile(A, B, q=0.8, delta=0.3),
        lambda y: smoothed_pinball(B - A @ y, 0.8, 0.3) / N,
    ),
    "multinomial": (
        Multinomial(A, CLASSES),
        lambda Y: (
            cp.sum([cp.log_sum_exp((A @ Y)[i]) - (A @ Y)[i, CLASSES[i]] for i in range(N)]) / N
        ),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_minimum_against_an_independent_solver(name):
    G, formula = LOSSES[name]
    y = cp.Variable(G.shape)
    loss = formula(y)
    problem = cp.Problem(cp.Minimize(loss + 0.05 * cp.sum(cp.abs(y)) + 0.1 * cp.sum_squares(y)))
    problem.solve(solver=cp.CLARABEL)
    res = wp.minimize_composite(G, wp.regularizers.ElasticNet(0.05, mu=0.2), tol=1e-8)
    assert res.success
    assert res.fun == pytest.approx(problem.value, abs=1e-6)
    assert res.lower_bound <= problem.value + 1e-7
    np.testing.assert_allclose(res.x, y.value, atol=1e-3)
    if name != "quantile":  # its formula minimises over s as well
        y.value = np.random.default_rng(0).standard_normal(G.shape) / 3
        assert G.value(y.value) == pytest.approx(float(np.asarray(loss.value)), rel=1e-9)


def test_poisson_says_when_it_is_the_exponential():
    G = LOSSES["poisson"][0]
    assert G.within_cap(np.zeros(D))
    assert not G.within_cap(np.full(D, 100.0))


def test_smoothed_quantile_is_close_to_the_pinball_loss():
    for q in (0.1, 0.5, 0.9):
        G = Quantile(A, B, q, delta=0.01)
        r = B - A @ np.ones(D)
        pinball = np.maximum(q * r, (q - 1) * r).mean()
        assert pinball - 0.005 * max(q, 1 - q) ** 2 <= G.value(np.ones(D)) <= pinball


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Logistic(A, CLASSES), r"labels must be -1/\+1 or 0/1, found \[0.0, 1.0, 2.0\]"),
        (lambda: Logistic(A, ["a"] * N), "labels must be -1/.*found dtype <U1"),
        (lambda: SquaredHinge(A, SIGNS[1:]), r"labels must have shape \(30,\).*found \(29,\)"),
        (lambda: SquaredHinge(A, SIGNS, "total"), "reduction must be 'mean' or 'sum'"),
        (lambda: Multinomial(A, CLASSES - 1), "labels must be between 0 and 1, found -1 to 1"),
        (lambda: Multinomial(A, CLASSES, 2), "labels must be between 0 and 1, found 0 to 2"),
        (lambda: Multinomial(A, 0 * CLASSES), "at least 2 classes, found 1"),
        (lambda: Multinomial(A, B), "labels must be the integers"),
        (lambda: Poisson(A, B), "counts must be at least 0"),
        (lambda: Poisson(A, COUNTS, cap=1e4), "cap must be a number in .-700, 700"),
        (lambda: Huber(A, B, delta=0), "delta must be a positive finite number, found 0"),
        (lambda: Huber(A, np.where(B > 1, np.nan, B)), "targets has .* NaN"),
        (lambda: Huber(np.where(A > 2, np.inf, A), B), "features has .* NaN or infinite"),
        (lambda: Quantile(A, B, q=1), "q must be a number in .0, 1., found 1"),
        (lambda: Quantile(A, B, delta=-1), "delta must be a positive finite number"),
        (lambda: Huber(A[:0], B[:0]), "features must not be empty"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_constant_features_are_fine():
    flat = np.ones((N, 2))
    for G in (LeastSquares(flat, B), Logistic(0 * flat, SIGNS), Huber(flat, B)):
        res = wp.minimize_composite(G, wp.regularizers.SquaredNorm(0.1), tol=1e-6)
        assert res.success


@pytest.mark.parametrize("make", [lambda A, b: Logistic(A, b), lambda A, b: Huber(A, b, 0.5)])
def test_weights_count_copies(make):
    counts = RNG.integers(0, 4, N)
    copies = np.repeat(np.arange(N), counts)
    f, g = Weighted(make(A, SIGNS), counts * (N / counts.sum())), make(A[copies], SIGNS[copies])
    y = RNG.standard_normal(D)
    assert f.value(y) == pytest.approx(g.value(y))
    np.testing.assert_allclose(f.gradient(y), g.gradient(y))
    assert pytest.approx(g.L) == f.L
    assert pytest.approx(g.L1) == f.L1
    best = wp.minimize_composite(g, wp.regularizers.SquaredNorm(0.1), tol=1e-10)
    for options in ({"beta": "search"}, {"batch": 5, "variance_reduction": True}):
        res = wp.minimize_composite(f, wp.regularizers.SquaredNorm(0.1), tol=1e-8, **options)
        assert res.success
        assert res.fun == pytest.approx(best.fun, abs=1e-8)
    scaled = wp.minimize_composite(f, wp.regularizers.SquaredNorm(0.1), tol=1e-8, scale="columns")
    assert scaled.success


@pytest.mark.parametrize(
    ("base", "weights", "error", "message"),
    [
        (LeastSquares(A, B), np.ones(N), TypeError, "loss of rows .*found LeastSquares"),
        (Huber(A, B), np.ones(N - 1), ValueError, r"weights must have shape \(30,\)"),
        (Huber(A, B), -np.ones(N), ValueError, "weights must be at least 0"),
        (Huber(A, B), np.zeros(N), ValueError, "not all of them 0"),
        (Huber(A, B), np.full(N, np.nan), ValueError, "weights has 30 NaN"),
        (Huber(aslinearoperator(A), B), np.ones(N), TypeError, "need features in a NumPy array"),
    ],
)
def test_bad_weights(base, weights, error, message):
    with pytest.raises(error, match=message):
        Weighted(base, weights)
