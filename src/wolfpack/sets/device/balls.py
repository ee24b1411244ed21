"""Euclidean and l_p balls and boxes where the arrays are."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import hyp1f1

from ...arrays import (
    fetch,
    full,
    like,
    namespace,
    norm,
    normal_cdf,
    reshape,
    sum_last,
)
from ...atoms import Atoms, Corner, Dense, OneHot
from ...noise.gumbel import EULER
from .._base import Array
from .._laws import need_scale, smoothing_arguments
from ._base import Exact, Twin
from .simplices import L1Twin


class EuclideanTwin(Exact, Twin, anywhere=True):
    """The Euclidean ball."""

    def _lmo(self, g: Array) -> Dense:
        space, one = namespace(g), full((), 1.0, g)
        flat = reshape(g, (*g.shape[: g.ndim - len(self.shape)], -1))
        largest = space.max(abs(flat), axis=-1, keepdims=True)
        unit = flat / space.where(largest > 0, largest, one)
        length = space.sqrt(space.astype(sum_last(unit * unit, 1), g.dtype))[..., None]
        answer = unit * (-self.K.r / space.where(length > 0, length, one))
        return Dense(reshape(answer, tuple(g.shape)), self.shape)

    def violation(self, x: Array) -> float:
        return norm(x) - self.K.r

    def smoothed(self, y: Array, alpha: float, noise: Any = None) -> Array:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gaussian")
        t, n = norm(y) / alpha, self.dimension
        answer = self._lmo(-y).to_dense()
        if t * t > 1e16 * n:  # phi(t) = 1 - (n - 1)/(2 t^2) + ... rounds to 1
            return answer
        return answer * (self.K._mean_length * t / n * float(hyp1f1(0.5, n / 2 + 1, -0.5 * t * t)))

    def smoothed_support(self, y: Array, alpha: float, noise: Any = None) -> float:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gaussian")
        length, n, K = norm(y), self.dimension, self.K
        t = length / alpha
        if t * t > 1e16 * n:
            return K.r * length
        return K.r * alpha * K._mean_length * float(hyp1f1(-0.5, n / 2, -0.5 * t * t))

    def _project(self, x: Array) -> Array:
        return self._lmo(-x).to_dense() if norm(x) > self.K.r else x + 0.0


class LpTwin(Exact, Twin, anywhere=True):
    """The l_p ball."""

    def _lmo(self, g: Array) -> Atoms:
        K, space = self.K, namespace(g)
        if K.p == math.inf:
            return Corner(g < 0, full((), -K.r, g), full((), K.r, g), self.shape)
        if K.p == 1.0:
            return self._one_hot(g)
        one = full((), 1.0, g)
        size = abs(reshape(g, (*g.shape[: g.ndim - len(self.shape)], -1)))
        largest = space.max(size, axis=-1, keepdims=True)
        power = (size / space.where(largest > 0, largest, one)) ** (1.0 / (K.p - 1.0))
        length = space.sum(power**K.p, axis=-1, keepdims=True) ** (1.0 / K.p)
        power = reshape(power * (K.r / space.where(length > 0, length, one)), tuple(g.shape))
        return Dense(space.where(g < 0, power, -power), self.shape)

    def violation(self, x: Array) -> float:
        size, p = abs(x), self.K.p
        largest = float(namespace(x).max(size))
        if largest == 0.0 or p == math.inf:
            return largest - self.K.r
        return largest * float(sum_last((size / largest) ** p, x.ndim)) ** (1.0 / p) - self.K.r

    def _one_hot(self, g: Array) -> OneHot:
        self.reach = self.K.r
        return L1Twin._lmo(self, g)  # pyright: ignore[reportArgumentType]

    _flat_reach, _reach_at = L1Twin._flat_reach, L1Twin._reach_at
    _vertices, _at = L1Twin._vertices, L1Twin._at


class BoxTwin(Exact, Twin, anywhere=True):
    """Boxes."""

    def __init__(self, K: Any, x: Array) -> None:
        super().__init__(K, x)
        self.lower, self.upper = like(K.lower, x), like(K.upper, x)
        self.width = self.upper - self.lower

    def _lmo(self, g: Array) -> Corner:
        return Corner(g < 0, self.lower, self.upper, self.shape)

    def violation(self, x: Array) -> float:
        space = namespace(x)
        return max(fetch(space.max(self.lower - x), space.max(x - self.upper)))

    def smoothed(self, y: Array, alpha: float, noise: Any = None) -> Array:
        law = self.K._law(noise)
        if law.name not in _CDF:
            return super().smoothed(y, alpha, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        # P(Delta > -y/alpha)
        return self.lower + self.width * (1.0 - _CDF[law.name](-y / (alpha * self._scale(law))))

    def smoothed_support(self, y: Array, alpha: float, noise: Any = None) -> float:
        law = self.K._law(noise)
        if law.name not in _POSITIVE_PART:
            return super().smoothed_support(y, alpha, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        scale = alpha * self._scale(law)
        rise = scale * _POSITIVE_PART[law.name](y / scale)
        return float(sum_last(self.lower * y + self.width * rise, y.ndim))

    def _scale(self, law: Any) -> Any:
        return law.scale if isinstance(law.scale, float) else like(law.scale, self.like)

    def _project(self, x: Array) -> Array:
        space = namespace(x)
        return space.minimum(space.maximum(x, self.lower), self.upper)


def _logistic_cdf(z: Array) -> Array:
    space = namespace(z)
    return 0.5 + 0.5 * space.tanh(0.5 * z)


def _gumbel_cdf(z: Array) -> Array:
    space = namespace(z)
    # beyond 80 the inner exponential is 0 to all digits, or the outer one is
    return space.exp(-space.exp(space.clip(-(z + EULER), -80.0, 80.0)))


def _gaussian_positive_part(t: Array) -> Array:
    space = namespace(t)
    density = space.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    return space.maximum(t * normal_cdf(t) + density, full((), 0.0, t))


def _logistic_positive_part(t: Array) -> Array:
    return namespace(t).logaddexp(t, full((), 0.0, t))


_CDF = {"gaussian": normal_cdf, "logistic": _logistic_cdf, "gumbel": _gumbel_cdf}
_POSITIVE_PART = {"gaussian": _gaussian_positive_part, "logistic": _logistic_positive_part}
