"""The spectrahedron: positive semidefinite matrices of bounded trace."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..arrays import Array, LowRank, SparseMatrix, all_finite
from ..atoms import Atoms, RankOne
from ..problem.checks import as_size, checked, count, extent, flag
from ._base import Set
from ._krylov import sparse_eigenvectors, sparse_symmetric_ceiling
from ._prices import Prices
from ._spectral import DENSE_SVD, leading_eigenvectors, top_eigenvector
from ._spectral_bounds import symmetric_ceiling
from .simplex import Simplex


class Spectrahedron(Set):
    r"""Symmetric matrices :math:`X \succeq 0` with :math:`\mathrm{tr} X = r`, or at most r.

    Parameters
    ----------
    n : int
        Order of the matrices.
    trace : float
        The number r.
    equality : bool
        Whether the trace equals r (default) or is at most r.

    Notes
    -----
    Vertices are r v v' with unit vectors v, and 0 when the trace may be smaller. The oracle
    answers with the eigenvector of the smallest eigenvalue of (g + g')/2, since X is symmetric,
    and with 0 if that is allowed and the eigenvalue is not negative. Cost and tolerance as for
    `TraceNormBall`: O(n^3) for small matrices, about a hundred products with g for large ones;
    `certify` proves its bound by a Cholesky factorisation.

    Examples
    --------
    >>> np.asarray(Spectrahedron(2).lmo(np.array([[3.0, 0.0], [0.0, 1.0]])))
    array([[0., 0.],
           [0., 1.]])
    """

    stack_axes: ClassVar[dict[str, int]] = {"trace": 0}
    proof_calls = 1
    factored_from = DENSE_SVD  # eigenvalues are found faster than singular values

    @checked(trace=extent, equality=flag)
    def __init__(self, n: int, trace: float = 1.0, equality: bool = True) -> None:
        n = as_size(n, "n")
        self.shape = (n, n)
        self.r = self.radius = trace
        self.equality = equality
        self.diameter = self.r * math.sqrt(2.0)
        if n == 1:
            self.diameter = 0.0 if self.equality else self.r
        self.cheap_projection = n <= DENSE_SVD

    def _lmo(self, g: Array) -> RankOne:
        if isinstance(g, SparseMatrix):
            return self.k_best(g, 1).take(0)
        v = top_eigenvector(-0.5 * g - 0.5 * g.swapaxes(-1, -2))
        if not self.equality:
            value = (v * (g @ v[..., None])[..., 0]).sum(axis=-1, keepdims=True)
            v = np.where(value < 0, v, 0.0)
        return RankOne(v, v, self.r)

    def certify(self, g: Array, vertex: Atoms) -> float:
        guess = -float(vertex.dot(g)) / self.r
        sparse = isinstance(g, SparseMatrix)
        ceiling = sparse_symmetric_ceiling(g, guess) if sparse else symmetric_ceiling(-g, guess)
        return -self.r * (ceiling if self.equality else max(0.0, ceiling))

    def _prices(self, g: Array) -> Prices:
        return {"trace": -float(self.support(-g)) / self.r}

    def violation(self, x: Array) -> float:
        if not all_finite(x):
            return math.nan
        if isinstance(x, LowRank):
            # the same matrix in a basis of all its vectors, beside which it is 0
            P = np.linalg.qr(np.hstack([x.U, x.V])).Q
            x = P.T @ (x @ P)
        with np.errstate(over="ignore"):
            skew = 0.5 * float(np.linalg.norm(x - x.T))
        least = float(np.linalg.eigvalsh(0.5 * x + 0.5 * x.T).min(initial=0.0))
        excess = float(np.trace(x)) - self.r
        return max(skew, -least, abs(excess) if self.equality else excess)

    def start(self) -> Array:
        return (self.r / self.shape[0]) * np.eye(self.shape[0])

    def k_best(self, g: Array, k: int) -> RankOne:
        """Return the k best vertices among the orthogonal eigenvectors of g (and 0, if allowed)."""
        n, k = self.shape[0], count(k, "k")
        if isinstance(g, SparseMatrix):
            v = sparse_eigenvectors(g, k)
        else:
            g = self._check_direction(g)
            v = leading_eigenvectors(-0.5 * g - 0.5 * g.T, min(k, n))
        if not self.equality:
            values = ((g @ v.T).T * v).sum(axis=-1)
            v = np.concatenate([v[values < 0], np.zeros((1, n)), v[values >= 0]])[:k]
        return RankOne(v, v, self.r)

    def core(self, shape: tuple[int, int]) -> Spectrahedron:
        return Spectrahedron(shape[0], self.r, self.equality)

    def _project(self, x: Array) -> Array:
        values, V = np.linalg.eigh(0.5 * x + 0.5 * x.T)
        kept = np.maximum(values, 0.0)
        if self.equality or kept.sum() > self.r:
            kept = Simplex(values.size, self.r)._project(values)
        return (V * kept) @ V.T

    def __repr__(self) -> str:
        bound = "trace" if self.equality else "trace<"
        return f"Spectrahedron({self.shape[0]}, {bound}={self.r:g})"
