"""The ball of the ordered weighted l1 norm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import MAX_SIZE, Array
from ..atoms import Dense
from ..problem.checks import as_array, checked, extent
from ._ball import Ball
from ._select import in_chunks, ordering, pick, place


class OrderedWeightedL1(Ball):
    r"""The ball of the ordered weighted l1 norm (OWL), :math:`\{\sum_i w_i |x|_{(i)} \le r\}`.

    Here :math:`|x|_{(1)} \ge \dots \ge |x|_{(n)}` are the sorted absolute entries of x.

    Parameters
    ----------
    weights : array, shape (n,)
        The weights w, nonnegative and not all 0. They are sorted downwards.
    radius : float
        The bound r.

    Notes
    -----
    The ball is the hull of the vectors with j entries +-r/(w_1 + ... + w_j) and zeros elsewhere,
    j = 1, ..., n. The oracle takes the j largest |g_i| for the j with the largest mean
    (|g|_(1) + ... + |g|_(j))/(w_1 + ... + w_j): one sort, O(n log n). Equal weights give the l1
    ball, the weights 1, 0, ..., 0 the l_infinity ball, and k ones `KNormBall`.

    Examples
    --------
    >>> K = OrderedWeightedL1([2.0, 1.0, 1.0])
    >>> np.asarray(K.lmo(np.array([3.0, -4.0, 0.5]))).round(6)
    array([-0.333333,  0.333333,  0.      ])
    """

    unconditional = True
    polytope = True
    _derived = ("reach",)

    @checked(radius=extent)
    def __init__(self, weights: ArrayLike, radius: float = 1.0) -> None:
        w = as_array(weights, "weights")
        if w.ndim != 1 or w.size == 0:
            raise ValueError(f"weights must be a vector that is not empty, found shape {w.shape}")
        negative = int((w < 0).sum())
        if negative or not w.any():
            found = f"{negative} of {w.size} that are not" if negative else "only zeros"
            raise ValueError(f"weights must be nonnegative and not all 0, found {found}")
        super().__init__((w.size,), radius)
        self.weights = np.sort(w.astype(np.float64))[::-1].copy()
        # the size of the entries of a vertex with 1, ..., n of them
        self.reach = self.r / np.maximum(np.cumsum(self.weights), np.finfo(float).tiny)
        self.radius = float((self.reach * np.sqrt(np.arange(1.0, w.size + 1.0))).max())
        if self.radius > MAX_SIZE:
            raise ValueError(
                f"weights must be at least radius / {MAX_SIZE:g}, found {self.weights[0]:.3g}"
            )

    def _lmo(self, g: Array) -> Dense:
        rows = g.reshape(-1, self.dimension)
        return Dense(in_chunks(self._best, rows).reshape(g.shape), self.shape)

    def _best(self, rows: Array) -> Array:
        rows = rows.astype(np.float64, copy=False)
        sizes = abs(rows)
        order = ordering(-sizes)
        values = np.cumsum(pick(sizes, order), axis=1) * self.reach
        last = values.argmax(axis=1)[:, None]
        chosen = np.arange(self.dimension) <= last
        entries = place(order, np.where(chosen, self.reach[last], 0.0))
        return np.where(rows < 0, entries, 0.0 - entries)

    def violation(self, x: Array) -> float:
        with np.errstate(over="ignore"):
            size = float(np.sort(abs(x).reshape(-1))[::-1] @ self.weights)
        return self.radius * (size / self.r - 1.0)
