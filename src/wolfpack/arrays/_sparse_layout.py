"""Where the entries of a sparse matrix are, and products with matrices of that layout.

On the host products are SciPy's. PyTorch, JAX and CuPy have sparse matrices of their own; their
products by rows are fast and those with the transpose are not, so that the entries are kept in the
order of the columns as well. Arrays of other libraries are multiplied on the host.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from ._gather import take
from ._place import arange, library, like, namespace, to_host
from ._types import Array

Operator: TypeAlias = Any
"""What a vector or a matrix can be multiplied with from the left."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of entries, sorted by rows and then columns, in a matrix of shape (p, q).

    The positions are arrays of the library and on the device of the entries.
    """

    rows: Array
    columns: Array
    shape: tuple[int, int]

    def host_matrix(self, data: np.ndarray) -> csr_array:
        """Return the matrix with these entries as a SciPy array."""
        return csr_array((data, self.columns, self.ends), shape=self.shape)

    def operator(self, data: Array) -> Operator:
        """Return the matrix with these entries as something that multiplies: ``G @ x``."""
        kind = library(data)
        if kind == "numpy":
            return self.host_matrix(data)
        if kind == "torch" and data.device.type != "mps":
            import torch

            with warnings.catch_warnings():
                # it says of every such matrix that the format is in beta
                warnings.simplefilter("ignore", UserWarning)
                parts = self.ends, self.columns, data
                return torch.sparse_csr_tensor(*parts, self.shape, check_invariants=False)
        if kind == "jax":
            from jax.experimental.sparse import BCOO

            places = namespace(data).stack([self.rows, self.columns], axis=1)
            options: Any = {"indices_sorted": True, "unique_indices": True}
            return BCOO((data, places), shape=self.shape, **options)
        if kind == "cupy":
            from cupyx.scipy.sparse import csr_matrix

            return csr_matrix((data, self.columns, self.ends), shape=self.shape)
        return _ThroughHost(self.on_host.host_matrix(to_host(data)))

    def transposed(self, data: Array) -> Operator:
        """Return the same of the transpose, whose rows are the matrix's columns."""
        if type(data) is np.ndarray:
            return self.host_matrix(data).T
        order, other = self.by_columns
        return other.operator(take(data, order))

    @cached_property
    def ends(self) -> Array:
        """Where each row begins, and the number of entries."""
        if type(self.rows) is np.ndarray:
            return np.searchsorted(self.rows, np.arange(self.shape[0] + 1))
        lines = arange(self.shape[0] + 1, self.rows)
        found = namespace(self.rows).searchsorted(self.rows, lines)
        return namespace(found).astype(found, self.columns.dtype)

    @cached_property
    def by_columns(self) -> tuple[Array, Layout]:
        """The entries' order by columns, and the layout of the transpose."""
        order = namespace(self.rows).argsort(self.columns, stable=True)
        p, q = self.shape
        other = Layout(take(self.columns, order), take(self.rows, order), (q, p))
        return order, other

    @cached_property
    def on_host(self) -> Layout:
        """The same with NumPy's arrays."""
        return Layout(to_host(self.rows), to_host(self.columns), self.shape)


@dataclass(frozen=True)
class _ThroughHost:
    """A matrix of the host that multiplies arrays of another library."""

    matrix: csr_array

    def __matmul__(self, x: Array) -> Array:
        return like(self.matrix @ to_host(x), x)
