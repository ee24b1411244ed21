"""What matrices that are not stored entry by entry have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._types import Array


class Structured:
    """A matrix that is not stored entry by entry.

    Subclasses give a shape and the methods that raise here. (No abstract base class, whose instance
    checks would slow down every inner product.)
    """

    shape: tuple[int, int]
    ndim = 2

    @property
    def base(self) -> Array:
        """An array of the library, device and type of the parts."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.base.dtype

    def to_dense(self) -> Array:
        """Return the matrix as an array."""
        raise NotImplementedError

    def on_host(self) -> Structured:
        """Return the same matrix with NumPy's arrays as its parts."""
        raise NotImplementedError

    def like(self, x: Array) -> Structured:
        """Return the same matrix with parts of the library, device and type of ``x``."""
        raise NotImplementedError

    def inner(self, other: Array) -> float:
        """Return the Frobenius inner product with an array or another structured matrix."""
        raise NotImplementedError

    def finite(self) -> bool:
        """Tell whether all entries are finite."""
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        dense = self.on_host().to_dense()
        return dense if dtype is None else dense.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy; products and multiples keep the structure."""
        if method == "__call__" and not options:
            left, right = inputs[0], inputs[-1]
            if ufunc is np.matmul and not isinstance(left, Structured):
                return right.__rmatmul__(left)
            if ufunc is np.multiply and not isinstance(left, Structured) and np.ndim(left) == 0:
                return float(left) * right
        return getattr(ufunc, method)(*map(_on_host, inputs), **options)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]}, {self.shape[1]})"


def _on_host(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, Structured) else x


def plain(x: Any) -> Any:
    """Return a structured matrix as an array of its library, anything else as it is."""
    return x.to_dense() if isinstance(x, Structured) else x
