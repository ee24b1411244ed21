"""What every set shares: checks, and what follows from the linear oracle alone."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import wraps
from typing import Any, Self

import numpy as np

from ..arrays import (
    Array,
    all_finite,
    as_float_array,
    check_shape,
    is_foreign,
    namespace,
    norm,
    to_host,
)
from ..atoms import Atoms, Dense
from ..problem import CapabilityError

_MANY = 4096


class Set(ABC):
    """A compact convex set K of arrays of a fixed shape, known through its linear oracle.

    A subclass sets `shape` and gives `_lmo`, `radius` and `violation`; what else it knows (a closed
    form of the smoothed argmax, the k best vertices, a projection as `_project`) it adds by
    overriding the method of that name, and methods of the library find out through `has`.

    Attributes
    ----------
    shape : tuple of int
        Shape of the points of K.
    polytope : bool
        Whether K has finitely many vertices.
    releases_gil : bool
        Whether the oracle frees Python's lock, so that threads run oracles in parallel.
    one_by_one : bool
        Whether each direction of a batch is answered on its own, so that an answer does not depend
        on what else is in the batch.
    batch_hint : int or None
        How many directions a worker should get at least; 1 for expensive oracles. By default the
        library chooses by the dimension.
    default_noise : str
        Law of the perturbation to use when the user names none.
    closed_forms : tuple of str
        Laws for which `smoothed` is known exactly.
    cheap_projection : bool
        Whether `project`, where it exists, costs about as much as the oracle.
    cheap_violation : bool
        Whether `violation` costs about as much as the oracle. Answers are spot-checked with it.
    unconditional : bool
        Whether signs do not matter: all points of K are nonnegative, or the sign of any entry of a
        point can be changed within K.
    """

    shape: tuple[int, ...]
    polytope: bool = False
    releases_gil: bool = False
    one_by_one: bool = False
    batch_hint: int | None = None
    default_noise: str = "gaussian"
    closed_forms: tuple[str, ...] = ()
    cheap_projection: bool = True
    cheap_violation: bool = True
    unconditional: bool = False

    # of a set at another place, see `at`: the set itself, and an array of that place
    original: Self | None = None
    like: Any = None

    def __init_subclass__(cls, anywhere: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in () if anywhere else _PLACED:
            if name in vars(cls):
                setattr(cls, name, _placed(vars(cls)[name]))

    def at(self, x: Array) -> Set:
        """Return this set as it answers arrays of the library, device and type of ``x``.

        A set of vectors or matrices then answers where ``x`` is, with its constants (bounds,
        offsets, points) copied there once; other sets are asked on the host. For NumPy arrays it is
        the set itself.
        """
        if not is_foreign(x):
            return self.original or self
        if self.original is not None:
            return self
        from .device import twin_of

        return twin_of(self, x)

    @abstractmethod
    def _lmo(self, g: Array) -> Atoms:
        """Answer finite directions of shape `shape` or ``(batch, *shape)``."""

    @property
    @abstractmethod
    def radius(self) -> float:
        """R_K = max of ||x|| over K, or a number that is not smaller."""

    @abstractmethod
    def violation(self, x: Array) -> float:
        """Return by how much ``x`` violates the constraints; at most 0 inside K."""

    @property
    def diameter(self) -> float:
        """The largest distance of two points of K, or a number that is not smaller."""
        return 2.0 * self.radius

    @property
    def dimension(self) -> int:
        """Number of entries of a point of K."""
        return math.prod(self.shape)

    def lmo(self, g: Array) -> Atoms:
        """Return a minimiser of <g, v> over v in K, for one direction or for a batch.

        Parameters
        ----------
        g : array, shape `shape` or ``(batch, *shape)``
            Finite directions. A zero direction is answered by some point of K.

        Returns
        -------
        Atoms
            Structured vertices with ``to_dense()``; they behave like arrays of the shape of ``g``.
        """
        g = self._check_direction(g)
        return self.at(g)._answer(g)

    def support(self, u: Array) -> Any:
        """Return s(u) = max of <u, v> over v in K: a float, or one number per direction."""
        u = self._check_direction(u)
        value = self.at(u)._answer(-u).dot(u)
        return float(value) if u.ndim == len(self.shape) else value

    def absolute_support(self, c: np.ndarray) -> float:
        """Return max <c, |v|> over v in K, or a number that is not smaller, for a host's c >= 0.

        Rounding errors are bounded entry by entry, and this is what they sum up to.
        """
        largest = norm(c) * self.radius
        return min(largest, float(self.support(c))) if self.unconditional else largest

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return a proved lower bound on min <g, v>, given the oracle's answer to ``g``.

        An exact oracle's bound is the value of its answer. Inexact oracles subtract what they may
        have missed.
        """
        return float(vertex.dot(g))

    def contains(self, x: Array, tol: float = 1e-9) -> bool:
        """Tell whether ``x`` is in K, up to ``tol`` relative to the set's size (at least 1)."""
        x = check_shape(as_float_array(x, "x"), self.shape, "x")
        if not all_finite(x):
            return False
        return bool(self.violation(x) <= tol * max(1.0, self.radius))

    def start(self) -> Array:
        """Return a point of K to start from."""
        return self._lmo(np.zeros(self.shape)).to_dense()

    def smoothed(self, y: Array, alpha: float, noise: Any = None) -> Array:
        """Return grad s_alpha(y) = E argmax over v in K of <y + alpha Delta, v>, exactly."""
        raise CapabilityError(f"{self} has no closed form for its smoothed argmax")

    def smoothed_support(self, y: Array, alpha: float, noise: Any = None) -> float:
        """Return s_alpha(y) = E max over v in K of <y + alpha Delta, v>, exactly."""
        raise CapabilityError(f"{self} has no closed form for its smoothed support function")

    def smoothed_supports(self, points: Sequence[Array], alpha: float, noise: Any = None) -> list:
        """Return s_|alpha|(sign(alpha) y) for several y, perhaps as arrays where the points are."""
        sign = 1.0 if alpha > 0 else -1.0
        return [self.smoothed_support(sign * y, abs(alpha), noise) for y in points]

    def smoothed_at_zero(self, noise: Any) -> float | None:
        """Return s_1(0) = E max over v in K of <Delta, v>, or None when no formula is known."""
        return None

    def smoothness(self, noise: Any) -> float | None:
        """Return c such that s_alpha is c/alpha-smooth, where sharper than R_K M; else None."""
        return None

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Atoms:
        """Draw ``count`` answers to ``y`` perturbed by the law `closed_forms`[0], cheaply."""
        raise CapabilityError(f"{self} has no direct sampler of perturbed answers")

    def near(self, g: Array) -> Atoms:
        """Return vertices of small <g, v>, one for each of a batch of perturbed directions.

        For methods that collect vertices, to which any vertex will do. Sets whose oracle cannot
        answer every direction may answer one nearby.
        """
        return self._lmo(g)

    def k_best(self, g: Array, k: int) -> Atoms:
        """Return k vertices of small <g, v>, the best first."""
        raise CapabilityError(f"{self} has no k-best oracle")

    def project(self, x: Array) -> Array:
        """Return the point of K nearest to ``x``, its Euclidean projection, as a new array.

        Parameters
        ----------
        x : array, shape `shape`
            A finite point.
        """
        self._need("project")
        x = as_float_array(x, f"{self}: point")
        if tuple(x.shape) != self.shape:
            raise ValueError(f"{self}: point must have shape {self.shape}, found {tuple(x.shape)}")
        self._check_finite(x, "point")
        nearest, xp = self.at(x)._project(x), namespace(x)
        return nearest if nearest.dtype == x.dtype else xp.astype(nearest, x.dtype)

    def _project(self, x: Array) -> Array:
        """Project a finite point of shape `shape`."""
        raise NotImplementedError

    def core(self, shape: tuple[int, int]) -> Set:
        """Return the set of S with U S V' in K, for all U and V with orthonormal columns.

        For sets of matrices of rank-one vertices, whose points are sums of few of them. ``shape``
        is that of S.
        """
        raise CapabilityError(f"{self} is not a set of sums of rank-one matrices")

    def has(self, capability: str) -> bool:
        """Tell whether this set overrides the optional method of that name."""
        names = ("project", "_project") if capability == "project" else (capability,)
        return any(getattr(type(self), name) is not getattr(Set, name) for name in names)

    def _answer(self, g: Array) -> Atoms:
        # an empty batch leaves a set nothing to infer its answers' shape from
        return self._lmo(g) if g.shape[0] else Dense(g, self.shape)

    def _need(self, capability: str) -> None:
        """Raise unless this set has what the method of that name needs."""
        if not self.has(capability):
            raise CapabilityError(f"{self} has no {capability!r}{self._reason(capability)}")

    def _reason(self, capability: str) -> str:
        """Return why a capability is missing, as the end of a sentence."""
        return ""

    def _check_direction(self, g: Array) -> Array:
        g = as_float_array(g, "direction")
        if g.ndim == len(self.shape) + 1:
            if tuple(g.shape[1:]) != self.shape:
                raise ValueError(
                    f"{self}: a batch of directions must have shape (batch, "
                    f"{', '.join(map(str, self.shape))}), found {tuple(g.shape)}"
                )
        elif tuple(g.shape) != self.shape:
            raise ValueError(f"{self}: direction must have shape {self.shape}, found {g.shape}")
        self._check_finite(g)
        return g

    def _check_finite(self, g: Array, name: str = "direction") -> None:
        # many entries at the speed of memory; a sum of squares that is not finite decides nothing
        many = type(g) is np.ndarray and g.dtype == np.float64 and g.size > _MANY
        if many and math.isfinite(np.vdot(g, g)):
            return
        xp = namespace(g)
        finite = xp.isfinite(g)
        if not bool(xp.all(finite)):
            bad = int((~to_host(finite)).sum())
            raise ValueError(f"{self}: {name} has {bad} NaN or infinite entries")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.shape))})"


_PLACED = ("violation", "smoothed", "smoothed_support", "draw", "k_best")


def _placed(method: Any) -> Any:
    """Let a method that is written for NumPy arrays be asked at the place of any other array."""

    @wraps(method)
    def ask(self: Set, x: Any, *args: Any, **kwargs: Any) -> Any:
        if type(x) is np.ndarray or not is_foreign(x):
            return method(self, x, *args, **kwargs)
        here = self.at(x)
        if here is self:
            return method(self, x, *args, **kwargs)
        return getattr(here, method.__name__)(x, *args, **kwargs)

    return ask


def as_shape(n: Any, name: str = "n") -> tuple[int, ...]:
    """Return ``n`` (a positive integer or a tuple of them) as a shape."""
    sizes = n if isinstance(n, tuple | list) else (n,)
    try:
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise TypeError(f"{name} must be a positive integer or a shape, found {n!r}") from None
    if not shape or min(shape) < 1:
        raise ValueError(f"{name} must be at least 1, found {n!r}")
    return shape


def as_positive(value: Any, name: str) -> float:
    """Return ``value`` as a float; raise unless it is positive and finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, found {value!r}") from None
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, found {value!r}")
    return number
