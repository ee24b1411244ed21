"""Indicators of sets with an easy projection, plus a ridge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import Array, epsilon
from ..problem import CapabilityError, Pieces
from ..problem.checks import extent, instance
from ..sets import Box, L2Ball, Set, Simplex
from ._base import Ridged
from .entropy import entropic_projection

_TOLERANCE = 1e-9


class IndicatorRidge(Ridged):
    r"""A constraint and a ridge: :math:`H(y) = I_K(y) + \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    K : Set
        A set that knows its Euclidean projection.
    mu : float
        Weight of the ridge, positive.

    Notes
    -----
    The minimisation step is the projection of -g/c, c the total weight of the squared norms.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> H = IndicatorRidge(wp.sets.L2Ball(2), mu=1.0)
    >>> H.argmin(np.array([-3.0, 4.0]))
    array([ 0.6, -0.8])
    """

    structured = True

    def __init__(self, K: Set, mu: float) -> None:
        super().__init__(mu)
        instance(Set, "a set (wolfpack.sets)")(K, "K")
        if not K.has("project"):
            raise CapabilityError(
                f"K must have a cheap projection, which the minimisation step needs, found {K}"
            )
        self.K = K
        self.shape = K.shape

    def rest(self, y: Array) -> float:
        # Points in single precision are rounded; a sum of entries is then off by this much.
        tol = max(_TOLERANCE, 16.0 * epsilon(y) * math.sqrt(y.size))
        return 0.0 if self.K.contains(np.asarray(y, dtype=np.float64), tol) else math.inf

    def solve(self, g: Array, c: float) -> Array:
        if g.dtype == np.float64:
            return self.K.project(-g / c)
        # In double precision: -g/c may be so large that single precision would miss K.
        return self.K.project(-g.astype(np.float64) / c).astype(g.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.K!r}, mu={self.mu:g})"


class BoxRidge(IndicatorRidge):
    r"""Bounds and a ridge, :math:`\ell \le y \le u`.

    Parameters
    ----------
    lower, upper, mu : array or float
        Finite bounds, at least one of them an array of y's shape; weight of the ridge, positive.
    """

    def __init__(self, lower: Array | float, upper: Array | float, mu: float) -> None:
        super().__init__(Box(lower, upper), mu)

    def pieces(self) -> Pieces:
        box: Any = self.K
        return Pieces(self.mu, 0.0, box.lower, box.upper)


class BallRidge(IndicatorRidge):
    r"""A Euclidean ball and a ridge, :math:`\|y\|_2 \le r`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of y.
    mu, radius : float
        Weight of the ridge, and the radius r, both positive.
    """

    def __init__(self, n: int | tuple[int, ...], mu: float, radius: float = 1.0) -> None:
        super().__init__(L2Ball(n, extent(radius, "radius")), mu)


class SimplexRidge(IndicatorRidge):
    r"""A simplex and a ridge, :math:`y \ge 0`, :math:`\sum_i y_i = r`.

    Parameters
    ----------
    n, mu, radius
        As for `BallRidge`; r is the sum.
    """

    def __init__(self, n: int | tuple[int, ...], mu: float, radius: float = 1.0) -> None:
        self.radius = extent(radius, "radius")
        super().__init__(Simplex(n, self.radius), mu)

    def entropic_prox(self, g: Array, lam: float) -> Array:
        if self.radius != 1.0:
            raise CapabilityError(
                f"the entropy is defined on the simplex of sum 1, and {self!r} has sum "
                f"{self.radius:g}: use w='euclidean'"
            )
        return self.argmin(g) if lam == 0.0 else entropic_projection(g, lam, self.mu)
