"""Matrix completion: dense and factored questions, the conjugate, and bad observations."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import LowRank, SparseMatrix, inner
from wolfpack.objectives import MatrixCompletion

RNG = np.random.default_rng(0)
ROWS, COLUMNS = np.divmod(RNG.choice(6 * 5, 12, replace=False), 5)
VALUES = RNG.standard_normal(12)
F = MatrixCompletion(ROWS, COLUMNS, VALUES, (6, 5))


def low_rank(seed: int = 1) -> LowRank:
    rng = np.random.default_rng(seed)
    return LowRank(rng.standard_normal((6, 2)), rng.random(2), rng.standard_normal((5, 2)))


def test_value_and_gradient_by_hand():
    X = RNG.standard_normal((6, 5))
    expected = np.zeros((6, 5))
    expected[ROWS, COLUMNS] = X[ROWS, COLUMNS] - VALUES
    value, gradient = F(X)
    assert value == pytest.approx(0.5 * (expected**2).sum())
    np.testing.assert_allclose(gradient, expected)
    assert F.value(X) == value


def test_a_factored_question_gets_a_sparse_answer():
    X = low_rank()
    dense, sparse = F.evaluate(X.to_dense()), F.evaluate(X)
    assert isinstance(sparse.gradient, SparseMatrix)
    assert sparse.value == pytest.approx(dense.value)
    np.testing.assert_allclose(np.asarray(sparse.gradient), dense.gradient)
    np.testing.assert_allclose(sparse.dual, dense.dual)


def test_the_conjugate_is_exact():
    X = RNG.standard_normal((6, 5))
    at = F.evaluate(X)
    assert F.conjugate_bound(at.dual) == pytest.approx(inner(X, at.gradient) - at.value)


def test_second_derivatives():
    X, D = low_rank(1), low_rank(2)
    for x, d in ((X, D), (X.to_dense(), D.to_dense())):
        assert F.curvature(x, d) == pytest.approx(inner(F.hessian_product(x, d), d))
        assert F.curvature(x, d) <= F.L * inner(d, d)
        along = F.slope_along(x, d)
        assert along(0.0) == pytest.approx(inner(F.gradient(x), d))
        assert along(2.0) == pytest.approx(along(0.0) + 2 * F.curvature(x, d))


def test_noise_on_the_observations():
    K = wp.sets.TraceNormBall((6, 5), 2.0)
    res = wp.minimize(F, K, method="anytime", smoothing="image", m=8, tol=0.05, max_rounds=3000)
    assert res.success
    theta = RNG.standard_normal((3, 12))
    back = F.pull_back(theta)
    assert back.shape == (3, 6, 5)
    X = RNG.standard_normal((6, 5))
    assert inner(back[1], X) == pytest.approx(theta[1] @ (F.A @ X))


SCALES = RNG.random(6) + 0.5, RNG.random(5) + 0.5
SCALED = MatrixCompletion(ROWS, COLUMNS, VALUES, (6, 5), SCALES)


def test_scales_change_the_units_of_rows_and_columns():
    for X in (low_rank(), low_rank().to_dense()):
        Z = np.asarray(SCALED.completed(X))
        np.testing.assert_allclose(Z, SCALES[0][:, None] * np.asarray(X) * SCALES[1])
        assert SCALED.value(X) == pytest.approx(F.value(Z))
        gradient = np.asarray(SCALED.evaluate(X).gradient)
        np.testing.assert_allclose(gradient, SCALES[0][:, None] * F.gradient(Z) * SCALES[1])
        assert SCALED.curvature(X, X) == pytest.approx(F.curvature(Z, Z))
        assert SCALED.curvature(X, X) <= SCALED.L * inner(X, X)
    assert F.completed(X) is X


def test_scaled_conjugate_images_and_forms():
    X = RNG.standard_normal((6, 5))
    at = SCALED.evaluate(X)
    assert SCALED.conjugate_bound(at.dual) == pytest.approx(inner(X, at.gradient) - at.value)
    np.testing.assert_allclose(SCALED.pull_back(at.dual[None])[0], at.gradient)
    form = SCALED.quadratic_form()
    x = X.ravel()
    constant = 0.5 * float(VALUES @ VALUES)
    assert 0.5 * x @ (form.P @ x) + form.q @ x + constant == pytest.approx(at.value)


def test_scales_from_counts():
    f = MatrixCompletion([0, 0, 1], [0, 1, 0], [1.0, 2.0, 3.0], (2, 2), "counts")
    np.testing.assert_allclose(f.scales[0], np.sqrt(2.5 / np.array([3.0, 2.0])))
    np.testing.assert_allclose(f.scales[1], np.sqrt(2.5 / np.array([3.0, 2.0])))


@pytest.mark.parametrize("f", [F, SCALED], ids=["plain", "scaled"])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_best_factor_is_a_ridge_regression(f, transposed):
    factor, ridge = RNG.standard_normal((6 if transposed else 5, 2)), 0.3
    found = f.best_factor(factor, ridge, transposed)

    def penalised(W):
        X = factor @ W.T if transposed else W @ factor.T
        return f.value(X) + 0.5 * ridge * float((W**2).sum())

    least = penalised(found)
    for _ in range(20):
        step = 1e-3 * RNG.standard_normal(found.shape)
        assert least < penalised(found + step)
        assert penalised(found + step) - least == pytest.approx(penalised(found - step) - least)


@pytest.mark.parametrize(
    ("scales", "error", "message"),
    [
        (([1.0] * 6, [1.0] * 4), ValueError, "5 positive numbers for the columns"),
        (([0.0] * 6, [1.0] * 5), ValueError, "6 positive numbers for the rows"),
        ("rows", TypeError, "scales must be a pair of vectors"),
        (2.0, TypeError, "scales must be a pair of vectors"),
    ],
)
def test_bad_scales_are_named(scales, error, message):
    with pytest.raises(error, match=message):
        MatrixCompletion(ROWS, COLUMNS, VALUES, (6, 5), scales)


def test_other_methods_see_arrays():
    K = wp.sets.TraceNormBall((6, 5), 2.0)
    runs = [
        wp.minimize(F, K, method=method, tol=1e-3, max_rounds=5000)
        for method in ("fw-ls", "corrective", "projected")
    ]
    assert all(res.success for res in runs)
    assert np.ptp([res.fun for res in runs]) <= 2e-3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 0], [1, 1], [1.0, 2.0], (2, 2)), ValueError, r"entry \(0, 1\).*more than once"),
        (([0], [2], [1.0], (2, 2)), ValueError, "columns must lie between 0 and 1, found 2"),
        (([-1], [0], [1.0], (2, 2)), ValueError, "rows must lie between 0 and 1, found -1"),
        (([0.5], [0], [1.0], (2, 2)), TypeError, "rows must hold integers"),
        (([0], [0], [np.nan], (2, 2)), ValueError, "values has 1 NaN"),
        (([0, 1], [0], [1.0], (2, 2)), ValueError, "one length"),
        (([], [], [], (2, 2)), TypeError, "rows must hold integers"),
        (([0], [0], [1.0], (0, 2)), ValueError, "shape must be at least 1"),
        (([0], [0], [1.0], 4), TypeError, r"shape must be \(p, q\)"),
    ],
)
def test_bad_observations_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        MatrixCompletion(*arguments)


def test_empty_observations_are_named():
    none = np.zeros(0, dtype=int)
    with pytest.raises(ValueError, match="must not be empty"):
        MatrixCompletion(none, none, np.zeros(0), (2, 2))
