"""The permutahedron: the convex hull of the rearrangements of a vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from ..arrays import Array, scaled_norm
from ..atoms import Dense
from ..problem.checks import as_array
from ._base import Set
from ._select import in_chunks, ordering, place


class Permutahedron(Set):
    r"""The convex hull of all rearrangements of w, :math:`\{x \prec w\}` (x is majorised by w).

    Parameters
    ----------
    vector : array, shape (n,)
        The vector w.

    Notes
    -----
    By the rearrangement inequality the oracle gives the largest entry of w to the smallest of g and
    so on: one sort, O(n log n). Membership is majorisation: the j largest entries of x sum to at
    most the j largest of w, with equality for j = n. Projection is an isotonic regression.

    Examples
    --------
    >>> np.asarray(Permutahedron([1.0, 2.0, 3.0]).lmo(np.array([0.5, -1.0, 0.0])))
    array([1., 3., 2.])
    """

    polytope = True

    def __init__(self, vector: ArrayLike) -> None:
        w = as_array(vector, "vector")
        if w.ndim != 1 or w.size == 0:
            raise ValueError(f"vector must be one-dimensional and non-empty, found shape {w.shape}")
        self.descending = np.sort(w.astype(np.float64))[::-1].copy()
        self.shape = (w.shape[0],)
        self.radius = scaled_norm(self.descending)
        self.diameter = scaled_norm(self.descending - self.descending[::-1])

    def _lmo(self, g: Array) -> Dense:
        rows = g.reshape(-1, self.dimension)
        answers = in_chunks(lambda part: place(ordering(part), self.descending), rows)
        return Dense(answers.reshape(g.shape), self.shape)

    def violation(self, x: Array) -> float:
        excess = np.cumsum(np.sort(x)[::-1] - self.descending)
        return max(float(excess.max()), abs(float(excess[-1])))

    def start(self) -> Array:
        return np.full(self.shape, self.descending.mean())

    def _project(self, x: Array) -> Array:
        # With x sorted downwards, x - p is the closest nonincreasing vector to x - w. It is
        # constant on blocks, on which p depends on differences of x. No block crosses a gap of x
        # as wide as w, so wider gaps are narrowed. That saves the digits of the other differences.
        order, w = np.argsort(-x, kind="stable"), self.descending
        with np.errstate(over="ignore"):
            gaps = np.minimum(-np.diff(x[order].astype(np.float64)), w[0] - w[-1])
        narrowed = w[0] - np.concatenate([[0.0], np.cumsum(gaps)])
        p = np.empty(self.shape)
        p[order] = narrowed - isotonic_regression(narrowed - w, increasing=False).x
        return p

    def __repr__(self) -> str:
        shown = ", ".join(f"{w:g}" for w in self.descending[:4])
        more = ", ..." if self.dimension > 4 else ""
        return f"Permutahedron([{shown}{more}], n={self.dimension})"
