"""Logistic noise, the law that turns a box's oracle into a sigmoid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import Array, Native, epsilon, expit, full, namespace, softplus
from ._base import Noise


@dataclass(frozen=True, eq=False)
class Logistic(Noise):
    """Independent standard logistic coordinates: P(Z <= z) = 1 / (1 + exp(-z)).

    eta(z) = z + 2 log(1 + exp(-z)), so the score is tanh(z / 2) = 2 P(Z <= z) - 1. It is uniform
    on (-1, 1), hence the Fisher information 1/3: of the three laws the smoothest for its scale.

    `scale` and `native` are explained in `Noise`.

    Examples
    --------
    >>> from wolfpack.noise import Logistic
    >>> round(3 * Logistic().fisher, 12), round(Logistic().mean_abs, 4)
    (1.0, 1.3863)
    """

    name: ClassVar[str] = "logistic"
    _fisher: ClassVar[float] = 1.0 / 3.0
    _mean_abs: ClassVar[float] = 2.0 * math.log(2.0)
    _peak: ClassVar[float] = 0.25

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        # log(U / (1 - U)); U = 0, which a generator can return, is moved to half a step above.
        u = np.asarray(rng.random(shape))
        np.maximum(u, 2.0**-54, out=u)
        z = np.log(u) - np.log1p(-u)
        return np.asarray(z).astype(dtype, copy=False)

    def _draw_at(self, source: Native, shape: tuple[int, ...]) -> Array:
        u = source.uniform(shape)
        space, half = namespace(u), 0.5 * epsilon(u)
        u = space.maximum(u, full((), 0.5 * half, u))
        return space.log(u) - space.log1p(-u)

    def _score(self, z: np.ndarray) -> np.ndarray:
        return np.tanh(0.5 * z)

    def _cdf(self, z: Array) -> Array:
        return expit(z)

    def _positive_part(self, t: Array) -> Array:
        return softplus(t)
