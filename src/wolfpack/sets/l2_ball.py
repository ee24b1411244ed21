"""The Euclidean ball."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, hyp1f1

from ..arrays import Array, norm
from ..atoms import Dense
from ..problem.checks import Shape, as_shape, checked, extent
from ._ball import Ball
from ._laws import NoiseLike, need_scale, scale_of, smoothing_arguments


class L2Ball(Ball):
    r"""The Euclidean (Frobenius) ball :math:`\{\|x\|_2 \le r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The radius r.

    Notes
    -----
    The oracle is -r g/||g||, O(n). With standard Gaussian noise s_1(0) = r c_n where
    c_n = E||Delta|| = sqrt(2) Gamma((n+1)/2)/Gamma(n/2), and the mean of a noncentral chi variable
    gives, with t = ||y||/alpha and Kummer's function F,

        s_alpha(y) = r alpha c_n F(-1/2; n/2; -t^2/2),
        grad s_alpha(y) = (r c_n / (n alpha)) F(1/2; n/2 + 1; -t^2/2) y.

    s_alpha is r c_n/(n alpha)-smooth, about r/(sqrt(n) alpha), and no smoother: its gradient is
    phi(t) y/||y|| with phi(t)/t proportional to the F above, which is a mean of exp(-u t^2/2) over
    u in [0, 1] (Euler's integral) and so falls as t grows; the eigenvalues of the Hessian are
    phi(t)/(t alpha) and phi'(t)/alpha, and phi'(t) <= phi(t)/t <= phi'(0).

    Examples
    --------
    >>> np.asarray(L2Ball(2, radius=5.0).lmo(np.array([3.0, -4.0])))
    array([-3.,  4.])
    """

    unconditional = True
    closed_forms = ("gaussian",)

    @checked(radius=extent)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        super().__init__(as_shape(n, "n"), radius)

    def _lmo(self, g: Array) -> Dense:
        flat = g.reshape(*g.shape[: g.ndim - len(self.shape)], -1).astype(np.float64, copy=False)
        square = np.einsum("...i,...i->...", flat, flat)[..., None]
        if not (square.min() > 1e-200 and square.max() < 1e200):
            # a zero direction, or squares that overflow or underflow: divide by the largest entry
            largest = abs(flat).max(axis=-1, keepdims=True)
            flat = flat / np.where(largest > 0, largest, 1.0)
            square = np.maximum((flat * flat).sum(axis=-1, keepdims=True), np.finfo(float).tiny)
        return Dense((flat * (-self.r / np.sqrt(square))).reshape(g.shape), self.shape)

    def violation(self, x: Array) -> float:
        return norm(x) - self.r

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        answer, length, alpha = self._smoothing(y, alpha, noise)
        t, n = length / alpha, self.dimension
        if t * t > 1e16 * n:  # phi(t) = 1 - (n - 1)/(2 t^2) + ... rounds to 1
            return answer
        return answer * (self._mean_length * t / n * float(hyp1f1(0.5, n / 2 + 1, -0.5 * t * t)))

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        _, length, alpha = self._smoothing(y, alpha, noise)
        t, n = length / alpha, self.dimension
        if t * t > 1e16 * n:
            return self.r * length
        return self.r * alpha * self._mean_length * float(hyp1f1(-0.5, n / 2, -0.5 * t * t))

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gaussian")
        return None if scale is None else self.r * scale * self._mean_length

    def smoothness(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gaussian")
        return None if scale is None else self.r * self._mean_length / (scale * self.dimension)

    def _project(self, x: Array) -> Array:
        return self._lmo(-x).to_dense() if norm(x) > self.r else x + 0.0

    @property
    def _mean_length(self) -> float:
        """c_n = E||Delta|| for a standard Gaussian vector."""
        n = self.dimension
        return math.sqrt(2.0) * math.exp(gammaln((n + 1) / 2) - gammaln(n / 2))

    def _smoothing(self, y: Array, alpha: float, noise: NoiseLike) -> tuple[Array, float, float]:
        """Return the answer to -y, ||y|| as <answer, y>/r, whose terms stay in range, and alpha."""
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gaussian")
        answer = self._lmo(-y).to_dense()
        return answer, float((answer * y).sum()) / self.r, alpha
