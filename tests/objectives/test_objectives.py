"""Objectives: gradients against differences, constants against eigenvalues, conjugates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import wolfpack as wp
from wolfpack.objectives._spectrum import spectral_norm_squared

RNG = np.random.default_rng(0)
A = RNG.standard_normal((12, 5))
B = RNG.standard_normal((12, 3))
LABELS = RNG.choice([0, 1], 12)
CLASSES = np.arange(12) % 3
WEIGHTS = np.arange(12.0) / 5.5  # the first is 0
Q = A.T @ A
CASES = {
    "least squares": wp.objectives.LeastSquares(A, B[:, 0]),
    "least squares, matrix": wp.objectives.LeastSquares(A, B),
    "least squares, sparse": wp.objectives.LeastSquares(sp.csr_array(A), B[:, 0]),
    "least squares, operator": wp.objectives.LeastSquares(aslinearoperator(A), B[:, 0]),
    "quadratic": wp.objectives.Quadratic(Q, B[:5, 0], 2.0),
    "quadratic, sparse": wp.objectives.Quadratic(sp.csr_array(Q), B[:5, 0]),
    "quadratic, operator": wp.objectives.Quadratic(aslinearoperator(Q), B[:5, 0]),
    "quadratic, number": wp.objectives.Quadratic(2.0, B[:5], 1.0),
    "logistic": wp.objectives.Logistic(A, LABELS),
    "logistic, sum": wp.objectives.Logistic(A, 2 * LABELS - 1, reduction="sum"),
    "multinomial": wp.objectives.Multinomial(A, CLASSES),
    "multinomial, sparse": wp.objectives.Multinomial(sp.csr_array(A), CLASSES, 4, reduction="sum"),
    "huber": wp.objectives.Huber(A, B[:, 0], delta=0.8),
    "logistic, one against the rest": wp.objectives.Logistic(A, CLASSES[:, None] == [0, 1, 2]),
    "squared hinge": wp.objectives.SquaredHinge(A, LABELS),
    "poisson": wp.objectives.Poisson(0.5 * A, CLASSES),
    "poisson, beyond its cap": wp.objectives.Poisson(A, CLASSES, cap=-0.2, reduction="sum"),
    "quantile": wp.objectives.Quantile(A, B[:, 0], q=0.8, delta=1.5),
    "weighted": wp.objectives.Weighted(wp.objectives.Logistic(A, LABELS), WEIGHTS),
    "weighted, matrix": wp.objectives.Weighted(
        wp.objectives.Multinomial(sp.csr_array(A), CLASSES), WEIGHTS
    ),
    "logistic, sparse": wp.objectives.Logistic(sp.csr_matrix(A), LABELS),
}


@pytest.fixture(params=CASES)
def f(request):
    return CASES[request.param]


def points(f, count=2, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(f.shape) for _ in range(count)]


def test_gradient_against_differences(f):
    x, d = points(f)
    h = 1e-6
    difference = (f.value(x + h * d) - f.value(x - h * d)) / (2 * h)
    assert float((f.gradient(x) * d).sum()) == pytest.approx(difference, rel=1e-6)


def test_value_and_gradient_agree_with_evaluate(f):
    (x,) = points(f, 1)
    value, gradient = f(x)
    assert value == pytest.approx(f.value(x))
    np.testing.assert_array_equal(gradient, f.gradient(x))


def test_L_is_the_largest_curvature(f):
    (x,) = points(f, 1)
    size = int(np.prod(f.shape))
    h, hessian = 1e-5, np.zeros((size, size))
    for i, e in enumerate(np.eye(size)):
        e = e.reshape(f.shape)
        column = (f.gradient(x + h * e) - f.gradient(x - h * e)) / (2 * h)
        hessian[:, i] = column.reshape(-1)
    top = np.linalg.eigvalsh(hessian)[-1]
    assert top * (1 - 1e-6) <= f.L
    if f.curvature(x, x) is not None:
        assert pytest.approx(top, rel=2e-3) == f.L


def test_conjugate_bound_is_one_and_is_tight_at_a_gradient(f):
    x, other = points(f)
    for point in (x, other):
        at = f.evaluate(point)
        exact = float((point * at.gradient).sum()) - at.value  # f*(grad f(x)), Fenchel-Young
        assert f.conjugate_bound(at.dual) == pytest.approx(exact, abs=1e-10)
    first, second = f.evaluate(x), f.evaluate(other)
    y = 0.3 * first.gradient + 0.7 * second.gradient
    bound = f.conjugate_bound(0.3 * first.dual + 0.7 * second.dual)
    trials = [float((z * y).sum()) - f.value(z) for z in points(f, 500, seed=2)]
    assert bound >= max(trials)
    numbers = 0.3 * f.conjugate_bound(first.dual) + 0.7 * f.conjugate_bound(second.dual)
    assert bound <= numbers + 1e-12  # tighter than the averaged numbers, by convexity


def test_curvature_is_the_second_derivative(f):
    x, d = points(f)
    exact = f.curvature(x, d)
    if exact is None:
        pytest.skip("not quadratic")
    second = f.value(x + d) - 2 * f.value(x) + f.value(x - d)
    assert exact == pytest.approx(second, rel=1e-9)


def test_function_carries_the_number_that_bounds_the_conjugate():
    f = CASES["logistic"]
    opaque = wp.objectives.Function(f.value_and_gradient)
    (x,) = points(f, 1)
    assert opaque.conjugate_bound(opaque.evaluate(x).dual) == pytest.approx(
        f.conjugate_bound(f.evaluate(x).dual), abs=1e-12
    )
    assert opaque.L is None


@pytest.mark.parametrize("shape", [(700, 650), (40, 3000)])
def test_power_iteration_bounds_the_spectral_norm_from_above(shape):
    matrix = np.random.default_rng(3).standard_normal(shape)
    exact = np.linalg.norm(matrix, 2) ** 2
    for form in (matrix, sp.csr_array(matrix), aslinearoperator(matrix)):
        assert exact * (1 - 1e-9) <= spectral_norm_squared(form) <= 1.05 * exact


def test_large_operators_give_L():
    diagonal = np.linspace(0.0, 7.0, 2000)
    operator = LinearOperator((2000, 2000), matvec=lambda x: diagonal * x, dtype=float)  # type: ignore[call-arg]
    f = wp.objectives.Quadratic(operator, np.zeros(2000))
    assert pytest.approx(7.0, rel=1e-2) == f.L
    assert f.L >= 7.0 * (1 - 1e-6)


def test_integer_data_are_accepted():
    f = wp.objectives.LeastSquares(np.eye(3, dtype=int), [1, 2, 3])
    assert f.value(np.zeros(3)) == 7.0


def test_float32_data_stay_float32():
    f = wp.objectives.LeastSquares(A.astype(np.float32), B[:, 0].astype(np.float32))
    assert f.gradient(np.zeros(5, np.float32)).dtype == np.float32


def test_images_are_linear_and_all_that_f_sees(f):
    x, other = points(f)
    mixed = 0.3 * f.image(x) + 0.7 * f.image(other)
    at, expected = f.evaluate_image(mixed), f.evaluate(0.3 * x + 0.7 * other)
    assert at.value == pytest.approx(expected.value)
    assert f.image_value(mixed) == pytest.approx(expected.value)
    slopes = f.image_slopes(mixed)
    np.testing.assert_array_equal(slopes, f.image_gradient(at))
    along = float((slopes * f.image(x)).sum())
    assert along == pytest.approx(float((at.gradient * x).sum()))
    np.testing.assert_allclose(at.gradient, expected.gradient, atol=1e-9)
