"""The l1 ball with weights on the coordinates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import eye_array, hstack

from ..arrays import MAX_SIZE, Array
from ..atoms import OneHot
from ..problem.checks import as_array, checked, count, extent
from ..problem.polyhedron import Polyhedron, Rows
from ._ball import Ball
from ._laws import NoiseLike, is_lifted
from ._level import above_level
from ._lifted import LiftedSet, draw_indices, exponentials
from ._select import ranked, scratch


class WeightedL1Ball(Ball, LiftedSet):
    r"""The weighted l1 ball :math:`\{\sum_i w_i |x_i| \le r\}`.

    Parameters
    ----------
    weights : array
        The positive weights w; their shape is the shape of x.
    radius : float
        The bound r.

    Notes
    -----
    The 2n vertices are +-(r/w_i) e_i; the oracle is one argmax of |g_i|/w_i, O(n). With Gumbel
    noise on the 2n scores +-(r/w_i) y_i (lifted smoothing) the smoothed argmax is a softmax over
    the vertices, s_1(0) = log(2n) and s_alpha is R^2/(2 alpha)-smooth (R^2/alpha if n = 1).

    Proof of the constant, for w = 1 and r = 1; the general Hessian has the factors r/w_i on both
    sides. With c_i = cosh(y_i/alpha), Z = sum_i c_i, p = c/Z and q = sinh(y/alpha)/Z the Hessian
    times alpha is diag(p) - q q', where q_i^2 = p_i^2 - 1/Z^2. If every p_i <= 1/2 it is at most
    I/2. Else p_1 > 1/2 alone, and I/2 - diag(p) + q q' has a nonnegative determinant, hence no
    negative eigenvalue, if and only if

        q_1^2/(p_1 - 1/2) >= 1 + sum_{i>1} h(p_i),   h(p) = (p^2 - 1/Z^2)/(1/2 - p).

    On [1/Z, 1/2) h is convex and increasing from h(1/Z) = 0, so its sum is at most h(1 - p_1), with
    which the inequality reads 2 p_1 - 1 >= p_1 - 1/2.

    Examples
    --------
    >>> np.asarray(WeightedL1Ball([1.0, 2.0]).lmo(np.array([3.0, -8.0])))
    array([0. , 0.5])
    """

    unconditional = True
    reach: Array  # r / w: how far K reaches along each axis, a number or an array

    @checked(radius=extent)
    def __init__(self, weights: ArrayLike, radius: float = 1.0) -> None:
        w = as_array(weights, "weights")
        if w.ndim == 0 or w.size == 0:
            raise ValueError(f"weights must be a non-empty array, found shape {w.shape}")
        bad = int((w <= 0).sum())
        if bad:
            raise ValueError(f"weights must be positive, found {bad} of {w.size} that are not")
        super().__init__(tuple(w.shape), radius)
        self.reach = self.r / np.maximum(w.astype(np.float64), np.finfo(float).tiny)
        self.radius = float(np.max(self.reach))
        if self.radius > MAX_SIZE:
            raise ValueError(
                f"weights must be at least radius / {MAX_SIZE:g}, found {float(w.min()):.3g}"
            )
        self.log_count = math.log(2 * self.dimension)

    def _lmo(self, g: Array) -> OneHot:
        rows = g.reshape(-1, self.dimension)
        index = self._sizes(rows).argmax(axis=1)
        value = self._values(rows[np.arange(rows.shape[0]), index], index)
        answers = OneHot(index, value, self.shape)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def violation(self, x: Array) -> float:
        return self.radius * (float((abs(x) / self.reach).sum()) - 1.0)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        (up, down), _ = self._weights(y, alpha)
        return self.reach * (up - down) / (up + down).sum()

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        (up, down), largest = self._weights(y, alpha)
        return largest + alpha * math.log((up + down).sum())

    def smoothness(self, noise: NoiseLike) -> float | None:
        if not is_lifted(noise):
            return None
        return self.radius**2 * (0.5 if self.dimension > 1 else 1.0)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> OneHot:
        drawn = draw_indices(self._weights(y, alpha)[0].reshape(-1), count, rng)
        below, index = np.divmod(drawn, self.dimension)
        return OneHot(index, self._values(below - 0.5, index), self.shape)

    def k_best(self, g: Array, k: int) -> OneHot:
        g = self._check_direction(g).reshape(-1)
        n = self.dimension
        k = min(count(k, "k"), 2 * n)
        sizes = self._sizes(g).copy()  # selection uses the scratch memory too
        index = ranked(sizes, min(k, n))
        value = self._values(g[index], index)
        if k > n:  # the opposite vertices follow, in the reverse order of their sizes
            rest = ranked(sizes, k - n, np.negative)
            index = np.concatenate([index, rest])
            value = np.concatenate([value, -self._values(g[rest], rest)])
        return OneHot(index, value, self.shape)

    def _polyhedron(self) -> Polyhedron:
        # x = p - n with p, n >= 0, which must not be larger together than K allows
        sizes = np.tile(np.broadcast_to(1.0 / self.reach, self.shape).reshape(-1), 2)
        one = eye_array(self.dimension)
        bound = Rows(sizes[None, :], np.ones(1))
        return self._described(0.0, np.inf, inequalities=bound, lift=hstack([one, -one], "csr"))

    def _project(self, x: Array) -> Array:
        if self.violation(x) <= 0:
            return x + 0.0
        shrunk = self._soft_thresholded(abs(x).reshape(-1))
        return np.copysign(shrunk.reshape(self.shape), x)

    def _soft_thresholded(self, sizes: Array) -> Array:
        """Return max(|x_i| - t w_i, 0) for the t that brings x onto the boundary."""
        # sum_i w_i^2 max(|x_i|/w_i - t, 0) = r, the largest w being 1
        r = float(self.reach.min())
        w = r / self.reach.reshape(-1)
        return w * above_level(sizes / w, r, w * w)

    def _sizes(self, flat: Array) -> Array:
        """Return |<g, v>| of the vertices +-v on each axis, in scratch memory."""
        sizes = np.abs(flat, out=scratch(flat.shape))
        sizes *= self.reach.reshape(-1)
        return sizes

    def _values(self, g: Array, index: Array) -> Array:
        """Return the entries at ``index`` of the vertices against ``g``; 0 counts as positive."""
        reach = self.reach.reshape(-1)[index] if np.ndim(self.reach) else self.reach
        return np.where(g < 0, reach, -reach)

    def _weights(self, y: Array, alpha: float) -> tuple[Array, float]:
        """Return exp((score - max)/alpha) of the vertices up and down each axis, and max."""
        score = self.reach * y
        return exponentials(np.stack([score, -score]), alpha)
