"""The trace-norm (nuclear-norm) ball of matrices."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, SparseMatrix
from ..atoms import Atoms, RankOne
from ..problem.checks import as_matrix_shape, checked, count, extent
from ._ball import Ball
from ._krylov import sparse_singular, sparse_singular_ceiling
from ._spectral import DENSE_SVD, leading_singular, singular_values, top_singular
from ._spectral_bounds import singular_ceiling
from .simplex import Simplex


class TraceNormBall(Ball):
    r"""Matrices whose singular values sum to at most r, :math:`\{\|X\|_{tr} \le r\}`.

    Parameters
    ----------
    shape : tuple (p, q)
        Shape of the matrices.
    radius : float
        The bound r.

    Notes
    -----
    Vertices are r u v' with unit vectors u, v. The oracle is -r u v' for the top singular pair of
    g; its cost is O(pq min(p, q)) for small matrices, one batch at a time, and about a hundred
    products with g for large ones (`wolfpack.sets._spectral` says which method when, and to what
    tolerance). The support function is r sigma_1(g), and `certify` proves its bound on
    sigma_1 by one Cholesky factorisation, whatever the oracle's error was. Directions may be a
    `wolfpack.arrays.SparseMatrix`, which is never made dense (`wolfpack.sets._krylov`).

    Examples
    --------
    >>> np.asarray(TraceNormBall((2, 2)).lmo(np.array([[3.0, 0.0], [0.0, 1.0]]))) + 0.0
    array([[-1.,  0.],
           [ 0.,  0.]])
    """

    summary = "{K.shape}, radius={K.r:g}"

    proof_calls = 1

    @checked(radius=extent)
    def __init__(self, shape: tuple[int, int], radius: float = 1.0) -> None:
        super().__init__(as_matrix_shape(shape, "shape"), radius)
        self.cheap_projection = min(self.shape) <= DENSE_SVD

    def _lmo(self, g: Array) -> RankOne:
        if isinstance(g, SparseMatrix):
            return self.k_best(g, 1).take(0)
        return RankOne(*top_singular(g), -self.r)

    def certify(self, g: Array, vertex: Atoms) -> float:
        ceiling = sparse_singular_ceiling if isinstance(g, SparseMatrix) else singular_ceiling
        return -self.r * ceiling(g, -float(vertex.dot(g)) / self.r)

    def certify_near(self, g: Array, vertex: Atoms, level: float) -> float:
        if not isinstance(g, SparseMatrix):
            return self.certify(g, vertex)
        return -self.r * sparse_singular_ceiling(g, -float(vertex.dot(g)) / self.r, level / self.r)

    def violation(self, x: Array) -> float:
        return float(singular_values(x).sum()) - self.r

    def k_best(self, g: Array, k: int) -> RankOne:
        if isinstance(g, SparseMatrix):
            return RankOne(*sparse_singular(g, count(k, "k")), -self.r)
        g = self._check_direction(g)
        return RankOne(*leading_singular(g, min(count(k, "k"), *self.shape)), -self.r)

    def core(self, shape: tuple[int, int]) -> TraceNormBall:
        return TraceNormBall(shape, self.r)

    def _project(self, x: Array) -> Array:
        U, s, Vt = np.linalg.svd(x, full_matrices=False)
        if s.sum() <= self.r:
            return x + 0.0
        return (U * Simplex(s.size, self.r)._project(s)) @ Vt
