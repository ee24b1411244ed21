"""Matrices too large to be dense: of low rank, and sparse.

Iterates over spectral sets are sums of few rank-one matrices, and gradients of losses of few
entries are sparse. Both behave like arrays of their shape (``np.asarray`` makes one) and know their
inner products, so that `inner`, `norm` and all that is built on them works without a dense copy.
"""

from __future__ import annotations

import math
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]}, {self.shape[1]})"


@dataclass(frozen=True, eq=False, repr=False)
class LowRank(Structured):
    """The matrix U diag(s) V' of the vectors U (p, k) and V (q, k) with k weights s.

    It can be read like an array: ``X[i, j]``, ``X[rows]``, ``X[:, columns]``, ``X @ B``, ``B @ X``,
    ``X.T``, ``X.sum(axis)``, ``X.mean(axis)`` and ``X.norm()`` compute what they need from the
    factors. ``np.asarray(X)``, and NumPy's functions, make the whole matrix.
    """

    __array_priority__ = 1000.0  # so that B @ X comes here for an array B

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
        left, out, p = self.U * self.s, np.empty(len(rows)), self.shape[0]
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
    def size(self) -> int:
        """Number of entries of the matrix."""
        return self.shape[0] * self.shape[1]

    @property
    def T(self) -> LowRank:
        """The transpose, in factors."""
        return LowRank(self.V, self.s, self.U)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return an entry, entries, rows, columns or blocks, as NumPy does."""
        rows, *rest = index if isinstance(index, tuple) else (index,)
        columns = rest[0] if rest else slice(None)
        if len(rest) > 1 or not (_is_plain(rows) and _is_plain(columns)):
            return self.to_dense()[index]
        left, right = self.U[rows] * self.s, self.V[columns]
        paired = not (isinstance(rows, slice) or isinstance(columns, slice))
        return np.einsum("...k,...k->...", left, right)[()] if paired else left @ right.T

    def __matmul__(self, other: Array) -> np.ndarray:
        return (self.U * self.s) @ (self.V.T @ np.asarray(other))

    def __rmatmul__(self, other: Array) -> np.ndarray:
        return (np.asarray(other) @ self.U * self.s) @ self.V.T

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all entries, or of each column (0) or row (1)."""
        if axis is None:
            return float(self.U.sum(axis=0) * self.s @ self.V.sum(axis=0))
        side = self if axis in (1, -1) else self.T
        return (side.U * side.s) @ side.V.sum(axis=0)

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean of all entries, or of each column (0) or row (1)."""
        count = self.size if axis is None else self.shape[axis]
        return self.sum(axis) / count

    def norm(self) -> float:
        """Return the Frobenius norm."""
        return math.sqrt(max(0.0, self.inner(self)))

    def __neg__(self) -> LowRank:
        return LowRank(self.U, -self.s, self.V)

    def __rmul__(self, factor: Any) -> Any:
        """Return a multiple, in factors; with an array, the dense product entry by entry."""
        if np.ndim(factor) == 0:
            return LowRank(self.U, factor * self.s, self.V)
        return factor * self.to_dense()

    __mul__ = __rmul__

    def __truediv__(self, divisor: Any) -> Any:
        return (1.0 / divisor) * self

    def __add__(self, other: Any) -> Any:
        """Return the sum, in factors; with an array, the dense sum."""
        if not isinstance(other, LowRank):
            return self.to_dense() + other
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


def _is_plain(index: Any) -> bool:
    """Tell whether an index selects along one axis: a number, a slice or a list of numbers."""
    return isinstance(index, (int, np.integer, slice)) or np.ndim(index) == 1


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

    def __matmul__(self, other: Array) -> Array:
        return self.matrix @ other

    @property
    def T(self) -> csr_array:
        """The transpose, for products."""
        return self.matrix.T

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.data)

    def __rmul__(self, factor: float) -> SparseMatrix:
        return self._with(factor * self.data)

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        if self._matches(other):
            return self._with(self.data + other.data)
        total = (self.matrix + other.matrix).tocoo()
        order = np.lexsort((total.col, total.row))
        return SparseMatrix(total.row[order], total.col[order], total.data[order], self.shape)

    def __sub__(self, other: SparseMatrix) -> SparseMatrix:
        return self + (-other)

    def _matches(self, other: SparseMatrix) -> bool:
        pairs = (self.rows, other.rows), (self.columns, other.columns)
        return all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in pairs)

    def _with(self, data: np.ndarray) -> SparseMatrix:
        return SparseMatrix(self.rows, self.columns, data, self.shape)
