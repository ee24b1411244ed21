"""Matrices in every form: sparse, operators, half precision, and data in different places."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import wolfpack as wp
from wolfpack.arrays import to_host
from wolfpack.objectives import Huber, LeastSquares, Logistic, Multinomial, Quadratic

N, D = 30, 8
RNG = np.random.default_rng(0)
A = np.where(RNG.uniform(size=(N, D)) < 0.4, RNG.standard_normal((N, D)), 0.0)
B = RNG.standard_normal(N)
X = RNG.uniform(size=D)
TRUE = LeastSquares(A, B)


class Columns:
    """A linear operator of one's own, with ``@`` and ``T``."""

    def __init__(self, matrix):
        self.matrix, self.shape = matrix, tuple(matrix.shape)

    def __matmul__(self, x):
        return self.matrix @ x

    @property
    def T(self):
        return Columns(self.matrix.T)


class Products:
    """A linear operator of one's own, with ``matvec`` and ``rmatvec`` for vectors alone."""

    def __init__(self, matrix):
        self.matrix, self.shape = matrix, tuple(matrix.shape)

    def matvec(self, x):
        assert x.ndim == 1
        return self.matrix @ x

    def rmatvec(self, x):
        assert x.ndim == 1
        return self.matrix.T @ x


def sparse_csr(matrix):
    return matrix.to_sparse_csr()


def sparse_coo(matrix):
    return matrix.to_sparse_coo()


def check(f, x, exact, tol):
    at, best = f.evaluate(x), exact.evaluate(to_host(x).astype(float))
    assert type(at.value) is float
    assert type(at.gradient) is type(x)
    assert at.value == pytest.approx(best.value, rel=tol)
    np.testing.assert_allclose(to_host(at.gradient), best.gradient, atol=tol * 10)
    assert f.conjugate_bound(at.dual) == pytest.approx(exact.conjugate_bound(best.dual), rel=tol)
    assert exact.L * (1 - tol) <= f.L <= exact.L * (1 + 1e-3 + tol)
    assert exact.L1 * (1 - tol) <= f.L1


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore:Sparse")  # PyTorch says that its layout is in beta
@pytest.mark.parametrize("form", [sparse_csr, sparse_coo, Columns, Products])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_forms_of_pytorch(form, dtype):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    matrix, tol = torch.tensor(A, dtype=kind), 1e-5 if dtype == "float32" else 1e-12
    f = LeastSquares(form(matrix), torch.tensor(B, dtype=kind))
    check(f, torch.tensor(X, dtype=kind), TRUE, tol)
    right = np.stack([B, 2 * B], axis=1)
    both = LeastSquares(form(matrix), torch.tensor(right, dtype=kind))
    x = torch.tensor(np.stack([X, -X], axis=1), dtype=kind)
    check(both, x, LeastSquares(A, right), tol)


@pytest.mark.parametrize("form", [Columns, Products, sp.csr_array, sp.coo_matrix])
def test_forms_of_numpy(form):
    check(LeastSquares(form(A), B), X, TRUE, 1e-12)
    right = np.stack([B, 2 * B], axis=1)
    x = np.stack([X, -X], axis=1)
    check(LeastSquares(form(A), right), x, LeastSquares(A, right), 1e-12)


@pytest.mark.parametrize("form", [Columns, sp.csr_array])
def test_quadratics_of_operators(form):
    Q = A.T @ A
    f = Quadratic(form(Q), B[:D], 1.0)
    exact = Quadratic(Q, B[:D], 1.0)
    assert f.value(X) == pytest.approx(exact.value(X))
    assert pytest.approx(exact.L, rel=1e-3) == f.L


@pytest.mark.extras
def test_jax_sparse_matrices_are_operators():
    sparse = pytest.importorskip("jax.experimental.sparse")
    jnp = pytest.importorskip("jax.numpy")
    f = LeastSquares(sparse.BCOO.fromdense(jnp.asarray(A)), jnp.asarray(B))
    check(f, jnp.asarray(X), TRUE, 1e-5)


def test_operators_that_cannot_be_used():
    class Half:
        shape = (3, 3)
        matvec = staticmethod(lambda x: x)

    with pytest.raises(TypeError, match=r"A must be a matrix, or a linear operator.*found Half"):
        LeastSquares(Half(), np.zeros(3))
    with pytest.raises(TypeError, match="batch needs rows"):
        LeastSquares(Columns(A), B, batch=3)
    with pytest.raises(ValueError, match=r"A must be a matrix, found shape \(8,\)"):
        LeastSquares(Columns(A[0]), B)


def test_runs_on_float32_data_are_float32():
    f = LeastSquares(A.astype(np.float32), B.astype(np.float32))
    for method in ("anytime", "bpcg", "fw", "projected"):
        res = wp.minimize(f, wp.sets.Simplex(D), method=method, tol=1e-3)
        assert res.success
        assert res.x.dtype == np.float32
    assert wp.minimize(TRUE, wp.sets.Simplex(D), tol=1e-3).x.dtype == np.float64


def test_float32_data_are_used_as_such():
    f = Logistic(A.astype(np.float32), B > 0)
    assert f.evaluate(X.astype(np.float32)).gradient.dtype == np.float32
    f = wp.objectives.Poisson(A.astype(np.float32), np.arange(N))
    assert f.evaluate(X.astype(np.float32)).gradient.dtype == np.float32


@pytest.mark.extras
def test_data_in_different_places():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    matrix, right = torch.tensor(A), torch.tensor(B)
    one = r"arrays of one problem must have one library, one device and one type"
    for make, found in [
        (lambda: LeastSquares(matrix, B), "b is NumPy float64, but A is torch float64 on cpu"),
        (lambda: LeastSquares(A, right), "b is torch float64 on cpu, but A is NumPy float64"),
        (lambda: LeastSquares(matrix, right.float()), "b is torch float32 on cpu"),
        (lambda: LeastSquares(matrix, right.to("meta")), "b is torch float64 on meta"),
        (lambda: Huber(matrix, jnp.asarray(B)), "targets is jax.* float32"),
        (lambda: Logistic(matrix, B > 0), "labels is NumPy"),
        (lambda: Multinomial(A, torch.arange(N) % 3), "labels is torch"),
        (lambda: Quadratic(matrix.T @ matrix, B[:D]), "Q is torch float64 on cpu, but c is NumPy"),
        (lambda: Quadratic(A.T @ A, right[:D]), "Q is NumPy float64, but c is torch"),
        (lambda: LeastSquares(matrix, right).evaluate(X), "x is NumPy float64, but the data of f"),
        (lambda: TRUE.evaluate(torch.tensor(X)), "x is torch float64 on cpu, but the data of f"),
        (lambda: LeastSquares(matrix, right).value(torch.tensor(X).float()), "x is torch float32"),
        (
            lambda: wp.minimize(LeastSquares(matrix, right), wp.sets.Simplex(D), x0=np.eye(D)[0]),
            "x0? is NumPy float64, but the data of f is torch float64 on cpu",
        ),
    ]:
        with pytest.raises(TypeError, match=found) as caught:
            make()
        assert caught.match(one)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, bool])
def test_sparse_integers_do_not_overflow(dtype):
    whole = (40 * abs(A)).astype(dtype)
    f, true = LeastSquares(sp.csr_array(whole), B), LeastSquares(whole.astype(float), B)
    np.testing.assert_array_equal(f.row_norms_squared, true.row_norms_squared)
    assert pytest.approx(true.L) == f.L
    np.testing.assert_allclose(f.gradient(X), true.gradient(X))
    with pytest.raises(TypeError, match="A must be an array of real numbers"):
        LeastSquares(sp.csr_array(A + 1j), B)


@pytest.mark.extras
def test_lists_and_integers_go_where_the_matrix_is():
    torch = pytest.importorskip("torch")
    matrix = torch.eye(3)
    f = LeastSquares(matrix, [1, 2, 3])
    assert f.b.dtype == torch.float32
    assert f.value(torch.zeros(3)) == 7.0
    assert Logistic(matrix, [0, 1, 1]).labels.dtype == torch.float32
    assert Logistic(matrix, torch.tensor([True, False, True])).labels.tolist() == [1, -1, 1]
    assert wp.objectives.Poisson(matrix, torch.arange(3)).counts.dtype == torch.float32


@pytest.mark.extras
def test_bad_tensors():
    torch = pytest.importorskip("torch")
    bad = torch.eye(3)
    bad[1, 1] = float("nan")
    with pytest.raises(ValueError, match="A has 1 NaN or infinite entries of 9"):
        LeastSquares(bad, torch.zeros(3))
    with pytest.raises(TypeError, match=r"A must be a real floating-point array, found torch\.int"):
        LeastSquares(torch.eye(3, dtype=torch.int64), torch.zeros(3))
    with pytest.raises(ValueError, match=r"b must have shape \(3,\) or \(3, q\).*found \(2,\)"):
        LeastSquares(torch.eye(3), torch.zeros(2))
    with pytest.raises(ValueError, match="Q must be symmetric"):
        Quadratic(torch.arange(9.0).reshape(3, 3), torch.zeros(3))


def test_sparse_transposes_keep_their_bits_when_they_are_turned():
    G = Logistic(sp.csr_array(A), np.sign(B))
    products = [G.gradient(X) for _ in range(200)]
    assert isinstance(G._At._matrix, sp.csr_array)
    assert G._At._matrix.format == "csr"
    assert all(np.array_equal(products[0], g) for g in products)
    np.testing.assert_allclose(products[0], Logistic(A, np.sign(B)).gradient(X), atol=1e-14)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"])
def test_every_sparse_form_is_taken(form):
    G = Logistic(sp.csr_array(A).asformat(form), np.sign(B))
    np.testing.assert_allclose(G.gradient(X), Logistic(A, np.sign(B)).gradient(X), atol=1e-14)


def test_entries_that_are_given_twice_are_added():
    parts = np.array([1.0, 2.0, 4.0]), np.array([2, 2, 1]), np.array([0, 2, 3])
    twice = sp.csr_array(parts, (2, 3))
    assert twice.nnz == 3
    G = LeastSquares(twice, np.ones(2))
    np.testing.assert_array_equal(G.row_norms_squared, [9.0, 16.0])
    assert twice.nnz == 3, "the user's matrix is as it was"
    assert pytest.approx(16.0) == G.L
