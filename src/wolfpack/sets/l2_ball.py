"""The Euclidean ball."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..arrays import norm
from ..atoms import Dense
from ._base import Array, Set, as_positive, as_shape


class L2Ball(Set):
    r"""The Euclidean (Frobenius) ball :math:`\{\|x\|_2 \le r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The radius r.

    Notes
    -----
    The oracle is -r g/||g||, O(n). With Gaussian noise s_1(0) = r E||Delta||.
    """

    def __init__(self, n: Any, radius: float = 1.0) -> None:
        self.shape = as_shape(n)
        self.r = as_positive(radius, "radius")

    @property
    def radius(self) -> float:
        return self.r

    def _lmo(self, g: Array) -> Dense:
        flat = g.reshape(*g.shape[: g.ndim - len(self.shape)], -1).astype(np.float64, copy=False)
        # dividing by the largest entry first keeps the squares in range
        largest = abs(flat).max(axis=-1, keepdims=True)
        unit = flat / np.where(largest > 0, largest, 1.0)
        length = np.sqrt((unit * unit).sum(axis=-1, keepdims=True))
        answer = unit * (-self.r / np.where(length > 0, length, 1.0))
        return Dense(answer.reshape(g.shape), self.shape)

    def violation(self, x: Array) -> float:
        return norm(x) - self.r

    def start(self) -> Array:
        return np.zeros(self.shape)

    def smoothed_at_zero(self, noise: Any) -> float | None:
        if noise.name != "gaussian":
            return None
        n = self.dimension
        return self.r * math.sqrt(2.0) * math.exp(gammaln((n + 1) / 2) - gammaln(n / 2))

    def project(self, x: Array) -> Array:
        length = norm(x)
        return x * (self.r / length) if length > self.r else x + 0.0

    def __repr__(self) -> str:
        return f"L2Ball({', '.join(map(str, self.shape))}, radius={self.r:g})"
