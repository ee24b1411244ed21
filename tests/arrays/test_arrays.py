"""The helpers of `wolfpack.arrays` do on every library what NumPy does."""

import numpy as np
import pytest

from backends import Backend, every_backend
from wolfpack import arrays as ar

__all__ = ["every_backend"]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 7))
FLAT = RNG.standard_normal(3000)


def test_goes_to_the_host_and_back(backend: Backend):
    x = backend.array(X)
    assert ar.describe(ar.like(X, x)) == ar.describe(x)
    np.testing.assert_array_equal(ar.to_host(ar.like(X, x)), X.astype(backend.dtype))
    assert ar.to_host(ar.like(np.arange(3), x)).dtype.kind == "i"
    assert ar.host_dtype(x) == backend.dtype


def test_makes_arrays_where_another_is(backend: Backend):
    x = backend.array(X)
    np.testing.assert_array_equal(backend.host(ar.zeros((2, 3), x)), np.zeros((2, 3)))
    np.testing.assert_array_equal(backend.host(ar.full((2,), 1.5, x)), [1.5, 1.5])
    np.testing.assert_array_equal(backend.host(ar.eye(2, x)), np.eye(2))
    np.testing.assert_array_equal(ar.to_host(ar.arange(4, x)), np.arange(4))
    assert ar.size(x) == 35


def test_inner_products_are_taken_in_double_precision(backend: Backend):
    # a float32 sum of these would lose all digits of what is left
    a = np.concatenate([np.full(2000, 1e4), FLAT.astype(np.float32), np.full(2000, -1e4)])
    b = np.ones_like(a)
    x, y = backend.array(a), backend.array(b)
    tolerance = 1e-3 if backend.name == "jax32" else 1e-9
    exact = float(a.astype(backend.dtype).astype(float).sum())
    assert ar.inner(x, y) == pytest.approx(exact, abs=tolerance * 4e3)
    assert ar.inners((x, y), (y, y)) == [ar.inner(x, y), pytest.approx(len(a))]
    assert ar.norm(y) == pytest.approx(np.sqrt(len(a)))


@pytest.mark.parametrize("n", [0, 1, 7, 2**13, 2**13 + 1])
def test_products_of_vectors_do_not_depend_on_who_computes_them(n):
    a, b = np.random.default_rng(n).standard_normal((2, n))
    assert ar.inner(a, b) == pytest.approx(float((a * b).sum()), abs=1e-10)
    assert ar.inner(a[::2], b[::2]) == pytest.approx(float((a * b)[::2].sum()), abs=1e-10)
    assert ar.norm(a) == pytest.approx(float(np.sqrt((a * a).sum())), rel=1e-13)
    kept = a.copy(), b.copy()
    np.testing.assert_allclose(ar.mix(a, b, 0.25), 0.75 * a + 0.25 * b, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(ar.scaled(a, 0.25), 0.25 * a)
    np.testing.assert_array_equal((a, b), kept)  # neither is written to
    if n:
        b[n // 2] = np.inf
        assert ar.inner(abs(a), b) == np.inf
        assert not ar.all_finite(b)
        with pytest.raises(ValueError, match=r"size|dimension|shape"):
            ar.inner(a, np.append(b, 1.0))


def test_fetches_several_numbers(backend: Backend):
    x = backend.array(X)
    found = ar.fetch(ar.namespace(x).sum(x), 2.0, ar.namespace(x).max(x))
    np.testing.assert_allclose(found, [X.sum(), 2.0, X.max()], rtol=1e-5)


def test_adds_at_positions_that_repeat(backend: Backend):
    x = backend.array(np.arange(6.0))
    index = ar.like(np.array([[1, 1], [4, 0]]), x)
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = [4.0, 4.0, 2.0, 3.0, 7.0, 5.0]
    np.testing.assert_array_equal(
        backend.host(ar.scatter_add(x, index, backend.array(values))), expected
    )
    np.testing.assert_array_equal(
        backend.host(ar.scatter_add(x, index, 0.5)), [0.5, 2.0, 2.0, 3.0, 4.5, 5.0]
    )
    np.testing.assert_array_equal(ar.to_host(x), np.arange(6.0))
    flat = backend.array(values)
    np.testing.assert_array_equal(
        backend.host(ar.bincount(index, flat, 6, x.dtype)), [4.0, 3.0, 0.0, 0.0, 3.0, 0.0]
    )
    np.testing.assert_array_equal(
        backend.host(ar.bincount(index, 0.5, 6, x.dtype)), [0.5, 1.0, 0.0, 0.0, 0.5, 0.0]
    )


def test_gathers(backend: Backend):
    x = backend.array(X)
    index = np.array([[0, 3], [6, 6], [1, 2], [5, 0], [4, 4]])
    picked = ar.take_along(x, ar.like(index, x))
    np.testing.assert_array_equal(
        backend.host(picked), np.take_along_axis(X, index, 1).astype(backend.dtype)
    )
    rows = ar.take(x, ar.like(np.array([[4, 0]]), x))
    np.testing.assert_array_equal(backend.host(rows), X.astype(backend.dtype)[[[4, 0]]])
    one = ar.take(ar.reshape(x, (-1,)), ar.like(np.array(8), x))
    assert float(one) == pytest.approx(X[1, 1])


def test_sorts_and_searches(backend: Backend):
    x = backend.array(FLAT)
    running = ar.cumsum(ar.namespace(x).exp(x))
    np.testing.assert_allclose(ar.to_host(running), np.cumsum(np.exp(FLAT)), rtol=1e2 * backend.eps)
    targets = np.array([0.5, 1e3, 1e9])
    found = ar.searchsorted(running, ar.namespace(x).astype(ar.like(targets, x), running.dtype))
    assert ar.to_host(found).tolist() == np.cumsum(np.exp(FLAT)).searchsorted(targets).tolist()
    best = ar.to_host(ar.topk(backend.array(X), 3))
    np.testing.assert_array_equal(best, np.argsort(-X, axis=1)[:, :3])
    repeated = ar.repeat(ar.arange(3, x), ar.like(np.array([2, 0, 3]), x), 5)
    assert ar.to_host(repeated).tolist() == [0, 0, 2, 2, 2]


def test_precision_and_finiteness(backend: Backend):
    x = backend.array(X)
    assert ar.epsilon(x) == pytest.approx(backend.eps)
    assert ar.all_finite(x)
    assert not ar.all_finite(backend.array([1.0, np.inf]))
    with pytest.raises(ValueError, match="x0 has 1 NaN or infinite entries of 2"):
        ar.check_finite(backend.array([1.0, np.nan]), "x0")
    assert ar.as_float_array(x, "x") is x
    with pytest.raises(TypeError, match=r"x.* found"):
        ar.as_float_array(ar.like(np.array([1 + 2j]), x), "x")


def test_names_what_lives_elsewhere(backend: Backend):
    x, here = backend.array(X), np.zeros(2, dtype=np.float16)
    ar.same_place(A=x, b=x, c=None, d=2.0)
    with pytest.raises(TypeError, match=r"^x0 is NumPy float16, but A is .*one device"):
        ar.same_place(A=x, x0=here)


def test_products_with_long_rows_in_pieces_are_the_products():
    torch = pytest.importorskip("torch")
    from wolfpack.arrays._ops import _wide_product

    A, x = torch.randn(7, 24_000, dtype=torch.float64), torch.randn(24_000, dtype=torch.float64)
    for matrix, vector in ((A, x), (A[:, :23_993], x[:23_993])):  # a prime is not cut
        np.testing.assert_allclose(_wide_product(matrix, vector), matrix @ vector, rtol=1e-10)
