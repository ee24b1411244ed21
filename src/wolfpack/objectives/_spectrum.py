"""Largest eigenvalues, estimated from above: the smoothness constants of quadratics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, eigsh

from ..arrays import epsilon, like, to_host
from ._matrix import entries, is_dense

_DENSE = 500


def spectral_norm_squared(A: Any, At: Any = None, place: Any = None, rough: bool = False) -> float:
    """Return the largest eigenvalue of A'A, from above, for a matrix or linear operator A.

    Parameters
    ----------
    A, At : matrix or operator
        A and A'; by default the transpose of a matrix, the adjoint of an operator.
    place : array, optional
        Of the kind that A multiplies; NumPy's by default. The matrix stays on its device, vectors
        travel.
    rough : bool
        A few per cent will do, above or below.
    """
    n, d = A.shape
    if At is None:
        At = A.adjoint() if isinstance(A, LinearOperator) else A.T
    small = min(n, d) <= _DENSE
    if small and issparse(A):
        return largest_eigenvalue(A @ A.T if d > n else A.T @ A)
    first, second = (At, A) if d > n else (A, At)
    if small and is_dense(A):
        return largest_eigenvalue(second @ entries(first))
    return largest_eigenvalue(
        _square(min(n, d), lambda x: second @ (first @ x), place), rough=rough
    )


def largest_eigenvalue(Q: Any, place: Any = None, rough: bool = False) -> float:
    """Return the largest eigenvalue of a symmetric positive semidefinite matrix or operator.

    At most 500 rows: from all eigenvalues, rounded up by 1e-12 relative, or by what single
    precision may have lost. Otherwise a Lanczos value plus its residual norm: some eigenvalue is
    that close, and the value is not below the largest unless the fixed random start misses it. The
    descent test of a run reports a constant that is still too small.

    Raises
    ------
    ValueError
        Where a negative eigenvalue shows that the function is not convex.
    """
    n = Q.shape[0]
    if n <= _DENSE:
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


def _square(n: int, product: Callable[[Any], Any], place: Any) -> LinearOperator:
    """Return a map of vectors that live elsewhere as one of the host's vectors."""

    def apply(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x).reshape(-1)
        return product(x) if place is None else to_host(product(like(x, place)))

    return LinearOperator((n, n), matvec=apply, dtype=np.float64)  # type: ignore[call-arg]


def _host(Q: Any, place: Any) -> np.ndarray:
    """Return a small matrix in double precision on the host."""
    if issparse(Q):
        dense = Q.toarray()
    elif is_dense(Q):
        dense = to_host(entries(Q))
    else:
        n = Q.shape[0]
        dense = to_host(Q @ (np.eye(n) if place is None else like(np.eye(n), place)))
    return np.asarray(dense, dtype=np.float64)


def _precision(Q: Any, place: Any) -> float:
    """Return the precision in which products with Q are computed."""
    if is_dense(Q):
        return epsilon(entries(Q))
    return float(np.finfo(np.float64).eps) if place is None else epsilon(place)
