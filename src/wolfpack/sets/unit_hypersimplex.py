"""The hypersimplex with its interior: the hull of 0-1 vectors with at most k ones."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..atoms import Sparse
from ..problem.checks import Shape, as_shape, checked, count
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._faces import longest, near, restricted
from ._level import clip_to_total
from ._select import largest, pick


class UnitHypersimplex(Set):
    r"""The hull of 0-1 vectors with at most k ones, :math:`\{0 \le x \le 1,\ \sum_i x_i \le k\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    k : int
        Number of ones at most, 1 <= k <= n.

    Notes
    -----
    The oracle puts ones at the k smallest entries of g, where they are negative: O(n) by selection.
    The radius is sqrt(k), the diameter sqrt(min(2k, n)).

    Examples
    --------
    >>> np.asarray(UnitHypersimplex(4, 2).lmo(np.array([3.0, 1.0, -1.0, 2.0])))
    array([0., 0., 1., 0.])
    """

    unconditional = True
    polytope = True
    summary = "{K.sizes}, k={K.k}"
    price_names: ClassVar[dict[str, str]] = {"inequalities": "k"}

    @checked(k=count)
    def __init__(self, n: Shape, k: int) -> None:
        self.shape = as_shape(n, "n")
        self.k = k
        n = self.dimension
        if k > n:
            raise ValueError(f"k must be at most n = {n}, found {k!r}")
        self.radius = math.sqrt(k)
        self.diameter = math.sqrt(min(2 * k, n))
        # about the point with all entries c = min(k/n, 1/2): n c^2 + j (1 - 2c) for j ones
        self.centred_radius = math.sqrt(k * (1.0 - k / n)) if 2 * k <= n else 0.5 * math.sqrt(n)

    def _lmo(self, g: Array) -> Sparse:
        rows = g.reshape(-1, self.dimension)
        indices = largest(rows, self.k, np.negative)
        values = np.where(pick(rows, indices) < 0, 1.0, 0.0)
        answers = Sparse(indices, values, self.shape)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def violation(self, x: Array) -> float:
        return max(-float(x.min()), float(x.max()) - 1.0, float(x.sum()) - self.k)

    def start(self) -> Array:
        return np.full(self.shape, min(0.5, self.k / (self.dimension + 1)))

    def _lmo_face(self, x: Array, g: Array) -> Sparse:
        tol = near(self, x)
        held = restricted(g, x <= tol, x >= 1.0 - tol)
        if float(x.sum()) < self.k - tol:
            return self._lmo(held)
        indices = largest(held.reshape(1, -1), self.k, np.negative)
        return Sparse(indices, 1.0, self.shape).take(0)

    def _max_step(self, x: Array, d: Array) -> float:
        entries = min(longest(x, -d), longest(1.0 - x, d))
        return min(entries, longest(self.k - x.sum(keepdims=True), d.sum(keepdims=True)))

    def _polyhedron(self) -> Polyhedron:
        total = Rows(np.ones((1, self.dimension)), np.array([float(self.k)]))
        return self._described(0.0, 1.0, inequalities=total)

    def _project(self, x: Array) -> Array:
        kept = np.clip(x, 0.0, 1.0)
        if float(kept.sum()) <= self.k:
            return kept
        return clip_to_total(x, np.ones(self.shape), float(self.k))
