"""Matrices too large to be dense: of low rank, and sparse.

Iterates over spectral sets are sums of few rank-one matrices, and gradients of losses of few
entries are sparse. Both behave like arrays of their shape (``np.asarray`` makes one) and know their
inner products, so that `inner`, `norm` and all that is built on them works without a dense copy.
Together with an array, or inside a function of NumPy that they do not know, they become arrays.
Their parts are arrays of one library on one device, NumPy's or another's.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ._convert import as_type
from ._gather import concat, reshape, scatter_add, searchsorted, take, wide_dtype
from ._ops import all_finite, device_sum, fetch
from ._place import library, like, namespace, to_host, zeros
from ._sparse_layout import Layout
from ._structured_base import Structured, plain
from ._types import Array

_CHUNK = 2**16  # numbers that are gathered at a time
_CACHED = 2**18  # entries of a block of such a product, which should stay in the cache
_DEVICE_CHUNK = 2**24  # the same on another device
_DENSE_RATIO = 32  # entries of the matrix per wanted entry, up to which products are faster
_BLOCK = 2**26  # entries of a block of such a product on another device
_DOUBLE = np.zeros(0)


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Structured):
    """The matrix U diag(s) V' of the vectors U (p, k) and V (q, k) with k weights s.

    It reads like an array: ``shape, dtype, ndim, size, T``, entries, rows and columns by
    ``X[i, j]``, ``X[rows]`` and ``X[:, columns]``, products ``X @ y`` and ``y @ X``, ``sum``,
    ``mean`` and ``norm``. None of these makes the whole matrix; ``np.asarray(X)`` does, and so does
    every other function of NumPy.

    In the ``x`` of a result the columns of U and of V are orthonormal.

    Examples
    --------
    >>> X = LowRank(np.array([[1.0], [2.0]]), np.array([3.0]), np.array([[1.0], [0.0], [1.0]]))
    >>> X.shape, X[1, 2].item(), X[1].tolist(), X.mean().item()
    ((2, 3), 6.0, [6.0, 0.0, 6.0], 3.0)
    """

    U: Array
    s: Array
    V: Array

    @classmethod
    def zeros(cls, shape: tuple[int, int], x: Array = _DOUBLE) -> LowRank:
        """Return the zero matrix, of rank 0, with parts of the library and type of ``x``."""
        return cls(zeros((shape[0], 0), x), zeros((0,), x), zeros((shape[1], 0), x))

    @property
    def shape(self) -> tuple[int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Shape (p, q) of the matrix."""
        return self.U.shape[0], self.V.shape[0]

    @property
    def base(self) -> Array:
        return self.U

    @property
    def rank(self) -> int:
        """Number k of terms."""
        return int(self.s.shape[0])

    def to_dense(self) -> Array:
        return (self.U * self.s) @ self.V.T

    def on_host(self) -> LowRank:
        return LowRank(*map(to_host, (self.U, self.s, self.V)))

    def like(self, x: Array) -> LowRank:
        return LowRank(*(like(part, x) for part in (self.U, self.s, self.V)))

    def finite(self) -> bool:
        return all(map(all_finite, (self.U, self.s, self.V)))

    def inner(self, other: Array) -> float:
        if isinstance(other, LowRank):
            left, right = self.U.T @ other.U, self.V.T @ other.V
            return float(self.s @ (left * right) @ other.s)
        if isinstance(other, Structured):
            return other.inner(self)
        if type(self.U) is not np.ndarray:
            return fetch(device_sum((other @ self.V) * (self.U * self.s)))[0]
        return float(((other @ self.V) * self.U).sum(axis=0) @ self.s)

    def entries(self, rows: Array, columns: Array) -> Array:
        """Return the entries at the given positions; fastest when ``rows`` is sorted."""
        if type(self.U) is not np.ndarray:
            return self._entries_there(rows, columns)
        left, p = self.U * self.s, self.shape[0]
        out = np.empty(len(rows), dtype=np.result_type(left, self.V))
        if p * self.shape[1] <= _DENSE_RATIO * len(rows) and bool((np.diff(rows) >= 0).all()):
            # where much of a row is wanted, a product of blocks of rows is faster
            q, right = self.shape[1], np.ascontiguousarray(self.V.T)
            height = max(1, min(p, _CACHED // q))
            edges = np.searchsorted(rows, np.arange(0, p + height, height))
            for first, low, high in zip(range(0, p, height), edges, edges[1:], strict=False):
                block = left[first : first + height] @ right
                places = (rows[low:high] - first) * q + columns[low:high]
                block.reshape(-1).take(places, out=out[low:high], mode="clip")
            return out
        step = max(1, _CHUNK // max(1, self.rank))
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            out[part] = np.einsum("ij,ij->i", left[rows[part]], self.V[columns[part]])
        return out

    def _entries_there(self, rows: Array, columns: Array) -> Array:
        """Return the entries at positions on another device, sorted by rows."""
        left, (p, q), count = self.U * self.s, self.shape, rows.shape[0]
        if p * q <= _DENSE_RATIO * count and (library(left) != "jax" or p * q <= _BLOCK):
            # in blocks of rows, so that memory suffices
            height = min(p, max(1, _BLOCK // q))
            firsts = list(range(0, p, height))
            edges = [0, count]
            if len(firsts) > 1:
                borders = like(np.array(firsts[1:]) - 1, rows)
                edges[1:1] = map(int, to_host(searchsorted(rows, borders)).tolist())
            parts = []
            for first, low, high in zip(firsts, edges, edges[1:], strict=False):
                block = left[first : min(first + height, p), :] @ self.V.T
                at = (rows[low:high] - first) * q + columns[low:high]
                parts.append(take(reshape(block, (-1,)), at))
            return concat(parts) if len(parts) > 1 else parts[0]
        space, step = namespace(left), max(1, _DEVICE_CHUNK // max(1, self.rank))
        parts = [
            space.sum(take(left, rows[part]) * take(self.V, columns[part]), axis=1)
            for part in (slice(low, min(low + step, count)) for low in range(0, count, step))
        ]
        return concat(parts) if len(parts) > 1 else parts[0]

    @property
    def T(self) -> LowRank:
        """The transpose."""
        return LowRank(self.V, self.s, self.U)

    def __getitem__(self, key: Any) -> Any:
        """Return entries, rows or columns, as of an array."""
        pair = key if isinstance(key, tuple) else (key,)
        if len(pair) > 2 or not all(map(_selects_along_one_axis, pair)):
            return self.to_dense()[key]
        rows, columns = (*pair, slice(None))[:2]
        if type(self.U) is not np.ndarray:
            return self._part(rows, columns)
        if isinstance(rows, list | np.ndarray) and isinstance(columns, list | np.ndarray):
            # the indices of places, also for masks and negative numbers
            places = (np.arange(n)[at] for n, at in zip(self.shape, (rows, columns), strict=True))
            i, j = np.broadcast_arrays(*places)
            return self.entries(i.ravel(), j.ravel()).reshape(i.shape)
        return np.tensordot(self.U[rows] * self.s, self.V[columns], (-1, -1))[()]

    def _part(self, rows: Any, columns: Any) -> Array:
        """Return entries, rows or columns where the parts are arrays of another library."""
        if all(isinstance(at, list | np.ndarray) for at in (rows, columns)):
            return like(np.asarray(self)[rows, columns], self.U)
        U, V = _lines(self.U, rows), _lines(self.V, columns)
        if V.ndim == 1:
            return (U * self.s) @ V
        return V @ (U * self.s) if U.ndim == 1 else (U * self.s) @ V.T

    def sum(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum of all entries, or along an axis."""
        if dtype is not None or out is not None or axis not in (None, 0, 1, -1, -2):
            return np.asarray(self).sum(axis=axis, dtype=dtype, out=out)
        space = namespace(self.U)
        U = self.U if axis in (1, -1) else space.sum(self.U, axis=0)
        V = self.V if axis in (0, -2) else space.sum(self.V, axis=0)
        if V.ndim == 1:
            return (U * self.s) @ V
        return V @ (U * self.s)

    def mean(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the mean of all entries, or along an axis."""
        if dtype is not None or out is not None or axis not in (None, 0, 1, -1, -2):
            return np.asarray(self).mean(axis=axis, dtype=dtype, out=out)
        return self.sum(axis) / (self.size if axis is None else self.shape[axis])

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.singular_values()))

    def singular_values(self) -> np.ndarray:
        """Return the singular values that may differ from 0, on the host.

        They are those of the triangular factors of U and V.
        """
        space = namespace(self.U)
        left, right = space.linalg.qr(self.U)[1], space.linalg.qr(self.V)[1]
        return np.linalg.svd(to_host((left * self.s) @ right.T), compute_uv=False)

    def __matmul__(self, other: Array) -> Any:
        if isinstance(other, LowRank):
            return LowRank(self.U, self.s, (other.V * other.s) @ (other.U.T @ self.V))
        if isinstance(other, SparseMatrix):
            return LowRank(self.U, self.s, other.T @ self.V)
        return (self.U * self.s) @ (self.V.T @ other)

    def __rmatmul__(self, other: Array) -> Any:
        return ((other @ self.U) * self.s) @ self.V.T

    def __neg__(self) -> LowRank:
        return LowRank(self.U, -self.s, self.V)

    def __mul__(self, factor: Any) -> Any:
        if np.ndim(factor) == 0:
            return LowRank(self.U, float(factor) * self.s, self.V)
        return self.to_dense() * plain(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if np.ndim(divisor) == 0:
            return LowRank(self.U, self.s / float(divisor), self.V)
        return self.to_dense() / plain(divisor)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, LowRank):
            return self.to_dense() + plain(other)
        return LowRank(
            concat([self.U, other.U], axis=1),
            concat([self.s, other.s]),
            concat([self.V, other.V], axis=1),
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other


def _lines(part: Array, at: Any) -> Array:
    """Return rows of an array of another library than NumPy."""
    listed = isinstance(at, list | np.ndarray)
    return take(part, like(np.asarray(at), part)) if listed else part[at, ...]


def _selects_along_one_axis(key: Any) -> bool:
    """Tell whether an index takes part of one axis: a number, a slice, a list, a short array."""
    if isinstance(key, slice):
        return True
    if isinstance(key, list | np.ndarray):
        return np.ndim(key) == 1 or np.asarray(key).dtype != bool
    try:
        return not isinstance(key, bool | np.bool) and operator.index(key) is not None
    except TypeError:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class SparseMatrix(Structured):
    """A sparse matrix of shape (p, q) by its entries, row by row.

    The positions ``rows, columns`` of the entries ``data`` are sorted by rows and then columns.
    Each occurs at most once. ``layout`` keeps what products need to know of the positions; matrices
    with entries at the same positions share it.
    """

    rows: Array
    columns: Array
    data: Array
    shape: tuple[int, int]  # pyright: ignore[reportIncompatibleVariableOverride]
    layout: Layout | None = field(default=None, init=False)

    @classmethod
    def at(cls, layout: Layout, data: Array) -> SparseMatrix:
        """Return the matrix with the entries ``data`` at the positions of a layout."""
        matrix = cls(layout.rows, layout.columns, data, layout.shape)
        object.__setattr__(matrix, "layout", layout)
        return matrix

    @property
    def base(self) -> Array:
        return self.data

    @property
    def positions(self) -> Layout:
        """The layout, made on first use."""
        if self.layout is None:
            object.__setattr__(self, "layout", Layout(self.rows, self.columns, self.shape))
        assert self.layout is not None
        return self.layout

    @cached_property
    def matrix(self) -> Any:
        """The same as a sparse matrix of the entries' library (on the host, SciPy's)."""
        return self.positions.operator(self.data)

    @cached_property
    def _transposed(self) -> Any:
        return self.positions.transposed(self.data)

    def to_dense(self) -> Array:
        if type(self.data) is not np.ndarray:
            p, q = self.shape
            flat = scatter_add(zeros((p * q,), self.data), self.rows * q + self.columns, self.data)
            return reshape(flat, (p, q))
        out = np.zeros(self.shape, dtype=self.dtype)
        out[self.rows, self.columns] = self.data
        return out

    def on_host(self) -> SparseMatrix:
        rows, columns, data = map(to_host, (self.rows, self.columns, self.data))
        return SparseMatrix(rows, columns, data, self.shape)

    def like(self, x: Array) -> SparseMatrix:
        rows, columns, data = (like(part, x) for part in (self.rows, self.columns, self.data))
        return SparseMatrix(rows, columns, data, self.shape)

    def finite(self) -> bool:
        return all_finite(self.data)

    def inner(self, other: Array) -> float:
        if isinstance(other, SparseMatrix):
            if self._matches(other):
                return _dot(self.data, other.data)
            return float(self.on_host().matrix.multiply(other.on_host().matrix).sum())
        if isinstance(other, LowRank):
            return _dot(self.data, other.entries(self.rows, self.columns))
        if type(self.data) is np.ndarray:
            return float(self.data @ other[self.rows, self.columns])
        at = self.rows * self.shape[1] + self.columns
        return _dot(self.data, take(reshape(other, (-1,)), at))

    def __matmul__(self, other: Array) -> Any:
        if isinstance(other, LowRank):
            return LowRank(self @ other.U, other.s, other.V)
        return self.matrix @ plain(other)

    def __rmatmul__(self, other: Array) -> Any:
        if type(self.data) is np.ndarray:
            return other @ self.matrix
        return (self._transposed @ other.T).T

    @property
    def T(self) -> Any:
        """The transpose, for products."""
        return self.matrix.T if type(self.data) is np.ndarray else Transposed(self)

    def transposed_product(self, x: Array) -> Array:
        """Return G.T @ x."""
        return self._transposed @ x

    def wide(self) -> SparseMatrix:
        """Return the matrix in double precision where the library has it."""
        wide = wide_dtype(self.data)
        return self if self.dtype == wide else self._with(as_type(self.data, wide))

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.data)

    def __rmul__(self, factor: float) -> SparseMatrix:
        return self._with(factor * self.data)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return self.to_dense() + plain(other)
        if self._matches(other):
            return self._with(self.data + other.data)
        if type(self.data) is not np.ndarray:
            return (self.on_host() + other.on_host()).like(self.data)
        total = (self.matrix + other.matrix).tocoo()
        order = np.lexsort((total.col, total.row))
        return SparseMatrix(total.row[order], total.col[order], total.data[order], self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _matches(self, other: SparseMatrix) -> bool:
        if self.layout is other.layout and self.layout is not None:
            return True
        pairs = (self.rows, other.rows), (self.columns, other.columns)
        return all(
            mine is theirs or np.array_equal(to_host(mine), to_host(theirs))
            for mine, theirs in pairs
        )

    def _with(self, data: Array) -> SparseMatrix:
        return SparseMatrix.at(self.positions, data)


@dataclass(frozen=True)
class Transposed:
    """The transpose of a sparse matrix on another device, for products."""

    G: SparseMatrix

    def __matmul__(self, x: Array) -> Array:
        return self.G.transposed_product(x)

    def __rmatmul__(self, x: Array) -> Array:
        return (self.G @ x.T).T


def _dot(a: Array, b: Array) -> float:
    return float(a @ b) if type(a) is np.ndarray else fetch(device_sum(a * b))[0]
