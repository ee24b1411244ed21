"""Standard Gaussian noise, the paper's choice for matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array, Native, clip, namespace, normal_cdf
from ._base import Noise


@dataclass(frozen=True, eq=False)
class Gaussian(Noise):
    """Independent standard normal coordinates: eta(z) = z^2 / 2, score z, Fisher information 1.

    `scale` and `native` are explained in `Noise`.

    Examples
    --------
    >>> from wolfpack.noise import Gaussian
    >>> Gaussian(scale=2.0).fisher, Gaussian().M(80, "paper") == 80**0.5
    (0.25, True)
    """

    name: ClassVar[str] = "gaussian"
    _fisher: ClassVar[float] = 1.0
    _mean_abs: ClassVar[float] = math.sqrt(2.0 / math.pi)
    _peak: ClassVar[float] = 1.0 / math.sqrt(2.0 * math.pi)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        return np.asarray(rng.standard_normal(shape, dtype=dtype))

    def _draw_at(self, source: Native, shape: tuple[int, ...]) -> Array:
        return source.normal(shape)

    def _score(self, z: np.ndarray) -> np.ndarray:
        return z

    def _cdf(self, z: Array) -> Array:
        return normal_cdf(z)

    def _positive_part(self, t: Array) -> Array:
        return clip(t * normal_cdf(t) + self._peak * namespace(t).exp(-0.5 * t * t), 0.0, None)
