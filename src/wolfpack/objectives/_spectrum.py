"""Upper bounds on largest eigenvalues: the smoothness constants of quadratics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from ..arrays import Array, epsilon, like, to_host
from ._matrix import Matrix, entries, is_dense

MAX_DENSE = 500  # size of the largest matrix whose eigenvalues are all computed


def spectral_norm_squared(
    A: Matrix, At: Matrix = None, place: Array = None, rough: bool = False
) -> float:
    """Return an upper bound on the largest eigenvalue of A'A, for a matrix or linear operator A.

    ``At`` is A' and ``place`` an array of the kind that A multiplies; NumPy's by default. The
    matrix stays on its device, and vectors are copied to and from it. With ``rough`` the result is
    an estimate within a few per cent, above or below.
    """
    n, d = A.shape
    if At is None:
        At = A.adjoint() if isinstance(A, LinearOperator) else A.T
    small = min(n, d) <= MAX_DENSE
    if small and issparse(A):
        return largest_eigenvalue(A @ A.T if d > n else A.T @ A)
    first, second = (At, A) if d > n else (A, At)
    if small and is_dense(A):
        return largest_eigenvalue(second @ entries(first))
    return largest_eigenvalue(
        _square(min(n, d), lambda x: second @ (first @ x), place), rough=rough
    )


def largest_eigenvalue(Q: Matrix, place: Array = None, rough: bool = False) -> float:
    """Return the largest eigenvalue of a symmetric positive semidefinite matrix or operator.

    For at most 500 rows all eigenvalues are computed, and the largest is rounded up by 1e-12
    relative or by the rounding error of single precision. For more rows the result is a Lanczos
    value plus its residual norm. Some eigenvalue is that close to the value, and it is the largest
    unless the fixed random start is orthogonal to its eigenvector. If the constant is too small,
    the descent test of a run reports it. A negative eigenvalue is refused: f would not be convex.
    """
    n = Q.shape[0]
    if n <= MAX_DENSE:
        eps = 128 * _precision(Q, place)
        values = np.linalg.eigvalsh(_host(Q, place))
        low, high = float(values[0]), float(values[-1])
        if low < -max(1e-6, eps) * max(abs(high), abs(low)) and low < -1e-10:
            raise ValueError(f"Q must be positive semidefinite, found the eigenvalue {low:.3g}")
        return high * (1 + max(1e-12, eps))
    known = isinstance(Q, LinearOperator | np.ndarray) or issparse(Q)
    matrix = Q if known else _square(n, lambda x: Q @ x, place)
    v0 = np.random.Generator(np.random.Philox(key=0)).standard_normal(n)
    effort = {"tol": 0.1, "ncv": 10} if rough else {"tol": 1e-4}
    values, vectors = eigsh(matrix, k=1, which="LA", v0=v0, **effort)
    residual = np.linalg.norm(matrix @ vectors[:, 0] - values[0] * vectors[:, 0])
    return float(values[0] + residual)


def _square(n: int, product: Callable[[Array], Array], place: Array) -> LinearOperator:
    """Return a map of vectors on a device as a map of NumPy vectors."""

    def apply(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x).reshape(-1)
        return product(x) if place is None else to_host(product(like(x, place)))

    return LinearOperator((n, n), matvec=apply, dtype=np.float64)


def _host(Q: Matrix, place: Array) -> np.ndarray:
    """Return a small matrix in double precision on the host."""
    if issparse(Q):
        dense = Q.toarray()
    elif is_dense(Q):
        dense = to_host(entries(Q))
    else:
        n = Q.shape[0]
        dense = to_host(Q @ (np.eye(n) if place is None else like(np.eye(n), place)))
    return np.asarray(dense, dtype=np.float64)


def _precision(Q: Matrix, place: Array) -> float:
    """Return the precision in which products with Q are computed."""
    if is_dense(Q):
        return epsilon(entries(Q))
    return float(np.finfo(np.float64).eps) if place is None else epsilon(place)
