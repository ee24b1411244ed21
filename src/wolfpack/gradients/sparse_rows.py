"""Rows of sparse matrices that are multiplied once or twice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array


class SparseRows:
    """Some rows of a CSR matrix, for products with vectors.

    SciPy's own selection checks and converts for longer than the products of a few rows take.

    Parameters
    ----------
    A : sparse matrix
        The matrix, in CSR form.
    rows : array of int
        The numbers of the rows.
    """

    def __init__(self, A: Any, rows: Array) -> None:
        first, ends = A.indptr[rows], A.indptr[rows + 1]
        lengths = ends - first
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(first - ends + lengths, lengths)
        self.shape = len(rows), A.shape[1]
        self._columns, self._data = A.indices[places], A.data[places]
        self._owners = np.repeat(np.arange(len(rows)), lengths)

    def __matmul__(self, x: Array) -> Array:
        products = self._data * x[self._columns]
        return np.bincount(self._owners, products, self.shape[0]).astype(products.dtype, copy=False)

    @property
    def T(self) -> Any:
        """The transpose."""
        return Transposed(self)

    def pull_back(self, theta: Array) -> Array:
        """Return A' theta, theta one number per row."""
        products = self._data * theta[self._owners]
        found = np.bincount(self._columns, products, self.shape[1])
        return found.astype(products.dtype, copy=False)


class Transposed(NamedTuple):
    """The transpose of some rows."""

    rows: SparseRows

    def __matmul__(self, theta: Array) -> Array:
        return self.rows.pull_back(theta)
