"""Boxes: bounds on each coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import (
    Array,
    amax,
    clip,
    fetch,
    is_foreign,
    like,
    namespace,
    scaled_norm,
    sum_last,
    to_host,
)
from ..atoms import Corner
from ..noise import LAWS
from ..noise import get as get_noise
from ..problem import CapabilityError, Polyhedron
from ..problem.checks import as_array, shown
from ._base import Set
from ._faces import longest, near, restricted
from ._laws import NoiseLike, smoothing_arguments


class Box(Set):
    r"""The box :math:`\{\ell \le x \le u\}`.

    Parameters
    ----------
    lower, upper : array or float
        Finite bounds of the same shape (or broadcastable to one), lower <= upper.

    Notes
    -----
    The oracle picks the lower bound where g >= 0 and the upper where g < 0, O(n). The smoothed
    argmax is separable: u_i with probability P(Delta > -y_i/alpha), else l_i. That is the normal
    distribution function for Gaussian noise and the sigmoid for logistic noise. The Hessian of
    s_alpha is diagonal, with the entries (u_i - l_i) p(-y_i/alpha)/alpha where p is the density of
    the noise: s_alpha is max_i (u_i - l_i) max(p)/alpha-smooth, whatever the dimension.

    Examples
    --------
    >>> import numpy as np
    >>> K = Box([0.0, 0.0], [1.0, 2.0])
    >>> np.asarray(K.lmo(np.array([1.0, -1.0])))
    array([0., 2.])
    >>> K.smoothed(np.zeros(2), alpha=1.0)
    array([0.5, 1. ])
    """

    polytope = True
    closed_forms = ("gaussian", "logistic", "gumbel")
    rational_data = True

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low = as_array(lower, "lower")
        high = as_array(upper, "upper")
        try:
            low, high = np.broadcast_arrays(low, high)
        except ValueError:
            raise ValueError(
                f"lower and upper must have one shape, found {low.shape} and {high.shape}"
            ) from None
        if low.ndim == 0:
            raise ValueError("lower and upper are numbers: pass arrays, their shape is x's shape")
        if low.size == 0:
            raise ValueError(f"lower and upper must not be empty, found shape {low.shape}")
        empty = int((low > high).sum())
        if empty:
            first = [int(i) for i in np.argwhere(low > high)[0]]
            raise ValueError(
                f"lower must not exceed upper, found that it does in {empty} of {low.size} "
                f"coordinates, first at {first}: the box is empty"
            )
        self.lower, self.upper = low.copy(), high.copy()
        self.shape = tuple(low.shape)
        self.radius = scaled_norm(np.maximum(abs(self.lower), abs(self.upper)))
        self.diameter = scaled_norm(self.upper - self.lower)
        self.centred_radius = 0.5 * self.diameter

    def _lmo(self, g: Array) -> Corner:
        return Corner(g < 0, self.lower, self.upper, self.shape)

    def violation(self, x: Array) -> float:
        return max(fetch(amax(self.lower - x), amax(x - self.upper)))

    def start(self) -> Array:
        return 0.5 * self.lower + 0.5 * self.upper

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        law = self._law(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        with np.errstate(over="ignore"):  # a quotient of +-inf has probability 1 or 0
            above = 1.0 - _values(law, "cdf", -y / alpha)
        return self.lower + (self.upper - self.lower) * above

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        # max over [l, u] of x t is l t + (u - l) max(0, t)
        law = self._law(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            # a quotient or its square may be infinite, where the noise counts for nothing
            rise = alpha * _values(law, "positive_part", y / alpha)
            xp = namespace(rise)
            rise = xp.where(xp.isfinite(rise), rise, clip(y, 0.0, None))
        return float(sum_last(self.lower * y + (self.upper - self.lower) * rise, y.ndim))

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        # E max(l D, u D) = (u - l) E|D| / 2 for centred D
        law = get_noise(self.default_noise if noise is None else noise)
        if not hasattr(law, "mean_abs"):
            return None
        return 0.5 * float((self._host_width * law.mean_abs).sum())

    def smoothness(self, noise: NoiseLike) -> float | None:
        law = get_noise(self.default_noise if noise is None else noise)
        if not hasattr(law, "peak"):
            return None
        return float((self._host_width * law.peak).max())

    def _lmo_face(self, x: Array, g: Array) -> Corner:
        tol = near(self, x)
        return self._lmo(restricted(g, x <= self.lower + tol, x >= self.upper - tol))

    def _max_step(self, x: Array, d: Array) -> float:
        return min(longest(x - self.lower, -d), longest(self.upper - x, d))

    def _polyhedron(self) -> Polyhedron:
        return self._described(self.lower.reshape(-1), self.upper.reshape(-1))

    def _project(self, x: Array) -> Array:
        return namespace(x).clip(x, self.lower, self.upper)

    @property
    def _host_width(self) -> np.ndarray:
        K = self.original or self
        return K.upper - K.lower

    def _law(self, noise: NoiseLike) -> Any:
        lifted = isinstance(noise, str) and noise == "lifted"
        law = None if lifted else get_noise(self.default_noise if noise is None else noise)
        if not (hasattr(law, "cdf") and hasattr(law, "positive_part")):
            raise CapabilityError(
                f"{self} has a closed form for noise laws with cdf and positive_part "
                f"({', '.join(self.closed_forms)}), found {shown(noise)}"
            )
        return law


def _values(law: Any, function: str, z: Array) -> Array:
    """Return a law's function at z; a user's own law is asked on the host."""
    evaluate = getattr(law, function)
    if type(law) in LAWS.values() or not is_foreign(z):
        return evaluate(z)
    return like(evaluate(to_host(z)), z)
