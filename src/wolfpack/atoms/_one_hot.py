"""Vertices with a single nonzero entry: simplices and l1 balls."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property

import numpy as np

from ..arrays import (
    arange,
    bincount,
    full,
    namespace,
    repeat,
    reshape,
    rows,
    scaled,
    scatter_add,
    take,
    take_along,
)
from ._base import Array, Atoms, Index


class OneHot(Atoms):
    """``value`` at one flat position ``index``, zero elsewhere.

    ``index`` is an integer array of shape () or (count,), ``value`` a float or an array like it.
    ``dtype`` is the floating-point type of the entries where ``index`` is not NumPy's.
    """

    def __init__(
        self, index: Array, value: Array, vertex_shape: tuple[int, ...], dtype: object = None
    ) -> None:
        self.index = np.asarray(index) if dtype is None else index
        self.value = value
        self.dtype = dtype
        self.vertex_shape = tuple(vertex_shape)
        self.count = None if self.index.ndim == 0 else self.index.shape[0]

    def to_dense(self) -> Array:
        if self.dtype is not None:  # by a comparison, which does not wait for the device
            hits = arange(self.size, self.index) == self.index[..., None]
            value = self.value
            if isinstance(value, float):
                value = full((), value, self.index, self.dtype)
            return reshape(namespace(hits).where(hits, value[..., None], 0.0), self.shape)
        if self.count is None and type(self.value) is float:
            out = np.zeros(self.vertex_shape)
            out.reshape(-1)[self.index] = self.value
            return out
        dtype = np.result_type(self.value, np.float32) if np.ndim(self.value) else np.float64
        out = np.zeros((self.count or 1, self.size), dtype=dtype)
        out[np.arange(out.shape[0]), self.index] = self.value
        return out.reshape(self.shape)

    def dot(self, u: Array) -> Array:
        if type(u) is np.ndarray and u.shape == self.vertex_shape:
            return self.value * u.reshape(-1)[self.index]
        if tuple(u.shape) == self.vertex_shape:
            return self.value * take(reshape(u, (-1,)), self.index)
        u = reshape(u, (self.count or 1, -1))
        if self.dtype is None:
            return self.value * u[np.arange(len(self)), self.index]
        return self.value * take_along(u, self.index[:, None])[:, 0]

    def mean(self) -> Array:
        if self.count is None:
            return self.to_dense()
        if self.dtype is None and not isinstance(self.value, float) and np.ndim(self.value):
            total = np.bincount(self.index, weights=self.value, minlength=self.size) / self.count
        else:
            total = bincount(self.index, self.value / self.count, self.size, self.dtype)
        return reshape(total, self.vertex_shape)

    def add_scaled(self, x: Array, scale: float, weight: float) -> Array:
        if self.dtype is not None:
            flat = scatter_add(reshape(scale * x, (-1,)), self.index, weight * self.value)
            return reshape(flat, tuple(x.shape))
        out = x.copy() if scale == 1.0 else scaled(x, scale)  # reshape must be a view
        out.reshape(-1)[self.index] += weight * self.value
        return out

    def take(self, i: Index) -> OneHot:
        value = self.value if isinstance(self.value, float) else rows(self.value, i)
        return OneHot(rows(self.index, i), value, self.vertex_shape, self.dtype)

    def norms_squared(self) -> Array:
        square = self.value * self.value
        if self.dtype is not None and isinstance(square, float) and self.count is not None:
            return full((self.count,), square, self.index, self.dtype)
        return square if self.count is None or np.ndim(square) else np.full(self.count, square)

    def squares(self) -> float:
        if isinstance(self.value, float):
            return (self.count or 1) * self.value**2
        return super().squares()

    def entries(self) -> tuple[Array, Array] | None:
        if self.dtype is not None:
            return None
        return np.reshape(self.index, (1,)), np.full(1, float(self.value))

    def key(self) -> Hashable:
        return int(self.index), float(self.value)


class Tally(OneHot):
    """A batch of one-hot vertices of one value: ``counts`` says how many are at each position."""

    def __init__(
        self,
        counts: Array,
        count: int,
        value: float,
        vertex_shape: tuple[int, ...],
        dtype: object = None,
    ) -> None:
        self.counts = counts
        self.count = count
        self.value = value
        self.dtype = dtype
        self._share = value / count
        self.vertex_shape = vertex_shape

    @cached_property
    def index(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Positions of the vertices one by one, sorted."""
        return repeat(arange(self.size, self.counts), self.counts, self.count or 0)

    def mean(self) -> Array:
        counts = self.counts
        if self.dtype is not None:
            counts = namespace(counts).astype(counts, self.dtype)
        return reshape(counts * self._share, self.vertex_shape)
