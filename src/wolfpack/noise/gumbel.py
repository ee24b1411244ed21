"""Centred Gumbel noise, the law that turns the simplex's oracle into a softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import exp1

from ..arrays import Array, Native, full, host_dtype, is_foreign, like, namespace, to_host
from ._base import Noise

EULER = float(np.euler_gamma)


@dataclass(frozen=True, eq=False)
class Gumbel(Noise):
    """Gumbel noise minus its mean: Z = G - gamma, with P(G <= g) = exp(-exp(-g)).

    Centred, E max_i (y_i + alpha Z_i) = alpha log sum_i exp(y_i / alpha), and the index of the
    maximum has the law softmax(y / alpha). The score is 1 - exp(-G); since exp(-G) is a standard
    exponential, the Fisher information is Var Exp(1) = 1.

    `scale` and `native` are explained in `Noise`.

    Examples
    --------
    >>> from wolfpack.noise import Gumbel
    >>> Gumbel().fisher, Gumbel().M(50, "sharp"), round(Gumbel().M(50, "paper"), 4)
    (1.0, 1.0, 7.0711)
    """

    name: ClassVar[str] = "gumbel"
    _fisher: ClassVar[float] = 1.0
    _mean_abs: ClassVar[float] = 2.0 * float(exp1(np.exp(-EULER)))
    _peak: ClassVar[float] = float(np.exp(-1.0))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        # Exponentials are drawn in double precision even for float32 results: the 23 bits of a
        # single precision draw would cut the upper tail of -log(E) at about 16.
        z = np.asarray(rng.standard_exponential(shape)).astype(dtype, copy=False)
        np.maximum(z, np.finfo(dtype).tiny, out=z)
        np.log(z, out=z)
        return np.subtract(dtype.type(-EULER), z, out=z)

    def _draw_at(self, source: Native, shape: tuple[int, ...]) -> Array:
        e = source.exponential(shape)
        space, tiny = namespace(e), full((), float(np.finfo(host_dtype(e)).tiny), e)
        return -EULER - space.log(space.maximum(e, tiny))

    def _score(self, z: np.ndarray) -> np.ndarray:
        return -np.expm1(-(z + EULER))

    def _cdf(self, z: Array) -> Array:
        space = namespace(z)
        with np.errstate(over="ignore"):
            return space.exp(-space.exp(-(z + EULER)))

    def _positive_part(self, t: Array) -> Array:
        if is_foreign(t):  # other libraries have no exponential integral
            return like(self._positive_part(to_host(t)), t)
        # E max(0, t + Z) = Ein(x) with x = exp(t - gamma), the entire exponential integral, which
        # is exp1(x) + log(x) + gamma: the sum cancels for small x, where the series is used.
        t = np.asarray(t, dtype=np.float64)
        with np.errstate(over="ignore"):
            x = np.exp(t - EULER)
        return np.where(x < 0.5, _entire_series(np.minimum(x, 0.5)), exp1(np.maximum(x, 0.5)) + t)


def _entire_series(x: np.ndarray) -> np.ndarray:
    """Ein(x) = sum_{j>=1} (-1)^(j+1) x^j / (j j!), to double precision for 0 <= x <= 1/2."""
    term, total = np.ones_like(x), np.zeros_like(x)
    for j in range(1, 15):
        term = -term * x / j
        total = total - term / j
    return total
