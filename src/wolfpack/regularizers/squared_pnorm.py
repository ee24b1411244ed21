"""The squared l_p norm, strongly convex in a geometry between l1 and Euclidean."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..problem.checks import between
from ._base import Regularizer, strong_convexity


class SquaredPNorm(Regularizer):
    r"""A squared l_p norm, :math:`H(y) = \frac{\mu}{2 (p-1)} \|y\|_p^2` with 1 < p <= 2.

    It is mu-strongly convex in the l_p norm. With p = 1 + 1/log d the l_p norm is within a factor
    of e of the l1 norm: smoothness and variance are then measured by largest entries, as with the
    entropy, without a simplex.

    Parameters
    ----------
    mu, p : float
        The strong convexity constant, positive, and the exponent.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredPNorm(2.0, p=2.0).argmin(np.array([4.0, -2.0]))
    array([-2.,  1.])
    """

    geometry = "pnorm"

    def __init__(self, mu: float, p: float = 1.5) -> None:
        self.mu = strong_convexity(mu)
        self.p = exponent(p)
        self.norm = f"l{self.p!r}"

    def value(self, y: Array) -> float:
        return self.mu * half_square(y, self.p)

    def argmin(self, g: Array) -> Array:
        return square_argmin(g, self.p) / self.mu

    def subgradient(self, y: Array) -> Array:
        return self.mu * half_square_gradient(y, self.p)

    def minimum(self, g: Array) -> float:
        y = self.argmin(g)
        return 0.5 * float((g * y).sum())

    def pnorm_prox(self, g: Array, lam: float, p: float) -> Array:
        if p != self.p:
            raise ValueError(f"the mirror map's p must be H's, {self.p}, found {p}")
        return square_argmin(g, p) / (self.mu + lam)


def exponent(p: float) -> float:
    """Return ``p``, checked to lie in (1, 2]."""
    return between(1, 2, low_open=True)(p, "p")


def half_square(y: Array, p: float) -> float:
    """Return ||y||_p^2 / (2 (p-1)), which is 1-strongly convex in the l_p norm."""
    return 0.5 / (p - 1) * _norm(y, p) ** 2


def half_square_gradient(y: Array, p: float) -> Array:
    """Return the gradient of `half_square`."""
    size = _norm(y, p)
    if size == 0:
        return 0.0 * y
    return np.sign(y) * (abs(y) / size) ** (p - 1) * (size / (p - 1))


def square_argmin(g: Array, p: float) -> Array:
    """Return the minimiser of <g, y> + ||y||_p^2 / (2 (p-1))."""
    q = p / (p - 1)
    size = _norm(g, q)
    return 0.0 * g if size == 0 else -(p - 1) * size * np.sign(g) * (abs(g) / size) ** (q - 1)


def _norm(y: Array, p: float) -> float:
    # scaled by the largest entry: q = p/(p-1) is large, and powers overflow
    top = float(abs(y).max())
    return 0.0 if top == 0 else top * float(((abs(y) / top) ** p).sum()) ** (1 / p)
