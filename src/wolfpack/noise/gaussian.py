"""Standard Gaussian noise, the paper's choice for matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr

from ..arrays import Native
from ._base import Noise


@dataclass(frozen=True, eq=False)
class Gaussian(Noise):
    """Independent standard normal coordinates: eta(z) = z^2 / 2, score z, Fisher information 1.

    The parameters are those of `Noise`.

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

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape, dtype=dtype))

    def _draw_at(self, source: Native, shape: tuple[int, ...]) -> Any:
        return source.normal(shape)

    def _score(self, z: np.ndarray) -> np.ndarray:
        return z

    def _cdf(self, z: np.ndarray) -> np.ndarray:
        return ndtr(z)

    def _positive_part(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(t * ndtr(t) + self._peak * np.exp(-0.5 * t * t), 0.0)
