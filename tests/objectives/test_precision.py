"""Single and half precision: errors within their bounds, certificates that hold in float64."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import like, namespace, to_host
from wolfpack.objectives import LeastSquares, Logistic
from wolfpack.objectives._narrow import Narrow, split

RNG = np.random.default_rng(0)
LIBRARIES = [pytest.param(name, marks=pytest.mark.extras) for name in ("torch", "jax")]
KINDS = ["bfloat16", "float16"]


def narrow(library, dtype, values):
    """Return the values in half precision, and in float64 what they have become."""
    if library == "torch":
        torch = pytest.importorskip("torch")
        array = torch.tensor(values, dtype=getattr(torch, dtype))
        return array, array.double().numpy()
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.asarray(values, dtype=dtype)
    return array, np.asarray(array.astype("float32")).astype(float)


def single(array, values):
    """Return the values in float32, where a half-precision array is."""
    return like(np.asarray(values, dtype=np.float32), array)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("shape", [(70, 300), (3, 2), (129, 257)])
def test_products_are_within_their_bound(library, dtype, shape):
    if library == "jax" and shape != (129, 257):
        pytest.skip("JAX compiles anew for every shape")
    # large terms that cancel: half-precision sums, or an x rounded to 8 bits, would miss the bound
    values = 100 * RNG.standard_normal(shape)
    array, exact = narrow(library, dtype, values)
    for product, matrix in ((Narrow(array), exact), (Narrow(array).T, exact.T)):
        x = RNG.standard_normal(matrix.shape[1]).astype(np.float32)
        error = abs(to_host(product @ single(array, x)).astype(float) - matrix @ x.astype(float))
        assert (error <= product.error * (abs(matrix) @ abs(x.astype(float)))).all()
        both = to_host(product @ single(array, np.stack([x, -x], axis=1)))
        np.testing.assert_allclose(both[:, 0], -both[:, 1], rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_three_short_vectors_are_one_long_one(library):
    array, _ = narrow(library, "bfloat16", np.ones((2, 2)))
    x = np.concatenate([RNG.standard_normal(1000), 10.0 ** np.arange(-30, 30)]).astype(np.float32)
    parts = split(namespace(array), single(array, x)[:, None], array.dtype)
    wide = narrow(library, "bfloat16", np.zeros(1))[0]
    assert parts.dtype == wide.dtype
    host = np.asarray(parts.astype("float32") if library == "jax" else parts.float())
    np.testing.assert_array_equal(host.astype(float).sum(axis=1), x.astype(float))


def data(n, d):
    A = RNG.standard_normal((n, d))
    return A, A @ RNG.dirichlet(np.full(d, 0.3)) + 0.5 * RNG.standard_normal(n)


@pytest.mark.parametrize("library", LIBRARIES)
def test_half_precision_objectives(library):
    A, b = data(90, 40)
    array, exact = narrow(library, "bfloat16", A)
    right = single(array, b)
    f, true = LeastSquares(array, right), LeastSquares(exact, to_host(right).astype(float))
    x = RNG.uniform(size=40).astype(np.float32)
    at, best = f.evaluate(single(array, x)), true.evaluate(x.astype(float))
    assert at.value == pytest.approx(best.value, rel=1e-5)
    assert at.gradient.dtype == right.dtype
    np.testing.assert_allclose(to_host(at.gradient), best.gradient, rtol=1e-4)
    assert true.L * (1 - 1e-5) <= f.L <= true.L * (1 + 1e-3)
    assert pytest.approx(true.L1, rel=1e-5) == f.L1
    g, h = Logistic(array, [0, 1] * 45), Logistic(exact, [0, 1] * 45)
    assert g.value(single(array, x)) == pytest.approx(h.value(x.astype(float)), rel=1e-5)
    with pytest.raises(TypeError, match=r"b is .*float16.*, but A is .*float32"):
        LeastSquares(array, narrow(library, "bfloat16", b)[0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_half_precision_certificates_hold_for_the_stored_matrix(library):
    A, b = data(200, 50)
    array, exact = narrow(library, "bfloat16", A)
    right, K = single(array, b), wp.sets.Simplex(50)
    b64 = to_host(right).astype(float)
    f, true = LeastSquares(array, right), LeastSquares(exact, b64)
    best = wp.minimize(true, K, tol=1e-9)
    res = wp.minimize(f, K, method="anytime", tol=0.0, max_rounds=600)
    x = to_host(res.x).astype(float)
    assert res.lower_bound <= best.fun  # of the problem with the stored entries ...
    assert true.value(x) - best.fun <= res.gap
    rounded = LeastSquares(A, b64)
    assert abs(rounded.value(x) - true.value(x)) > 0  # ... and not of another
    # the bound is what ends the run, and the message says where
    at = f.evaluate(res.x)
    floor = f.minorant(at.dual, at.gradient, K).error + f.value_error(res.x, at, K)
    assert 0 < floor < 1e-3 * res.fun
    assert res.gap < 30 * floor
    if res.status == "stalled":
        assert "The floor is about" in res.message


def test_what_a_set_can_do_with_errors():
    c = RNG.uniform(size=6)
    signs = RNG.standard_normal((2000, 6))
    for K in (
        wp.sets.Simplex(6),
        wp.sets.L1Ball(6),
        wp.sets.L2Ball(6, 2.0),
        wp.sets.LinfBall(6),
        wp.sets.LpBall(6, 3.0),
        wp.sets.KSparse(6, 2),
        wp.sets.CappedSimplex(6, 0.4),
        wp.sets.Box(-2.0 * np.ones(6), np.ones(6)),
        wp.sets.GroupL1Ball([[0, 1], [2, 3, 4, 5]]),
        wp.sets.ConvexHull(signs[:5]),
    ):
        reached = (abs(K.lmo(signs).to_dense()) @ c).max()
        bound = K.absolute_support(c)
        assert reached <= bound * (1 + 1e-12), K
        assert bound <= np.linalg.norm(c) * K.radius * (1 + 1e-12)
        if K.unconditional:
            assert bound == pytest.approx(K.support(c))
    for K in (wp.sets.Birkhoff(3), wp.sets.TransportPolytope([1.0, 2.0], [1.5, 1.5])):
        c = RNG.uniform(size=K.shape)
        assert K.absolute_support(c) == pytest.approx(K.support(c))


@pytest.mark.parametrize("library", ["numpy", LIBRARIES[0]])
@pytest.mark.parametrize("problem", ["simplex", "trace ball"])
def test_single_precision_certifies_to_five_digits(library, problem):
    if library == "torch":
        pytest.importorskip("torch")
    K: wp.sets.Set
    if problem == "simplex":
        (A, b), K = data(300, 80), wp.sets.Simplex(80)
    else:
        A, K = RNG.standard_normal((60, 10)), wp.sets.TraceNormBall((10, 8))
        b = A @ np.outer(*RNG.standard_normal((2, 10)))[:, :8] + RNG.standard_normal((60, 8))
    A, b = A.astype(np.float32), b.astype(np.float32)
    true = LeastSquares(A.astype(float), b.astype(float))
    best = wp.minimize(true, K, tol=1e-8 * true.value(np.zeros(K.shape)))
    if library == "torch":
        import torch

        f, x0 = LeastSquares(torch.tensor(A), torch.tensor(b)), None
    else:
        f, x0 = LeastSquares(A, b), K.start().astype(np.float32)
    res = wp.minimize(f, K, x0=x0, method="anytime", tol=0.0, rtol=1e-5, max_rounds=4000)
    assert res.success, res.message
    x = to_host(res.x)
    assert res.lower_bound <= best.fun
    assert true.value(x.astype(float)) - best.lower_bound <= res.gap * (1 + 1e-2)


def test_a_number_in_place_of_a_matrix_is_rounded_to_single_precision_too():
    """NumPy rounds Q to the type of x before the product is rounded: two errors, not one."""
    rng = np.random.default_rng(5)
    K = wp.sets.Box(np.array([90.0]), np.array([110.0]))
    shares = []
    for _ in range(2000):
        Q, x = float(rng.uniform(1e-6, 1e-5)), rng.uniform(90.0, 110.0, 1).astype(np.float32)
        f = wp.objectives.Quadratic(Q, np.zeros(1, dtype=np.float32))
        at = f.evaluate(x)
        exact = Fraction(Q) * Fraction(float(x[0])) ** 2 / 2
        shares.append(abs(Fraction(float(at.value)) - exact) / Fraction(f.value_error(x, at, K)))
    assert 0.5 < max(shares) <= 1  # 1.6 when one error alone is counted
