"""All objectives on every array library: NumPy's float64 answers, in the library's own arrays."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from backends import EVERY, Backend
from wolfpack.arrays import inner, namespace, to_host
from wolfpack.objectives._move import on_device
from wolfpack.objectives.design import Design

N, D = 12, 5
RNG = np.random.default_rng(0)
A = RNG.standard_normal((N, D)).astype(np.float32).astype(float)
B = RNG.standard_normal((N, 3)).astype(np.float32).astype(float)
Q = (A.T @ A).astype(np.float32).astype(float)
SIGNS = np.where(B[:, 0] > 0, 1, -1)
CLASSES = np.arange(N) % 3
ROWS, COLUMNS = np.array([0, 2, 1, 3]), np.array([1, 0, 2, 2])
TIMES = np.array([1.0, 2.0, 0.5, 3.0, 0.0])
o = wp.objectives
MAKE = {
    "least squares": lambda a: o.LeastSquares(a(A), a(B[:, 0])),
    "least squares, matrix": lambda a: o.LeastSquares(a(A), a(B), reduction="mean"),
    "quadratic": lambda a: o.Quadratic(a(Q), a(B[:D, 0]), 2.0),
    "quadratic, number": lambda a: o.Quadratic(2.0, a(B[:D]), 1.0),
    "logistic": lambda a: o.Logistic(a(A), a(SIGNS)),
    "logistic, one against the rest": lambda a: o.Logistic(a(A), a(CLASSES[:, None] == [0, 1])),
    "multinomial": lambda a: o.Multinomial(a(A), a(CLASSES), 4),
    "huber": lambda a: o.Huber(a(A), a(B[:, 0]), delta=0.8),
    "squared hinge": lambda a: o.SquaredHinge(a(A), a(SIGNS), reduction="sum"),
    "poisson": lambda a: o.Poisson(a(0.5 * A), a(CLASSES), cap=0.3),
    "quantile": lambda a: o.Quantile(a(A), a(B[:, 0]), q=0.8, delta=1.5),
    "completion": lambda a: o.MatrixCompletion(a(ROWS), a(COLUMNS), a(B[:4, 0]), (4, 3)),
    "log utility": lambda a: o.LogUtility(a(np.exp(0.5 * A).astype(np.float32).astype(float))),
    "poisson, no cap": lambda a: o.Poisson(a(0.5 * A), a(CLASSES), cap=np.inf),
    "d-optimal": lambda a: o.DOptimal(a(A)),
    "a-optimal": lambda a: o.AOptimal(a(A)),
    "bpr": lambda a: o.BPR(a(TIMES), a(2.0 + TIMES), power=a(np.arange(1.0, 6.0))),
}


NUMPY32 = pytest.param(Backend("numpy32", "numpy", np.float32), id="numpy32")


@pytest.fixture(params=[*EVERY, NUMPY32])
def backend(request):
    pytest.importorskip(request.param.library)
    with request.param.active():
        yield request.param


@pytest.fixture(params=MAKE)
def pair(request, backend: Backend):
    """An objective in NumPy's float64 and the same on another library."""
    return MAKE[request.param](np.asarray), MAKE[request.param](backend.array)


def points(f, count=2):
    rng = np.random.default_rng(1)
    return [rng.uniform(0, 1, f.shape).astype(np.float32).astype(float) for _ in range(count)]


def close(backend: Backend, found, expected, factor=40.0):
    tol = factor * backend.eps
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol * (1 + np.max(abs(expected))))


def test_value_gradient_and_dual_point(backend: Backend, pair):
    f, there = pair
    (x,) = points(f, 1)
    at, found = f.evaluate(x), there.evaluate(backend.array(x))
    assert type(found.value) is float
    close(backend, found.value, at.value)
    close(backend, backend.host(found.gradient), at.gradient)
    # designs keep their small matrices on the host, in double precision
    dual = found.dual if isinstance(f, Design) else backend.host(found.dual)
    close(backend, dual, at.dual)
    close(backend, there.value(backend.array(x)), at.value)


def test_gradient_against_differences(backend: Backend, pair):
    _, there = pair
    x, d = points(there)
    h = backend.eps ** (1 / 3)
    up, down = (there.value(backend.array(x + s * h * d)) for s in (1, -1))
    slope = inner(there.gradient(backend.array(x)), backend.array(d))
    assert slope == pytest.approx((up - down) / (2 * h), rel=0, abs=3e3 * h * h * (1 + abs(slope)))


def test_conjugate_bound(backend: Backend, pair):
    f, there = pair
    x, other = points(f)
    duals = [
        0.3 * g.evaluate(a(x)).dual + 0.7 * g.evaluate(a(other)).dual
        for g, a in ((f, np.asarray), (there, backend.array))
    ]
    bound = there.conjugate_bound(duals[1])
    assert type(bound) is float
    close(backend, bound, f.conjugate_bound(duals[0]), 400.0)


def test_constants_and_line_searches(backend: Backend, pair):
    f, there = pair
    x, d = points(f)
    if f.L is not None:
        assert there.L * (1 + backend.eps) >= f.L * (1 - 1e-9)
        assert there.L <= f.L * (1 + 1e-4)
    if f.curvature(x, d) is not None:
        close(backend, there.curvature(backend.array(x), backend.array(d)), f.curvature(x, d))
    if f.hessian_product(x, d) is not None:
        product = there.hessian_product(backend.array(x), backend.array(d))
        close(backend, backend.host(product), f.hessian_product(x, d))
    slope = there.slope_along(backend.array(x), backend.array(d))(0.5)
    close(backend, slope, f.slope_along(x, d)(0.5), 400.0)


def test_pull_back(backend: Backend, pair):
    f, there = pair
    if f.image_shape is None:
        pytest.skip("no linear model")
    theta = RNG.standard_normal((2, *f.image_shape)).astype(np.float32).astype(float)
    close(backend, backend.host(there.pull_back(backend.array(theta))), f.pull_back(theta))


def test_minibatches_and_columns(backend: Backend, pair):
    f, there = pair
    if not isinstance(f, o.finite_sum.FiniteSum):
        pytest.skip("no finite sum")
    (x,) = points(f, 1)
    rows, weights = np.array([3, 0, 7]), np.array([1.0, 2.0, 3.0])
    for w in (None, weights):
        found = there.minibatch_gradient(backend.array(x), rows, w)
        close(backend, backend.host(found), f.minibatch_gradient(x, rows, w))
    if f.L is not None:
        close(backend, there.L1, f.L1)
        close(backend, there.row_smoothness(), f.row_smoothness())
    scales = f.column_scales()
    close(backend, there.column_scales(), scales)
    scaled = there.scaled(scales).gradient(backend.array(x))
    close(backend, backend.host(scaled), f.scaled(scales).gradient(x))


def test_large_matrices_give_L(backend: Backend):
    matrix = np.random.default_rng(3).standard_normal((700, 520))
    exact = np.linalg.norm(matrix, 2) ** 2
    f = o.LeastSquares(backend.array(matrix), backend.array(np.zeros(700)))
    assert exact * (1 - 1e-6) <= f.L <= 1.05 * exact


def test_gradients_that_are_not_finite_show_in_the_value(backend: Backend):
    f = o.LeastSquares(backend.array(np.eye(3)), backend.array(np.ones(3)))
    x = backend.array(np.array([0.0, np.nan, 1.0]))
    assert not np.isfinite(f.evaluate(x).value)
    g = wp.objectives.Function(lambda x: (1.0, x))
    assert not np.isfinite(g.evaluate(x).value)


def test_callables_get_and_give_arrays_of_the_library(backend: Backend):
    f = o.Function(lambda x: (0.5 * namespace(x).sum(x * x), x))
    x = backend.array(np.array([3.0, 4.0]))
    at = f.evaluate(x)
    assert (at.value, at.dual) == (12.5, 12.5)
    assert to_host(at.gradient).tolist() == [3.0, 4.0]


@pytest.mark.extras
@pytest.mark.parametrize("name", MAKE)
def test_moves_to_a_device_by_name(name):
    torch = pytest.importorskip("torch")
    f = MAKE[name](np.asarray)
    (x,) = points(f, 1)
    there, at = on_device(f, "cpu"), f.evaluate(x)
    found = there.evaluate(torch.tensor(x))
    assert found.value == pytest.approx(at.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient.numpy(), at.gradient, atol=1e-12)
    assert there.conjugate_bound(found.dual) == pytest.approx(f.conjugate_bound(at.dual), rel=1e-12)
