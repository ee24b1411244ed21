"""Largest eigenvalues, estimated from above: the smoothness constants of quadratics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, eigsh

_DENSE = 500


def spectral_norm_squared(A: Any) -> float:
    """Return the largest eigenvalue of A'A, from above, for a matrix or linear operator A."""
    n, d = A.shape
    wide = d > n
    if min(n, d) <= _DENSE and not isinstance(A, LinearOperator):
        gram = A @ A.T if wide else A.T @ A
        return largest_eigenvalue(np.asarray(gram.toarray() if issparse(gram) else gram))
    At = A.adjoint() if isinstance(A, LinearOperator) else A.T
    first, second = (At, A) if wide else (A, At)
    size = min(n, d)
    gram = LinearOperator((size, size), matvec=lambda x: second @ (first @ x), dtype=np.float64)  # type: ignore[call-arg]
    return largest_eigenvalue(gram)


def largest_eigenvalue(Q: Any) -> float:
    """Return the largest eigenvalue of a symmetric positive semidefinite matrix or operator.

    At most 500 rows: from all eigenvalues, rounded up by 1e-12 relative. Otherwise a Lanczos value
    plus its residual norm: some eigenvalue is that close, and the value is not below the largest
    unless the fixed random start misses it. The descent test of a run reports a constant that is
    still too small.

    Raises
    ------
    ValueError
        Where a negative eigenvalue shows that the function is not convex.
    """
    n = Q.shape[0]
    if n <= _DENSE:
        dense = Q.toarray() if issparse(Q) else Q @ np.eye(n)
        values = np.linalg.eigvalsh(np.asarray(dense, dtype=np.float64))
        low, high = float(values[0]), float(values[-1])
        if low < -1e-6 * max(abs(high), abs(low)) and low < -1e-10:
            raise ValueError(f"Q must be positive semidefinite, found the eigenvalue {low:.3g}")
        return high * (1 + 1e-12)
    v0 = np.random.Generator(np.random.Philox(key=0)).standard_normal(n)
    values, vectors = eigsh(Q, k=1, which="LA", v0=v0, tol=1e-4)
    residual = np.linalg.norm(Q @ vectors[:, 0] - values[0] * vectors[:, 0])
    return float(values[0] + residual)
