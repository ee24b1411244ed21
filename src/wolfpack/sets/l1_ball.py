"""The l1 ball."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from ..atoms import OneHot
from ..problem.checks import Shape, as_shape, checked, extent
from ._ball import Ball
from ._faces import near, norm_step, restricted
from ._level import above_level
from ._select import scratch
from .weighted_l1_ball import WeightedL1Ball


class L1Ball(WeightedL1Ball):
    r"""The l1 ball :math:`\{\|x\|_1 \le r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The bound r.

    Notes
    -----
    The 2n vertices are +-r e_i; the oracle is one argmax of |g|, O(n). With Gumbel noise on the 2n
    scores +-r y_i (lifted smoothing) the smoothed argmax is

        r sinh(r y_i / alpha) / sum_j cosh(r y_j / alpha),

    s_1(0) = log(2n) and s_alpha is r^2/(2 alpha)-smooth (r^2/alpha if n = 1).

    Examples
    --------
    >>> np.asarray(L1Ball(3).lmo(np.array([2.0, -3.0, 0.0])))
    array([0., 1., 0.])
    """

    rational_data = True

    @checked(radius=extent)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        Ball.__init__(self, as_shape(n, "n"), radius)
        self.reach = self.r
        self.log_count = math.log(2 * self.dimension)

    def _lmo_face(self, x: Array, g: Array) -> OneHot:
        size, sign, tol = abs(x), np.where(x < 0, -1.0, 1.0), near(self, x)
        if float(size.sum()) < self.r - tol:
            return self._lmo(g)
        i = int(restricted(sign * g, size <= tol).argmin())
        return OneHot(i, self.r * float(sign.flat[i]), self.shape)

    def _max_step(self, x: Array, d: Array) -> float:
        return norm_step(x, d, self.r)

    def _soft_thresholded(self, sizes: Array) -> Array:
        return above_level(sizes, self.r)

    def _sizes(self, flat: Array) -> Array:
        return np.abs(flat, out=scratch(flat.shape))  # the factor r would change no comparison
