"""What `wolfpack.minimize_many` asks of a batch of sets."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from ...arrays import Array, concat, eye, like, namespace, rows, sum_last, to_host
from ...noise import Noise
from ...noise import get as get_noise
from ...problem import CapabilityError, Stacked
from .._base import Set


class BatchedSet(ABC):
    """B sets of one kind; points are the rows of a matrix, flattened.

    A subclass gives `project`, `vertices`, `lowest` and `violation`, and `closes` and `smoothed`
    where the smoothed argmax is known. Constants that differ from set to set are
    arrays with a leading axis of length B; their names are in ``varying``.

    Attributes
    ----------
    radius, diameter : array (B,)
        As for a single set.
    unconditional : bool
        As for a single set.
    recordable : bool
        Whether `project` never waits for the device, so that rounds can be recorded.
    """

    varying: ClassVar[tuple[str, ...]] = ()
    shape: tuple[int, ...]
    dimension: int
    radius: Array
    diameter: Array
    unconditional: bool = False
    recordable: bool = False

    def __init__(self, parts: list[Set], place: Array, count: int) -> None:
        self.shape = parts[0].shape
        self.dimension = math.prod(self.shape)
        self.place, self.count, self.parts = place, count, parts
        self.radius = self.numbers([K.radius for K in parts])
        self.diameter = self.numbers([K.diameter for K in parts])

    def numbers(self, values: Any) -> Array:
        """Return one number or one array for each set, beside the points."""
        array = np.asarray(values, dtype=np.float64)
        if len(array) < self.count:  # one set for all problems
            array = np.repeat(array, self.count, axis=0)
        return like(array, self.place)

    def take(self, index: np.ndarray) -> Self:
        """Return some of the sets."""
        other = copy.copy(self)
        for name in ("radius", "diameter", *self.varying):
            setattr(other, name, rows(getattr(self, name), index))
        other.count = len(index)
        if len(self.parts) > 1:
            other.parts = [self.parts[i] for i in index]
        return other

    @property
    def law(self) -> Noise:
        """The law of perturbations when none is named."""
        return get_noise(self.parts[0].default_noise)

    def closes(self, law: Noise | None) -> bool:
        """Tell whether `smoothed` is known for a law, or for the set's own, which None means."""
        return False

    def smoothed(self, U: Array, alpha: Array, law: Noise | None) -> tuple[Array, Array]:
        """Return the means of the answers to U perturbed with scales alpha, and s_alpha(U)."""
        raise NotImplementedError

    def need_closed_form(self, law: Noise | None) -> None:
        """Raise because there is no closed form."""
        noise = "its own" if law is None else law.name
        raise CapabilityError(
            f"m='exact' needs a closed form of the smoothed argmax, and {self.parts[0]} has none "
            f"for {noise} noise where many problems are solved at once: pass a number of answers m"
        )

    @abstractmethod
    def vertices(self, Y: Array) -> Array:
        """Return points with the least <y, v> over each set."""

    @abstractmethod
    def project(self, X: Array) -> Array:
        """Return the nearest points of the sets."""

    @abstractmethod
    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        """Return the least <y, v> over each set as computed, and a bound on its error.

        The error counts what is lost beside the rounding of a sum of all products. ``X`` are points
        of the sets near which the minimum is expected.
        """

    @abstractmethod
    def violation(self, X: Array) -> Array:
        """Return by how much each row violates the constraints."""

    def jacobian(self, Z: Array, X: Array) -> Array:
        """Return the derivatives (B, d, d) of the projection at Z, where it is X.

        They are symmetric. Where the projection has a kink, they are those of one side of it.
        """
        raise CapabilityError(f"the projection onto {type(self).__name__} has no derivative here")

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        """Return the derivatives of `jacobian`, times the rows of U."""
        return namespace(U).matmul(self.jacobian(Z, X), U[:, :, None])[:, :, 0]

    def mended(self, Z: Array, X: Array, lost: np.ndarray) -> Array:
        """Return projections of Z, of which some are lost and computed anew by their sets."""
        if not lost.any():
            return X
        kept, ids = np.flatnonzero(~lost), np.flatnonzero(lost)
        points = np.asarray(to_host(rows(Z, ids)), dtype=np.float64)
        sets = self.parts if len(self.parts) > 1 else self.parts * self.count
        found = [sets[i]._project(z.reshape(self.shape)) for i, z in zip(ids, points, strict=True)]
        anew = like(np.stack(found).reshape(len(ids), -1), X)
        anew = anew if anew.dtype == X.dtype else namespace(X).astype(anew, X.dtype)
        return rows(concat([rows(X, kept), anew]), np.argsort(np.concatenate([kept, ids])))

    def start(self) -> Array:
        """Return a point of each set."""
        zero = 0.0 * self.radius[:, None] * self._row()
        return self.project(zero)

    def absolute_support(self, C: Array) -> Array:
        """Return max <c, |v|> over each set, or a larger number, for rows c >= 0."""
        xp = namespace(C)
        largest = xp.sqrt(sum_last(C * C, 1)) * self.radius
        if not self.unconditional:
            return largest
        return xp.minimum(largest, -self.lowest(-C, C)[0])

    def bounds(self) -> tuple[Array, Array, bool] | None:
        """Return l, u and whether the sum is fixed, for a set of l <= x <= u; None for others."""
        return None

    def _row(self) -> Array:
        return like(np.ones((1, self.dimension)), self.place)


def parts_of(K: Set | Stacked | list[Set], count: int) -> list[Set]:
    """Return the set of each problem, or the one set for all of them."""
    return [K] if isinstance(K, Set) else [K[i] for i in range(count)]


def diagonal(D: Array) -> Array:
    """Return the diagonal matrices of the rows of D."""
    return D[:, :, None] * eye(D.shape[1], D)[None, :, :]


def along(free: Array, normal: Array) -> Array:
    """Return the projections onto the steps of free entries that are orthogonal to ``normal``.

    ``free`` holds ones and zeros; where a normal has no free entry, nothing moves.
    """
    xp = namespace(free)
    n = free * normal
    square = xp.sum(n * n, axis=1)[:, None, None]
    square = xp.where(square > 0, square, xp.ones_like(square))
    return diagonal(free) - n[:, :, None] * n[:, None, :] / square


def moved_along(free: Array, normal: Array, U: Array) -> Array:
    """Return the matrices of `along`, times the rows of U."""
    xp = namespace(free)
    n = free * normal
    square = xp.sum(n * n, axis=1, keepdims=True)
    square = xp.where(square > 0, square, xp.ones_like(square))
    return free * U - n * (xp.sum(n * U, axis=1, keepdims=True) / square)


def ones_where(flags: Array, x: Array) -> Array:
    """Return 1 where a condition holds and 0 elsewhere, in the type of x."""
    return namespace(x).astype(flags, x.dtype)


def row_sums(X: Array) -> Array:
    """Return the sums of the rows, in double precision where the library has it."""
    return sum_last(X, 1)


def column(a: Array, X: Array) -> Array:
    """Return one number per row as a column of the type of X."""
    xp = namespace(X)
    values = a if a.dtype == X.dtype else xp.astype(a, X.dtype)
    return values[:, None]


def zero_errors(values: Array) -> Array:
    """Return errors of 0."""
    return 0.0 * values
