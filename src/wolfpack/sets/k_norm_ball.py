"""The ball of the k-norm, the sum of the k largest absolute entries."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..atoms import Dense
from ..problem.checks import Shape, as_shape, checked, count, extent
from ._ball import Ball
from ._select import in_chunks, largest, pick


class KNormBall(Ball):
    r"""Vectors whose k largest absolute entries sum to at most r.

    It is the hull :math:`\mathrm{conv}(\{\|x\|_1 \le r\} \cup \{\|x\|_\infty \le r/k\})`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    k : int
        Number of entries that count, 1 <= k <= n.
    radius : float
        The bound r.

    Notes
    -----
    The oracle compares the best vertices of the two balls: it is -r sign(g_i) at the largest |g_i|,
    or -(r/k) sign(g) if that is better, O(n). k = n is the l1 ball, k = 1 the l_infinity ball. The
    radius R_K is r max(1, sqrt(n)/k). The polar set is a multiple of `KSparse`.

    Examples
    --------
    >>> K = KNormBall(4, k=2, radius=2.0)
    >>> np.asarray(K.lmo(np.array([5.0, -1.0, 0.5, 0.5])))
    array([-2.,  0.,  0.,  0.])
    >>> np.asarray(K.lmo(np.array([1.0, -1.0, 1.0, 1.0])))
    array([-1.,  1., -1., -1.])
    """

    unconditional = True
    polytope = True
    summary = "{K.sizes}, k={K.k}, radius={K.r:g}"

    @checked(k=count, radius=extent)
    def __init__(self, n: Shape, k: int, radius: float = 1.0) -> None:
        super().__init__(as_shape(n, "n"), radius)
        self.k = k
        if k > self.dimension:
            raise ValueError(f"k must be at most n = {self.dimension}, found {k!r}")
        self.radius = self.r * max(1.0, math.sqrt(self.dimension) / k)

    def _lmo(self, g: Array) -> Dense:
        rows = g.reshape(-1, self.dimension)
        return Dense(in_chunks(self._best, rows).reshape(g.shape), self.shape)

    def _best(self, rows: Array) -> Array:
        # in one layout, so that sums, and with them ties, do not depend on the batch
        sizes = np.abs(rows, out=np.empty(rows.shape))
        top, every = sizes.argmax(axis=1), np.arange(len(rows))
        alone = np.flatnonzero(sizes.sum(axis=1) <= self.k * sizes[every, top])
        entries = np.where(rows < 0, self.r / self.k, -self.r / self.k)
        entries[alone] = 0.0
        first = top[alone]
        entries[alone, first] = np.where(rows[alone, first] < 0, self.r, -self.r)
        return entries

    def violation(self, x: Array) -> float:
        rows = abs(x).reshape(1, -1)
        return float(pick(rows, largest(rows, self.k)).sum()) - self.r
