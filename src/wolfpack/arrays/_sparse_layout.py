"""Where the entries of a sparse matrix are, and products with matrices of that layout.

On the host products are SciPy's. PyTorch, JAX and CuPy have sparse matrices of their own; their
products by rows are fast and those with the transpose are not, so that the entries are kept in the
order of the columns as well. Arrays of other libraries are multiplied on the host.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ._gather import take
from ._place import arange, library, like, namespace, to_host
from ._types import Array


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

    def product(self, data: Array, x: Array) -> Array:
        """Return G @ x for the matrix G with the entries ``data``."""
        if type(data) is np.ndarray:
            return self.host_matrix(data) @ x
        return _product(self, data, x)

    def transposed_product(self, data: Array, x: Array) -> Array:
        """Return G.T @ x."""
        if type(data) is np.ndarray:
            return self.host_matrix(data).T @ x
        order, other = self.by_columns
        return _product(other, take(data, order), x)

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
        other = Layout(take(self.columns, order), take(self.rows, order), self.shape[::-1])
        return order, other

    @cached_property
    def on_host(self) -> Layout:
        """The same with NumPy's arrays."""
        return Layout(to_host(self.rows), to_host(self.columns), self.shape)


def _product(layout: Layout, data: Array, x: Array) -> Array:
    """Return the product on the device of the entries."""
    kind, args = library(data), (layout.ends, layout.columns, data)
    if kind == "torch" and data.device.type != "mps":
        import torch

        with warnings.catch_warnings():
            # it says of every such matrix that the format is in beta
            warnings.simplefilter("ignore", UserWarning)
            return torch.sparse_csr_tensor(*args, layout.shape, check_invariants=False) @ x
    if kind == "jax":
        from jax.experimental.sparse import BCOO

        places = namespace(data).stack([layout.rows, layout.columns], axis=1)
        options: Any = {"indices_sorted": True, "unique_indices": True}
        return BCOO((data, places), shape=layout.shape, **options) @ x
    if kind == "cupy":
        from cupyx.scipy.sparse import csr_matrix

        return csr_matrix((data, layout.columns, layout.ends), shape=layout.shape) @ x
    host = layout.on_host.host_matrix(to_host(data)) @ to_host(x)
    return like(host, x)
