"""Which oracles take products of matrices so large that BLAS may use several threads."""

from __future__ import annotations

from ..sets import ConvexHull, Set
from ._base import Smoothing

LARGE = 2**11
"""Entries of a matrix from which products with it may use several threads."""


def multiplies(smoothing: Smoothing) -> bool:
    """Tell whether perturbed answers may take products of large matrices."""
    return smoothing.matrix_size >= LARGE or _multiplies(smoothing.K)


def _multiplies(K: Set) -> bool:
    parts = getattr(K, "parts", ())
    if parts:
        return any(map(_multiplies, parts))
    if not type(K).__module__.startswith("wolfpack.") or K.batch_hint == 1:
        return True  # a user's own oracle may do anything
    size = K.table.size if isinstance(K, ConvexHull) else 0
    matrices = len(K.shape) == 2 and not K.polytope
    return max(size, K.dimension if matrices else 0) >= LARGE
