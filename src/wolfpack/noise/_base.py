"""What every noise law offers: i.i.d. centred coordinates, optionally rescaled one by one.

A law is the law of ``scale * Z`` where the coordinates of Z are independent with a fixed standard
density proportional to exp(-eta). Smoothing the support function with it,

    s_alpha(y) = E s(y + alpha Delta),   Delta = scale * Z,

needs three things of the law: draws, the score grad eta (its second moment is the Fisher
information, which bounds the curvature of s_alpha) and a mean of zero (so that s <= s_alpha).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike

from ..arrays import Array, Native, as_float_array, check_size, is_foreign, like
from ..problem.checks import count, flag, shown

Constants = Literal["paper", "sharp"]
"""Which constants a bound uses: those printed in the paper, or the best ones that are known."""


@dataclass(frozen=True, eq=False)
class Noise(ABC):
    """The law of ``scale * Z``, Z with i.i.d. centred standard coordinates.

    A subclass gives the standard law: a draw, the score, the distribution function, the mean
    positive part and three numbers. This class adds the scale.

    Parameters
    ----------
    scale : positive float or array of positive floats, default 1.0
        One factor for all coordinates, or one per coordinate in a shape that broadcasts to the
        set's shape.
    native : bool
        Whether other array libraries draw it with their own generator, on the arrays' device. That
        is faster than numbers that come from the host, and the same seed then gives the same
        numbers on the same device and library only.
    """

    scale: Array = 1.0
    native: bool = False

    name: ClassVar[str]
    mean: ClassVar[float] = 0.0
    _fisher: ClassVar[float]
    _mean_abs: ClassVar[float]
    _peak: ClassVar[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale(self.scale))
        flag(self.native, "native")

    @abstractmethod
    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """A new array of standard draws."""

    @abstractmethod
    def _score(self, z: np.ndarray) -> np.ndarray:
        """eta'(z) of the standard law."""

    @abstractmethod
    def _cdf(self, z: Array) -> Array:
        """P(Z <= z) of the standard law, for arrays of any library."""

    @abstractmethod
    def _positive_part(self, t: Array) -> Array:
        """E max(0, t + Z) of the standard law, for arrays of any library."""

    def sample(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64
    ) -> np.ndarray:
        """Draw Delta, independent in every entry.

        With a scale per coordinate, the last axes of ``shape`` are the coordinates. ``dtype`` is
        float32 or float64.
        """
        shape = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
        kind = np.dtype(dtype)
        if kind.name not in ("float32", "float64"):
            raise ValueError(f"dtype must be float32 or float64, found {kind}")
        if not isinstance(self.scale, float):
            _check_broadcast(self.scale, shape)
        z = self._draw(rng, shape, kind)
        if isinstance(self.scale, float) and self.scale == 1.0:
            return z
        return np.multiply(z, np.asarray(self.scale, kind), out=z)

    def sample_at(self, x: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw Delta with the generator of ``x``'s library, on ``x``'s device and of its type.

        ``rng`` gives the seed.
        """
        if not isinstance(rng, np.random.Generator):
            raise ValueError("noise with native=True is drawn independently: use sampling='iid'")
        z = self._draw_at(Native(x, int(rng.integers(2**63))), shape)
        if isinstance(self.scale, float):
            return z if self.scale == 1.0 else self.scale * z
        _check_broadcast(self.scale, shape)
        return like(self.scale, x) * z

    def _draw_at(self, source: Native, shape: tuple[int, ...]) -> Array:
        """Standard draws by a library's own generator."""
        raise NotImplementedError(f"{type(self).__name__} has no native draws")

    def score(self, z: Array) -> Array:
        """The score grad eta(z) of the law, coordinate by coordinate; its mean is zero."""
        return self._score(np.asarray(z) / self.scale) / self.scale

    def cdf(self, z: Array) -> Array:
        """P(Delta <= z), coordinate by coordinate, for arrays of any library."""
        return self._cdf(self._over_scale(z)[0])

    def positive_part(self, t: Array) -> Array:
        """E max(0, t + Delta), coordinate by coordinate: the smoothed support of [0, 1] at t."""
        t, scale = self._over_scale(t)
        return scale * self._positive_part(t)

    def _over_scale(self, z: Array) -> tuple[Array, Array]:
        """Return z/scale as an array, and the scale in the library and on the device of z."""
        if not is_foreign(z):
            return np.asarray(np.asarray(z) / self.scale), self.scale
        scale = self.scale if isinstance(self.scale, float) else like(self.scale, z)
        return z / scale, scale

    @property
    def fisher(self) -> float:
        """Largest eigenvalue of the Fisher information E[grad eta grad eta^T]."""
        return float(self._fisher / np.min(self.scale) ** 2)

    @property
    def mean_abs(self) -> Array:
        """E|Delta_i|: a float, or an array like ``scale`` when that is one."""
        return self.scale * self._mean_abs

    @property
    def peak(self) -> Array:
        """Largest value of the density of Delta_i: a float, or an array like ``scale``."""
        return self._peak / self.scale

    def M(self, d: int, constants: str = "sharp") -> float:
        """The constant M for which s_alpha is R M / alpha-smooth, for d coordinates.

        ``"paper"``: M^2 = E||grad eta(Delta)||^2, which is d times the Fisher information of a
        coordinate (Proposition 2 of the paper). ``"sharp"``: M^2 = the largest eigenvalue of
        the Fisher information, free of d (Theorem S1 of docs/theory/constants.md).
        """
        d = count(d, "d")
        if constants == "sharp":
            return math.sqrt(self.fisher)
        if constants != "paper":
            raise ValueError(f"constants must be 'paper' or 'sharp', found {constants!r}")
        if d % np.size(self.scale):
            raise ValueError(
                f"scale has {np.size(self.scale)} entries, which do not divide d = {d}"
            )
        return math.sqrt(self._fisher * d * float(np.mean(np.asarray(self.scale) ** -2.0)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Noise)
            and type(self) is type(other)
            and self.native == other.native
            and np.array_equal(self.scale, other.scale)
        )

    def __hash__(self) -> int:
        return hash((type(self), self.native, np.asarray(self.scale).tobytes()))


def _checked_scale(scale: Array) -> float | np.ndarray:
    """``scale`` as a float or a read-only float64 array, all entries positive and finite."""
    array = np.array(check_size(as_float_array(scale, "scale"), "scale"), dtype=np.float64)
    if array.size == 0 or not (np.all(np.isfinite(array)) and np.all(array > 0)):
        raise ValueError(f"scale must be positive and finite, found {shown(scale)}")
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def _check_broadcast(scale: np.ndarray, shape: tuple[int, ...]) -> None:
    try:
        fits = np.broadcast_shapes(scale.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"scale of shape {scale.shape} does not broadcast to draws of shape {shape}"
        )
