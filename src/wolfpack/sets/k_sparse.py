"""The k-sparse polytope: the convex hull of sign vectors with k nonzeros."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..atoms import Sparse
from ..problem.checks import Shape, as_shape, checked, count, extent
from ._ball import Ball
from ._faces import longest, near, norm_step, restricted
from ._level import clip_to_total
from ._select import first_positions, largest_flat


class KSparse(Ball):
    r"""The k-sparse polytope :math:`\{\|x\|_\infty \le r,\ \|x\|_1 \le k r\}`.

    It is the convex hull of the vectors with k entries +-r and zeros elsewhere.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    k : int
        Number of nonzeros of a vertex, 1 <= k <= n.
    radius : float
        Their size r.

    Notes
    -----
    The oracle puts -r sign(g_i) at the k largest |g_i|, O(n) by selection. k = 1 is the l1 ball,
    k = n the l_infinity ball. The radius R_K is r sqrt(k).

    Examples
    --------
    >>> np.asarray(KSparse(4, k=2, radius=3.0).lmo(np.array([5.0, -4.0, 0.0, 2.0])))
    array([-3.,  3.,  0.,  0.])
    """

    unconditional = True
    polytope = True
    summary = "{K.sizes}, k={K.k}, radius={K.r:g}"

    @checked(k=count, radius=extent)
    def __init__(self, n: Shape, k: int, radius: float = 1.0) -> None:
        super().__init__(as_shape(n, "n"), radius)
        self.k = k
        if self.k > self.dimension:
            raise ValueError(f"k must be at most n = {self.dimension}, found {k!r}")
        self.radius = self.r * math.sqrt(self.k)

    def _lmo(self, g: Array) -> Sparse:
        rows = g.reshape(-1, self.dimension)
        flat = largest_flat(rows, self.k, np.absolute)
        values = np.where(rows.take(flat) < 0, self.r, -self.r)
        answers = Sparse(flat - first_positions(*rows.shape), values, self.shape)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def _lmo_face(self, x: Array, g: Array) -> Sparse:
        size, sign, tol = abs(x), np.where(x < 0, -1.0, 1.0), near(self, x)
        full = size >= self.r - tol
        if float(size.sum()) < self.k * self.r - tol:
            held = restricted(g, full)
            return self._lmo(np.where(full, -sign * abs(held), held))
        # all signs are those of x, and k of its nonzeros are taken, the full ones among them
        held = restricted(sign * g, size <= tol, full).reshape(1, -1)
        flat = largest_flat(held, self.k, np.negative)
        return Sparse(flat, self.r * sign.take(flat), self.shape).take(0)

    def _max_step(self, x: Array, d: Array) -> float:
        entries = min(longest(self.r - x, d), longest(self.r + x, -d))
        return min(entries, norm_step(x, d, self.k * self.r))

    def violation(self, x: Array) -> float:
        size = abs(x)
        return max(float(size.max()) - self.r, float(size.sum()) - self.k * self.r)

    def _project(self, x: Array) -> Array:
        size = np.minimum(abs(x), self.r)
        if float(size.sum()) > self.k * self.r:
            size = clip_to_total(abs(x), np.full(self.shape, self.r), self.k * self.r)
        return np.copysign(size, x)
