"""Top pairs of sparse matrices and bounds on them, without a dense copy.

Bounds of matrices whose dense form would take up to `DENSE` numbers per stored entry are proved by
a Cholesky factorisation (`_spectral_bounds`). Those of others come from Lanczos' method and hold
but for a risk of 1e-12 over its random start (`_krylov`).
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, SparseMatrix
from ._krylov import Apply, top_eigenvalue_ceiling, top_eigenvectors
from ._spectral_bounds import singular_ceiling, symmetric_ceiling

DENSE = 8


def sparse_singular(g: SparseMatrix, k: int) -> tuple[Array, Array]:
    """Return about k leading singular vectors as rows of u and v, the best first."""
    apply, n, tall = _gram(g)
    found = top_eigenvectors(apply, n, min(k, n))
    # Rayleigh-Ritz: the exact SVD of g restricted to the space that Lanczos found
    image = (g @ found.T) if tall else (g.T @ found.T)
    U, _, W = np.linalg.svd(image, full_matrices=False)
    left, right = U.T, W @ found
    return (left, right) if tall else (right, left)


def sparse_eigenvectors(g: SparseMatrix, k: int) -> Array:
    """Return about k leading eigenvectors of -(g + g')/2 as rows, the best first."""
    return top_eigenvectors(_negative_half(g), g.shape[0], min(k, g.shape[0]))


def sparse_singular_ceiling(g: SparseMatrix, guess: float) -> float:
    """Return a number above the largest singular value of ``g``, given a guess of it."""
    if _is_small(g):
        return singular_ceiling(g.to_dense(), guess)
    apply, n, _ = _gram(g)
    return math.sqrt(max(0.0, top_eigenvalue_ceiling(apply, n)))


def sparse_symmetric_ceiling(g: SparseMatrix, guess: float) -> float:
    """Return a number above the largest eigenvalue of -(g + g')/2, given a guess of it."""
    if _is_small(g):
        return symmetric_ceiling(-g.to_dense(), guess)
    return top_eigenvalue_ceiling(_negative_half(g), g.shape[0])


def _is_small(g: SparseMatrix) -> bool:
    return g.shape[0] * g.shape[1] <= DENSE * len(g.data)


def _gram(g: SparseMatrix) -> tuple[Apply, int, bool]:
    """Return the smaller of g'g and gg' as an operator, its order, and whether it is g'g."""
    p, q = g.shape
    if p >= q:
        return lambda x: g.T @ (g @ x), q, True
    return lambda x: g @ (g.T @ x), p, False


def _negative_half(g: SparseMatrix) -> Apply:
    return lambda x: -0.5 * (g @ x + g.T @ x)
