"""Matrices too large to be dense: of low rank, and sparse.

Iterates over spectral sets are sums of few rank-one matrices, and gradients of losses of few
entries are sparse. Both behave like arrays of their shape (``np.asarray`` makes one) and know their
inner products, so that `inner`, `norm` and all that is built on them works without a dense copy.
Together with an array, or inside a function of NumPy that they do not know, they become arrays.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_array

from ._types import Array

_CHUNK = 2**16  # numbers that are gathered at a time
_DENSE_RATIO = 32  # entries of the matrix per wanted entry, up to which products are faster


class Structured:
    """A matrix that is not stored entry by entry.

    Subclasses give a shape and the methods that raise here. (No abstract base class, whose instance
    checks would slow down every inner product.)
    """

    shape: tuple[int, int]
    ndim = 2

    @property
    def dtype(self) -> np.dtype:
        """Type of the entries."""
        raise NotImplementedError

    def to_dense(self) -> np.ndarray:
        """Return the matrix as an array."""
        raise NotImplementedError

    def inner(self, other: Array) -> float:
        """Return the Frobenius inner product with an array or another structured matrix."""
        raise NotImplementedError

    def finite(self) -> bool:
        """Tell whether all entries are finite."""
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        dense = self.to_dense()
        return dense if dtype is None else dense.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy; products and multiples keep the structure."""
        if method == "__call__" and not options:
            left, right = inputs[0], inputs[-1]
            if ufunc is np.matmul and not isinstance(left, Structured):
                return right.__rmatmul__(left)
            if ufunc is np.multiply and not isinstance(left, Structured) and np.ndim(left) == 0:
                return float(left) * right
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]}, {self.shape[1]})"


def _plain(x: Any) -> Any:
    return x.to_dense() if isinstance(x, Structured) else x


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

    U: np.ndarray
    s: np.ndarray
    V: np.ndarray

    @classmethod
    def zeros(cls, shape: tuple[int, int]) -> LowRank:
        """Return the zero matrix, of rank 0."""
        return cls(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((shape[1], 0)))

    @property
    def shape(self) -> tuple[int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Shape (p, q) of the matrix."""
        return self.U.shape[0], self.V.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self.U.dtype

    @property
    def rank(self) -> int:
        """Number k of terms."""
        return len(self.s)

    def to_dense(self) -> np.ndarray:
        return (self.U * self.s) @ self.V.T

    def finite(self) -> bool:
        return all(bool(np.isfinite(part).all()) for part in (self.U, self.s, self.V))

    def inner(self, other: Array) -> float:
        if isinstance(other, LowRank):
            left, right = self.U.T @ other.U, self.V.T @ other.V
            return float(self.s @ (left * right) @ other.s)
        if isinstance(other, Structured):
            return other.inner(self)
        return float(((other @ self.V) * self.U).sum(axis=0) @ self.s)

    def entries(self, rows: Array, columns: Array) -> np.ndarray:
        """Return the entries at the given positions; fastest when ``rows`` is sorted."""
        left, p = self.U * self.s, self.shape[0]
        out = np.empty(len(rows), dtype=self.dtype)
        if p * self.shape[1] <= _DENSE_RATIO * len(rows) and bool((np.diff(rows) >= 0).all()):
            # where much of a row is wanted, a product of blocks of rows is faster
            height = max(1, min(p, len(rows) // self.shape[1]))
            edges = np.searchsorted(rows, np.arange(0, p + height, height))
            for first, low, high in zip(range(0, p, height), edges, edges[1:], strict=False):
                block = left[first : first + height] @ self.V.T
                out[low:high] = block[rows[low:high] - first, columns[low:high]]
            return out
        step = max(1, _CHUNK // max(1, self.rank))
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            out[part] = np.einsum("ij,ij->i", left[rows[part]], self.V[columns[part]])
        return out

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
        if isinstance(rows, list | np.ndarray) and isinstance(columns, list | np.ndarray):
            # the indices of places, also for masks and negative numbers
            places = (np.arange(n)[at] for n, at in zip(self.shape, (rows, columns), strict=True))
            i, j = np.broadcast_arrays(*places)
            return self.entries(i.ravel(), j.ravel()).reshape(i.shape)
        return np.tensordot(self.U[rows] * self.s, self.V[columns], (-1, -1))[()]

    def sum(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum of all entries, or along an axis."""
        if dtype is not None or out is not None or axis not in (None, 0, 1, -1, -2):
            return self.to_dense().sum(axis=axis, dtype=dtype, out=out)
        U = self.U if axis in (1, -1) else self.U.sum(axis=0)
        V = self.V if axis in (0, -2) else self.V.sum(axis=0)
        return (U * self.s) @ V.T

    def mean(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the mean of all entries, or along an axis."""
        if dtype is not None or out is not None or axis not in (None, 0, 1, -1, -2):
            return self.to_dense().mean(axis=axis, dtype=dtype, out=out)
        return self.sum(axis) / (self.size if axis is None else self.shape[axis])

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return float(np.linalg.norm(self.singular_values()))

    def singular_values(self) -> np.ndarray:
        """Return the singular values that may differ from 0, from triangular factors of U and V."""
        left, right = np.linalg.qr(self.U).R, np.linalg.qr(self.V).R
        return np.linalg.svd((left * self.s) @ right.T, compute_uv=False)

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
        return self.to_dense() * _plain(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Any:
        if np.ndim(divisor) == 0:
            return LowRank(self.U, self.s / float(divisor), self.V)
        return self.to_dense() / _plain(divisor)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, LowRank):
            return self.to_dense() + _plain(other)
        return LowRank(
            np.hstack([self.U, other.U]),
            np.concatenate([self.s, other.s]),
            np.hstack([self.V, other.V]),
        )

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other


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
    Each occurs at most once.
    """

    rows: np.ndarray
    columns: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]  # pyright: ignore[reportIncompatibleVariableOverride]

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @cached_property
    def matrix(self) -> csr_array:
        """The same as a SciPy array, for products."""
        ends = np.searchsorted(self.rows, np.arange(self.shape[0] + 1))
        return csr_array((self.data, self.columns, ends), shape=self.shape)

    def to_dense(self) -> np.ndarray:
        out = np.zeros(self.shape, dtype=self.dtype)
        out[self.rows, self.columns] = self.data
        return out

    def finite(self) -> bool:
        return bool(np.isfinite(self.data).all())

    def inner(self, other: Array) -> float:
        if isinstance(other, SparseMatrix):
            if self._matches(other):
                return float(self.data @ other.data)
            return float(self.matrix.multiply(other.matrix).sum())
        if isinstance(other, LowRank):
            return float(self.data @ other.entries(self.rows, self.columns))
        return float(self.data @ other[self.rows, self.columns])

    def __matmul__(self, other: Array) -> Any:
        if isinstance(other, LowRank):
            return LowRank(self.matrix @ other.U, other.s, other.V)
        return self.matrix @ _plain(other)

    def __rmatmul__(self, other: Array) -> Any:
        return other @ self.matrix

    @property
    def T(self) -> csr_array:
        """The transpose, for products."""
        return self.matrix.T

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.data)

    def __rmul__(self, factor: float) -> SparseMatrix:
        return self._with(factor * self.data)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return self.to_dense() + _plain(other)
        if self._matches(other):
            return self._with(self.data + other.data)
        total = (self.matrix + other.matrix).tocoo()
        order = np.lexsort((total.col, total.row))
        return SparseMatrix(total.row[order], total.col[order], total.data[order], self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def _matches(self, other: SparseMatrix) -> bool:
        pairs = (self.rows, other.rows), (self.columns, other.columns)
        return all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)

    def _with(self, data: np.ndarray) -> SparseMatrix:
        return SparseMatrix(self.rows, self.columns, data, self.shape)
