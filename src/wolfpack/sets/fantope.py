"""The Fantope: the convex hull of projections onto subspaces of one dimension."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, all_finite
from ..atoms import Atoms, Dense
from ..problem.checks import as_size, checked, count
from ._base import Set
from ._level import clip_to_total
from ._spectral import DENSE_SVD, decomposed, leading_eigenvectors
from ._spectral_bounds import largest_sum_ceiling


class Fantope(Set):
    r"""Symmetric matrices with :math:`0 \preceq X \preceq I` and :math:`\mathrm{tr} X = k`.

    It is the convex hull of the orthogonal projections onto subspaces of dimension k.

    Parameters
    ----------
    n : int
        Order of the matrices.
    k : int
        The trace, 1 <= k <= n.

    Notes
    -----
    The oracle is V V' with the eigenvectors V of the k smallest eigenvalues of (g + g')/2, since X
    is symmetric: O(n^3), and for large matrices and few eigenvectors about a hundred products with
    g. `certify` proves its bound from the residual of all eigenvectors. Projection puts the
    eigenvalues into the hypersimplex. The radius is sqrt(k), the diameter sqrt(2 min(k, n - k)).

    Examples
    --------
    >>> np.asarray(Fantope(3, 2).lmo(np.diag([3.0, 1.0, 2.0])))
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    proof_calls = 1
    summary = "{K.shape[0]}, k={K.k}"

    @checked(k=count)
    def __init__(self, n: int, k: int) -> None:
        n = as_size(n, "n")
        if k > n:
            raise ValueError(f"k must be at most n = {n}, found {k!r}")
        self.shape = (n, n)
        self.k = k
        self.radius = math.sqrt(k)
        self.diameter = math.sqrt(2.0 * min(k, n - k))
        self.centred_radius = math.sqrt(k * (1.0 - k / n))  # about (k/n) I
        self.cheap_projection = n <= DENSE_SVD

    def _lmo(self, g: Array) -> Dense:
        a = -0.5 * g - 0.5 * g.swapaxes(-1, -2)
        if g.ndim == 2 and self.shape[0] > DENSE_SVD:
            V = leading_eigenvectors(a, self.k).T
        else:
            _, V = decomposed(np.linalg.eigh, a.astype(np.float64, copy=False))
            V = V[..., -self.k :]
        return Dense(V @ V.swapaxes(-1, -2), self.shape)

    def certify(self, g: Array, vertex: Atoms) -> float:
        return -largest_sum_ceiling(-g, self.k)

    def violation(self, x: Array) -> float:
        if not all_finite(x):
            return math.nan
        with np.errstate(over="ignore"):
            skew = 0.5 * float(np.linalg.norm(x - x.T))
        values = np.linalg.eigvalsh(0.5 * x + 0.5 * x.T)
        trace = abs(float(np.trace(x)) - self.k)
        return max(skew, -float(values[0]), float(values[-1]) - 1.0, trace)

    def start(self) -> Array:
        return (self.k / self.shape[0]) * np.eye(self.shape[0])

    def _project(self, x: Array) -> Array:
        values, V = np.linalg.eigh(0.5 * x + 0.5 * x.T)
        return (V * clip_to_total(values, np.ones(len(values)), float(self.k))) @ V.T
