"""Draws of lower variance: antithetic pairs and quasi-random points.

Both are generators that noise laws and samplers use in place of NumPy's. Every point they give has
the uniform law, so means of answers stay unbiased. The points of one block are dependent, which
makes their mean more accurate for smooth integrands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy.special import ndtri

from ..arrays import Array

Size: TypeAlias = int | tuple[int, ...]


class Coupled:
    """A random generator whose draws along the first axis are coupled; subclasses say how."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def random(self, size: Size, dtype: DTypeLike = np.float64) -> Array:
        """Return uniform points of (0, 1), coupled along the first axis."""
        raise NotImplementedError

    def standard_normal(self, size: Size, dtype: DTypeLike = np.float64) -> Array:
        """Return normal numbers."""
        return ndtri(self.random(size)).astype(dtype, copy=False)

    def standard_exponential(self, size: Size, dtype: DTypeLike = np.float64) -> Array:
        """Return exponential numbers."""
        return (-np.log(self.random(size))).astype(dtype, copy=False)

    def gumbel(self, *, size: Size) -> Array:
        """Return Gumbel numbers."""
        return -np.log(-np.log(self.random(size)))


class Antithetic(Coupled):
    """Each point u of the first half comes again as 1 - u in the second half."""

    def random(self, size: Size, dtype: DTypeLike = np.float64) -> Array:
        shape = (size,) if isinstance(size, int) else tuple(size)
        half = self.rng.random(((shape[0] + 1) // 2, *shape[1:]))
        half = np.maximum(half, 2.0**-54)
        return np.concatenate([half, 1.0 - half])[: shape[0]].astype(dtype, copy=False)


class Sobol(Coupled):
    """Scrambled Sobol points: one point per sample, one dimension per number it takes."""

    def random(self, size: Size, dtype: DTypeLike = np.float64) -> Array:
        from scipy.stats import qmc

        shape = (size,) if isinstance(size, int) else tuple(size)
        dimension = math.prod(shape[1:])
        if dimension > qmc.Sobol.MAXDIM:
            raise ValueError(
                f"sampling='sobol' takes at most {qmc.Sobol.MAXDIM} numbers per sample, this set "
                f"needs {dimension}: use 'antithetic'"
            )
        power = math.ceil(math.log2(shape[0])) if shape[0] > 1 else 0
        seed = int(self.rng.integers(2**63))
        points = qmc.Sobol(dimension, scramble=True, bits=52, rng=seed).random_base2(power)
        points = np.clip(points[: shape[0]], 2.0**-54, 1.0 - 2.0**-53)
        return points.reshape(shape).astype(dtype, copy=False)


SAMPLINGS: dict[str, Callable[[np.random.Generator], Any]] = {
    "iid": lambda rng: rng,
    "antithetic": Antithetic,
    "sobol": Sobol,
}
