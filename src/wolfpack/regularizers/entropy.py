"""Negative entropy on the simplex."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp, softmax, wrightomega, xlogy

from ..arrays import Array, epsilon
from ._base import Regularizer, strong_convexity

_TOLERANCE = 1e-9


class Entropy(Regularizer):
    r"""Negative entropy, :math:`H(y) = \mu \sum_i y_i \log y_i` on the simplex.

    The entries of y are nonnegative and sum to 1, whatever the shape of y.

    Parameters
    ----------
    mu : float
        Positive weight. By Pinsker's inequality H is mu-strongly convex in the l1 norm (and hence
        in the Euclidean norm).

    Notes
    -----
    Every step is a softmax, and :math:`H^*(u) = \mu \log \sum_i e^{u_i/\mu}`.

    Examples
    --------
    >>> import numpy as np
    >>> Entropy(1.0).argmin(np.log([1.0, 2.0, 4.0])).round(4)
    array([0.5714, 0.2857, 0.1429])
    """

    norm = "l1"
    geometry = "entropy"

    def __init__(self, mu: float) -> None:
        self.mu = strong_convexity(mu)

    def value(self, y: Array) -> float:
        return self.mu * entropy(y) if on_simplex(y) else math.inf

    def argmin(self, g: Array) -> Array:
        return softmax(-g / self.mu)

    def entropic_prox(self, g: Array, lam: float) -> Array:
        return softmax(-g / (self.mu + lam))

    def prox(self, g: Array, lam: float) -> Array:
        return entropic_projection(g, self.mu, lam)

    def subgradient(self, y: Array) -> Array:
        return self.mu * entropy_slope(y)

    def minimum(self, g: Array) -> float:
        return -self.mu * float(logsumexp(-g / self.mu))


def entropy(y: Array) -> float:
    """Return the negative entropy, sum y log y with 0 log 0 = 0."""
    return float(xlogy(y, y).sum())


def entropy_slope(y: Array) -> Array:
    """Return log y, the gradient of the negative entropy up to a constant."""
    if not (on_simplex(y) and y.min() > 0):
        raise ValueError(
            "z0 or y0 must have positive entries of sum 1, in the interior of the simplex, "
            f"found a smallest entry {y.min():.3g} and a sum {y.sum():.6g}"
        )
    return np.log(y)


def on_simplex(y: Array) -> bool:
    """Tell whether y >= 0 and sum y = 1, up to rounding."""
    tolerance = max(_TOLERANCE, 16.0 * epsilon(y))
    return bool(y.min() >= 0.0 and abs(float(y.sum()) - 1.0) <= tolerance)


def entropic_projection(g: Array, a: float, c: float) -> Array:
    r"""Return the minimiser of :math:`<g, y> + a \sum_i y_i \log y_i + \tfrac c2 \|y\|^2` over the
    simplex, a > 0.

    Stationarity reads a log y_i + c y_i = t - g_i, so that y_i = (a/c) omega((t - g_i)/a +
    log(c/a)) with omega Wright's function, omega(x) + log omega(x) = x. The multiplier t makes the
    sum 1: the sum is convex and increasing in t, and Newton's method from the right decreases to
    the root.
    """
    if c == 0.0:
        return softmax(-g / a)
    shift, gap = math.log(c / a), (g.min() - g) / a
    # (t - min g)/a = c/a makes the largest entry 1, hence the sum at least 1
    t = c / a
    for _ in range(100):
        y = (a / c) * wrightomega(t + gap + shift)
        excess = float(y.sum()) - 1.0
        # omega' = omega / (1 + omega)
        step = excess / float((y / (1.0 + (c / a) * y)).sum())
        t -= step
        if step <= 1e-13 * (1.0 + abs(t)):  # the next error is the square of this
            break
    return y / y.sum()
