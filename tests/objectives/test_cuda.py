"""Objectives on a GPU: of PyTorch, CuPy and JAX, against NumPy. Skipped where there is none."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import describe, to_host
from wolfpack.objectives._narrow import Narrow

pytestmark = pytest.mark.extras
RNG = np.random.default_rng(0)
A = RNG.standard_normal((300, 90)).astype(np.float32)
B = RNG.standard_normal(300).astype(np.float32)
X = RNG.dirichlet(np.ones(90)).astype(np.float32)


def torch_array(values):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU for PyTorch")
    return torch.tensor(values, device="cuda")


def cupy_array(values):
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("no GPU for CuPy")
    return cupy.asarray(values)


def jax_array(values):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("no GPU for JAX")
    return jax.numpy.asarray(values)


@pytest.fixture(params=[torch_array, cupy_array, jax_array], ids=["torch", "cupy", "jax"])
def array(request):
    request.param(np.zeros(1, dtype=np.float32))
    return request.param


LOSSES = {
    "least squares": lambda a: wp.objectives.LeastSquares(a(A), a(B)),
    "quadratic": lambda a: wp.objectives.Quadratic(a(A.T @ A), a(B[:90])),
    "logistic": lambda a: wp.objectives.Logistic(a(A), a(np.sign(B))),
    "multinomial": lambda a: wp.objectives.Multinomial(a(A), a(np.arange(300) % 3)),
    "huber": lambda a: wp.objectives.Huber(a(A), a(B)),
    "poisson": lambda a: wp.objectives.Poisson(a(A), a(np.arange(300) % 4)),
    "quantile": lambda a: wp.objectives.Quantile(a(A), a(B)),
    "squared hinge": lambda a: wp.objectives.SquaredHinge(a(A), a(np.sign(B))),
    "completion": lambda a: wp.objectives.MatrixCompletion(
        np.arange(40), np.arange(40) % 7, a(B[:40]), (40, 7)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_as_on_the_host(array, name):
    f, there = LOSSES[name](np.asarray), LOSSES[name](array)
    x = RNG.uniform(size=f.shape).astype(np.float32)
    at, found = f.evaluate(x.astype(float)), there.evaluate(array(x))
    assert describe(found.gradient) == describe(array(x))
    assert found.value == pytest.approx(at.value, rel=1e-5)
    size = np.abs(at.gradient).max()
    np.testing.assert_allclose(to_host(found.gradient), at.gradient, atol=1e-5 * size)
    bound = f.conjugate_bound(at.dual)
    assert there.conjugate_bound(found.dual) == pytest.approx(bound, rel=1e-3, abs=1e-4)
    assert pytest.approx(f.L, rel=1e-2) == there.L


def test_certificate_of_a_run(array):
    K, true = wp.sets.Simplex(90), wp.objectives.LeastSquares(A.astype(float), B.astype(float))
    best = wp.minimize(true, K, tol=1e-6)
    res = wp.minimize(LOSSES["least squares"](array), K, method="anytime", rtol=1e-5, tol=0.0)
    assert res.success, res.message
    assert res.lower_bound <= best.fun


@pytest.mark.parametrize("shape", [(300, 90), (64, 1000), (1000, 64)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(shape, dtype):
    torch = pytest.importorskip("torch")
    matrix = torch_array(100 * RNG.standard_normal(shape)).to(getattr(torch, dtype))
    exact = matrix.double().cpu().numpy()
    for product, true in ((Narrow(matrix), exact), (Narrow(matrix).T, exact.T)):
        x = RNG.standard_normal((true.shape[1], 2)).astype(np.float32)
        found = to_host(product @ torch_array(x)).astype(float)
        error = np.abs(found - true @ x.astype(float))
        assert (error <= product.error * (np.abs(true) @ np.abs(x.astype(float)))).all()


@pytest.mark.parametrize("loss", [wp.objectives.LeastSquares, wp.objectives.Logistic])
@pytest.mark.parametrize(
    "K",
    [
        wp.sets.Simplex(12),
        wp.sets.CappedSimplex(12, 0.2),
        wp.sets.Box(-np.ones(12), np.ones(12)),
        wp.sets.L1Ball(12, 2.0),
        wp.sets.L2Ball(12),
        wp.sets.KSparse(12, 3, 0.5),
        wp.sets.Product(wp.sets.Simplex(5), wp.sets.Box(np.zeros(7), np.ones(7))),
    ],
    ids=lambda K: type(K).__name__,
)
def test_recorded_rounds_of_many_problems_are_those_of_the_host(loss, K):
    rng = np.random.default_rng(1)
    features, signs = rng.standard_normal((40, 30, 12)), rng.choice([-1.0, 1.0], (40, 30))
    host = wp.minimize_many(loss(features, signs), K, tol=1e-7)
    there = wp.minimize_many(loss(torch_array(features), torch_array(signs)), K, tol=1e-7)
    assert host.success.all()
    assert there.success.all()
    np.testing.assert_allclose(there.fun, host.fun, atol=2e-7)
