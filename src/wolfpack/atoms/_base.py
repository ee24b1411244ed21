"""The interface of structured vertices, and dense vertices."""

from __future__ import annotations

import copy
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from ..arrays import (
    Array,
    Index,
    foreign_dtype,
    is_foreign,
    like,
    namespace,
    rows,
    sum_last,
    to_host,
)

_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
}
"""What stands for a ufunc where arrays are not NumPy's."""


class Atoms(NDArrayOperatorsMixin, ABC):
    """One vertex of a set, or a batch of them along a leading axis.

    A vertex behaves like the array it stands for: ``np.asarray(v)``, ``v - x`` and ``g @ v`` give
    dense arrays. Subclasses do the work of the methods below on the structure, without densifying.
    """

    vertex_shape: tuple[int, ...]  # shape of one vertex
    count: int | None  # number of vertices in the batch, None for a single vertex

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array that this object stands for, the batch axis included."""
        return self.vertex_shape if self.count is None else (self.count, *self.vertex_shape)

    @property
    def ndim(self) -> int:
        """Number of axes, the batch axis included."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries of one vertex."""
        shape = self.vertex_shape
        return shape[0] if len(shape) == 1 else math.prod(shape)

    @abstractmethod
    def to_dense(self) -> Array:
        """Return the dense array, of shape `shape`."""

    def dot(self, u: Array) -> Array:
        """Return <u, v> for each vertex v; ``u`` has one vertex's shape or the batch's shape."""
        return sum_last(self.to_dense() * u, len(self.vertex_shape))

    @abstractmethod
    def mean(self) -> Array:
        """Return the mean of the batch as a dense array, without densifying each vertex."""

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        """Return ``scale * x + weight * v`` for a single vertex v, as a new dense array."""
        return scale * x + weight * self.to_dense()

    @abstractmethod
    def take(self, i: Index) -> Atoms:
        """Return the vertex at position ``i`` of a batch, or the sub-batch of a slice or array."""

    def norms_squared(self) -> Array:
        """Return ||v||^2 for each vertex v."""
        dense = self.to_dense()
        return sum_last(dense * dense, len(self.vertex_shape))

    def squares(self) -> float:
        """Return the sum of ||v||^2 over the vertices."""
        squares = self.norms_squared()
        return float(squares if isinstance(squares, float) else sum_last(squares, squares.ndim))

    def entries(self) -> tuple[Array, Array] | None:
        """Return flat positions and values that make a single vertex, None where it is not sparse.

        Values at the same position add up. Arrays of other libraries than NumPy give None.
        """
        return None

    def key(self) -> Hashable:
        """Return a hashable identity of a single vertex: equal vertices, equal keys."""
        return to_host(self.to_dense() + 0.0).tobytes()  # + 0.0 makes -0.0 equal 0.0

    def keys(self) -> list[Hashable]:
        """Return the keys of all vertices of a batch."""
        return [self.take(i).key() for i in range(len(self))]

    def to(self, x: Array) -> Atoms:
        """Return the same vertices with arrays of the library, device and type of ``x``."""
        moved = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) or is_foreign(value):
                setattr(moved, name, like(value, x))
            elif isinstance(value, np.generic):
                setattr(moved, name, value.item())
            elif isinstance(value, Atoms):
                setattr(moved, name, value.to(x))
            elif isinstance(value, tuple) and value and isinstance(value[0], Atoms):
                setattr(moved, name, tuple(part.to(x) for part in value))
        if "dtype" in vars(self):
            vars(moved)["dtype"] = foreign_dtype(x)
        return moved

    def __getitem__(self, i: Index | tuple[Index, ...]) -> Array:
        if self.count is None or isinstance(i, tuple):
            return self.to_dense()[i]
        return self.take(i)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        dense = to_host(self.to_dense())
        return dense if dtype is None else dense.astype(dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Array, **kwargs: object
    ) -> Array:
        dense = [x.to_dense() if isinstance(x, Atoms) else x for x in inputs]
        if ufunc in _OPERATORS and method == "__call__" and any(map(is_foreign, dense)):
            return _OPERATORS[ufunc](*dense)
        return getattr(ufunc, method)(*dense, **kwargs)

    def __repr__(self) -> str:
        batch = "" if self.count is None else f"{self.count} x "
        return f"{type(self).__name__}({batch}{self.vertex_shape})"


class Dense(Atoms):
    """Vertices without structure, as one array of shape ``([count,] *vertex_shape)``."""

    def __init__(self, array: Array, vertex_shape: tuple[int, ...]) -> None:
        self.array = array
        self.vertex_shape = tuple(vertex_shape)
        self.count = array.shape[0] if array.ndim > len(self.vertex_shape) else None

    def to_dense(self) -> Array:
        return self.array

    def mean(self) -> Array:
        return self.array if self.count is None else namespace(self.array).mean(self.array, axis=0)

    def take(self, i: Index) -> Dense:
        return Dense(rows(self.array, i), self.vertex_shape)


class Bounded(Dense):
    """Answers of a numerical solver to directions g, each with a lower bound on min <g, v>.

    ``bound`` has one number per vertex. It was proved for ``direction``, which has the shape of
    ``array``.
    """

    def __init__(
        self, array: Array, vertex_shape: tuple[int, ...], bound: Array, direction: Array
    ) -> None:
        super().__init__(array, vertex_shape)
        self.bound = bound
        self.direction = direction

    def bound_for(self, g: Array) -> float | None:
        """Return the bound of a single vertex if it was proved for ``g``, else None."""
        return float(self.bound) if np.array_equal(self.direction, g) else None

    def take(self, i: Index) -> Bounded:
        return Bounded(
            rows(self.array, i), self.vertex_shape, self.bound[i], rows(self.direction, i)
        )
