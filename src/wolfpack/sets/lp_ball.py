"""The l_p balls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import (
    amax,
    choose,
    foreign_dtype,
    full,
    is_foreign,
    namespace,
    reshape,
    sum_last,
    zeros,
)
from ..atoms import Atoms, Corner, Dense, OneHot
from ._base import Array, Set, as_positive, as_shape
from ._select import in_chunks, pick

_HOST = np.zeros(0)


class LpBall(Set):
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

    def __init__(self, n: Any, p: float, radius: float = 1.0) -> None:
        self.shape = as_shape(n)
        try:
            self.p = float(p)
        except (TypeError, ValueError):
            raise TypeError(f"p must be a number, found {p!r}") from None
        if not self.p >= 1:  # NaN included
            raise ValueError(f"p must satisfy 1 <= p <= inf, found {p!r}")
        self.r = as_positive(radius, "radius")
        self.polytope = self.p in (1.0, math.inf)

    @property
    def radius(self) -> float:
        return self.r * self.dimension ** max(0.0, 0.5 - 1.0 / self.p)

    def _lmo(self, g: Array) -> Atoms:
        if self.p == math.inf:
            r = full((), self.r, g) if is_foreign(g) else self.r
            return Corner(g < 0, -r, r, self.shape)
        rows = reshape(g, (-1, self.dimension))
        if self.p > 1.0:
            return Dense(reshape(in_chunks(self._equality, rows), tuple(g.shape)), self.shape)
        index = namespace(g).argmax(abs(rows), axis=1)
        values = choose(pick(rows, index[:, None])[:, 0] < 0, self.r, -self.r, g)
        answers = OneHot(index, values, self.shape, foreign_dtype(g))
        return answers.take(0) if g.ndim == len(self.shape) else answers

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

    def start(self) -> Array:
        return zeros(self.shape, _HOST if self.like is None else self.like)

    def __repr__(self) -> str:
        return f"LpBall({', '.join(map(str, self.shape))}, p={self.p:g}, radius={self.r:g})"
