"""Linear images of sets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..arrays import Array, check_sparse, scaled_norm
from ..problem import Polyhedron
from ..problem.checks import as_array
from ..problem.polyhedron import Matrix
from ._base import Set
from ._distance import separation
from ._laws import NoiseLike
from ._linear_map import LinearMap
from ._polyhedra import _map
from ._prices import Prices

_U = 2.0**-53
_DENSE_NORM = 500
"""Order up to which the norm of a matrix is its largest singular value, not a bound."""


class Image(LinearMap):
    r"""The linear image :math:`A K = \{A x : x \in K\}`.

    Parameters
    ----------
    A : array or sparse matrix, shape (m, n)
        The matrix.
    K : Set
        The set, whose points have n entries; arrays of other shapes are flattened.

    Notes
    -----
    The oracle is A v with v the answer of K to A'g: two products with A and one oracle call. Radius
    and diameter are bounded by ||A|| times those of K. Membership is judged with the oracle, by
    Wolfe's algorithm. Where K has linear constraints, so has the image.

    Examples
    --------
    >>> from wolfpack.sets import Simplex
    >>> K = Image([[0.0, 2.0, 0.0], [0.0, 0.0, 1.0]], Simplex(3))  # a triangle
    >>> np.asarray(K.lmo(np.array([-1.0, -1.0])))
    array([2., 0.])
    """

    summary = "{K.A.shape[0]} x {K.A.shape[1]} matrix, {K.K}"

    def __init__(self, A: ArrayLike | Matrix, K: Set) -> None:
        super().__init__((K,))
        if sparse.issparse(A):
            check_sparse(A, "A")
            matrix = sparse.csr_array(A)
            matrix = matrix.astype(as_array(matrix.data, "A").dtype).astype(np.float64)
        else:
            matrix = as_array(A, "A").astype(np.float64)
        if matrix.ndim != 2 or not matrix.shape[0] or matrix.shape[1] != K.dimension:
            raise ValueError(
                f"A must be a matrix with {K.dimension} columns, one for each entry of a point of "
                f"{K}, found shape {matrix.shape}"
            )
        self.A, self.shape = matrix, (matrix.shape[0],)
        self._stretch = _norm(matrix)
        self.radius = self._stretch * K.radius
        self.diameter = self._stretch * K.diameter
        self.centred_radius = self._stretch * K.centred_radius

    def _map(self, x: Array) -> Array:
        return self.A @ x.reshape(-1)

    def _pull(self, g: Array) -> Array:
        return (self.A.T @ g).reshape(self.K.shape)

    def _pull_error(self, g: Array) -> Array:
        gamma = 1.01 * (self.shape[0] + 2) * _U
        return gamma * (abs(self.A).T @ abs(g)).reshape(self.K.shape)

    def violation(self, x: Array) -> float:
        return separation(self, x)

    def smoothness(self, noise: NoiseLike) -> float | None:
        value = super().smoothness(noise)
        return None if value is None else value * self._stretch**2

    def _prices(self, g: Array) -> Prices:
        return self.K._prices(self._pull(g))

    def _polyhedron(self) -> Polyhedron:
        K = self.K.polyhedron()
        A = sparse.csr_array(self.A)
        offset = A @ np.broadcast_to(K.offset, (A.shape[1],))
        return Polyhedron(
            K.low,
            K.high,
            lambda z: self._map(K.round(z)),
            K.equations,
            K.inequalities,
            sparse.csr_array(A @ _map(K)),
            offset,
        )


def _norm(A: Matrix) -> float:
    """Return the spectral norm, or a number that is not smaller."""
    rows, columns = abs(A).sum(axis=1).max(), abs(A).sum(axis=0).max()
    norms = [math.sqrt(rows) * math.sqrt(columns)]
    if not sparse.issparse(A):
        norms.append(scaled_norm(A))
        if min(A.shape) <= _DENSE_NORM:
            norms.append(float(np.linalg.norm(A, 2)))
    return min(norms) * (1.0 + 8.0 * max(A.shape) * _U)
