"""The convex hull of given points."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from ..arrays import Array, scaled_norm
from ..atoms import Rows
from ..problem.checks import as_array, count
from ._distance import separation
from ._laws import NoiseLike, smoothing_arguments
from ._lifted import LiftedSet, draw_indices, exponentials

_ALL_PAIRS_UP_TO = 3000
"""Beyond this many points the diameter is bounded, not computed from all pairs."""


class ConvexHull(LiftedSet):
    r"""The convex hull of N points, :math:`\mathrm{conv}\{p_1, \dots, p_N\}`.

    Parameters
    ----------
    points : array, shape (N, *shape)
        The points, along the first axis. They need not be vertices, and may repeat.

    Notes
    -----
    The oracle is the argmin of the N scores <g, p_i>, one matrix product for a batch; of points
    whose scores are equal the first is taken. With Gumbel noise on the scores (lifted smoothing)
    the smoothed argmax is the mean of the points with the weights softmax(<y, p_i>/alpha),
    s_1(0) = log N, and s_alpha is D^2/(4 alpha)-smooth with the diameter D. Membership is judged
    with the oracle, by Wolfe's algorithm.

    Examples
    --------
    >>> K = ConvexHull([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> np.asarray(K.lmo(np.array([-1.0, 1.0])))
    array([2., 0.])
    >>> K.contains(np.array([1.0, 0.5])), K.contains(np.array([1.0, 0.6]))
    (True, False)
    """

    summary = "{K.table.shape[0]} points, shape={K.shape}"
    rational_data = True
    _derived = ("table",)

    def __init__(self, points: ArrayLike) -> None:
        array = as_array(points, "points")
        if array.ndim < 2 or array.size == 0:
            raise ValueError(
                "points must be a non-empty array of points along the first axis, shape "
                f"(N, *shape), found shape {array.shape}"
            )
        self.shape = tuple(array.shape[1:])
        self.table = np.array(array, dtype=np.float64, order="C").reshape(len(array), -1)
        self.radius = max(map(scaled_norm, self.table))
        self.log_count = math.log(len(self.table))

    @property
    def points(self) -> Array:
        """The points, shape (N, *shape)."""
        return self.table.reshape(-1, *self.shape)

    @cached_property
    def diameter(self) -> float:
        if len(self.table) <= _ALL_PAIRS_UP_TO:
            return float(pdist(self.table).max(initial=0.0))
        centred = np.linalg.norm(self.table - self.table.mean(axis=0), axis=1).max()
        return 2.0 * min(float(centred), self.radius)

    @cached_property
    def centred_radius(self) -> float:
        centred = np.linalg.norm(self.table - self.table.mean(axis=0), axis=1).max()
        d = self.dimension
        jung = self.diameter * math.sqrt(d / (2.0 * (d + 1.0)))
        return min(float(centred), jung, self.radius)

    def _lmo(self, g: Array) -> Rows:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.table.shape[1])
        scores = rows @ self.table.T
        index = scores.argmin(axis=1)
        # The rounding of a product depends on the size of the batch. Nearly equal scores are
        # therefore summed again, always in the same order.
        rounding = 2.0 * np.finfo(np.float64).eps * rows.shape[1] * self.radius
        close = scores.min(axis=1) + rounding * np.linalg.norm(rows, axis=1)
        rivals = scores <= close[:, None]
        for i in np.flatnonzero(np.count_nonzero(rivals, axis=1) > 1):
            among = np.flatnonzero(rivals[i])
            index[i] = among[(self.table[among] * rows[i]).sum(axis=1).argmin()]
        return Rows(self.table, index[0] if g.ndim == len(self.shape) else index, self.shape)

    def violation(self, x: Array) -> float:
        return separation(self, x)

    def start(self) -> Array:
        return self.points.mean(axis=0)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        weights, _ = self._weights(y, alpha)
        return ((weights / weights.sum()) @ self.table).reshape(self.shape)

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        weights, largest = self._weights(y, alpha)
        return largest + alpha * math.log(weights.sum())

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Rows:
        y, alpha = smoothing_arguments(self, y, alpha)
        return Rows(self.table, draw_indices(self._weights(y, alpha)[0], count, rng), self.shape)

    def k_best(self, g: Array, k: int) -> Rows:
        g = self._check_direction(g)
        order = np.argsort(self.table @ g.reshape(-1), kind="stable")
        return Rows(self.table, order[: count(k, "k")], self.shape)

    def _weights(self, y: Array, alpha: float) -> tuple[Array, float]:
        """Return exp((score - max)/alpha) of the points, and max."""
        return exponentials(self.table @ y.reshape(-1), alpha)
