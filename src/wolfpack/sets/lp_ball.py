"""The l_p balls."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, amax, full, is_foreign, namespace, reshape, sum_last
from ..atoms import Atoms, Corner, Dense
from ..problem.checks import Shape, as_shape, at_least, checked, extent
from ._ball import Ball
from ._select import in_chunks
from .l1_ball import L1Ball


class LpBall(Ball):
    r"""The l_p ball :math:`\{\|x\|_p \le r\}` for :math:`1 \le p \le \infty`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    p : float
        The exponent, from 1 to infinity (included).
    radius : float
        The bound r.

    Notes
    -----
    The oracle is the case of equality in Hölder's inequality, O(n): with q = p/(p - 1),

        v_i = -r sign(g_i) (|g_i| / ||g||_q)^(q-1),   min <g, v> = -r ||g||_q.

    Powers are taken of g divided by its largest entry. The radius R_K is r for p <= 2 and
    r n^(1/2 - 1/p) above. `L1Ball`, `L2Ball` and `LinfBall` know more about p = 1, 2 and infinity.

    Examples
    --------
    >>> import numpy as np
    >>> round(LpBall(2, p=3).support(np.array([1.0, 1.0])), 6)  # the norm of order 3/2
    1.587401
    """

    unconditional = True
    summary = "{K.sizes}, p={K.p:g}, radius={K.r:g}"

    @checked(p=at_least(1), radius=extent)
    def __init__(self, n: Shape, p: float, radius: float = 1.0) -> None:
        super().__init__(as_shape(n, "n"), radius)
        self.p = p
        self.radius = self.r * self.dimension ** max(0.0, 0.5 - 1.0 / self.p)
        self.polytope = self.p in (1.0, math.inf)
        self.strictly_convex = not self.polytope

    def _lmo(self, g: Array) -> Atoms:
        if self.p == math.inf:
            r = full((), self.r, g) if is_foreign(g) else self.r
            return Corner(g < 0, -r, r, self.shape)
        if self.p == 1.0:
            return L1Ball(self.shape, self.r).at(g)._lmo(g)
        answers = in_chunks(self._equality, reshape(g, (-1, self.dimension)))
        return Dense(reshape(answers, tuple(g.shape)), self.shape)

    def _equality(self, rows: Array) -> Array:
        """Return the vectors that attain Hölder's inequality with each row, and their sign."""
        space = namespace(rows)
        size = abs(rows if is_foreign(rows) else rows.astype(np.float64, copy=False))
        largest = amax(size, axis=1, keepdims=True)
        power = (size / space.where(largest > 0, largest, 1.0)) ** (1.0 / (self.p - 1.0))
        length = space.sum(power**self.p, axis=1, keepdims=True) ** (1.0 / self.p)
        power *= self.r / space.where(length > 0, length, 1.0)
        return space.copysign(power, -rows)

    def violation(self, x: Array) -> float:
        size = abs(x)
        largest = float(amax(size))
        if largest == 0.0 or self.p == math.inf:
            return largest - self.r
        total = float(sum_last((size / largest) ** self.p, x.ndim))
        return largest * total ** (1.0 / self.p) - self.r
