"""Vertices with a single nonzero entry: simplices and l1 balls."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np

from ._base import Array, Atoms


class OneHot(Atoms):
    """``value`` at one flat position ``index``, zero elsewhere.

    Parameters
    ----------
    index : int array, shape () or (count,)
        Flat position of the nonzero entry of each vertex.
    value : float or array like ``index``
        The entry itself.
    vertex_shape : tuple of int
        Shape of one vertex.
    """

    def __init__(self, index: Any, value: Any, vertex_shape: tuple[int, ...]) -> None:
        self.index = np.asarray(index)
        self.value = value
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if self.index.ndim == 0 else self.index.shape[0]

    def to_dense(self) -> Array:
        dtype = np.result_type(self.value, np.float32) if np.ndim(self.value) else np.float64
        if self.count is None:
            out = np.zeros(self.size, dtype=dtype)
            out[self.index] = self.value
        else:
            out = np.zeros((self.count, self.size), dtype=dtype)
            out[np.arange(self.count), self.index] = self.value
        return out.reshape(self.shape)

    def dot(self, u: Array) -> Any:
        if u.shape == self.vertex_shape:
            return self.value * u.reshape(-1)[self.index]
        return self.value * u.reshape(self.count, -1)[np.arange(len(self)), self.index]

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        if np.ndim(self.value):
            total = np.bincount(self.index, weights=self.value, minlength=self.size)
            return (total / self.count).reshape(self.vertex_shape)
        total = np.bincount(self.index, minlength=self.size)
        return (total * (self.value / self.count)).reshape(self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        out = np.multiply(scale, x, order="C")  # reshape must be a view
        out.reshape(-1)[self.index] += weight * self.value
        return out

    def take(self, i: Any) -> OneHot:
        value = self.value[i] if np.ndim(self.value) else self.value
        return OneHot(self.index[i], value, self.vertex_shape)

    def norms_squared(self) -> Any:
        square = self.value * self.value
        return square if self.count is None or np.ndim(square) else np.full(self.count, square)

    def key(self) -> Hashable:
        return int(self.index), float(self.value)


class Tally(OneHot):
    """A batch of one-hot vertices of one value, known by how many are at each position.

    Parameters
    ----------
    counts : int array, shape (size,)
        How many vertices have their entry at each flat position.
    count : int
        Their sum.
    value : float
        The entry.
    vertex_shape : tuple of int
        Shape of one vertex.
    """

    def __init__(
        self, counts: Array, count: int, value: float, vertex_shape: tuple[int, ...]
    ) -> None:
        self.counts = counts
        self.count = count
        self.value = value
        self._share = value / count
        self.vertex_shape = vertex_shape

    @cached_property
    def index(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Positions of the vertices one by one, sorted."""
        return np.repeat(np.arange(self.size), self.counts)

    def mean(self) -> Array:
        return (self.counts * self._share).reshape(self.vertex_shape)
