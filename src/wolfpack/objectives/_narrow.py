r"""Data in half precision: bfloat16 and float16 matrices, multiplied in float32.

The problem that is solved is the one with the matrix as it is stored: its entries are float32
numbers too, x and all sums are float32, and nothing is rounded to half precision on the way. Sums
run over blocks of 256 terms and then over the blocks, so that in whatever order each is added

.. math:: |\widehat{Ax} - Ax| \le \gamma\, |A||x|, \qquad
    \gamma = (256 + \lceil d/256 \rceil + 4)\, u, \quad u = 2^{-24}

(N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2). On CUDA and in JAX
a bfloat16 matrix is read once, in two bytes per entry: x is the sum of three bfloat16 vectors of 8
bits each, exactly, whose products with A are exact in float32. Tensor cores may drop bits where a
sum would be rounded; four units cover that.
"""

from __future__ import annotations

import math
from typing import Any

from ..arrays import device_of, is_foreign, library, namespace

Array = Any
BLOCK = 256
_CHUNK = 2**23  # entries that are float32 at a time: what a cache holds


class Narrow:
    """A bfloat16 or float16 matrix whose products with float32 arrays are float32.

    Parameters
    ----------
    array : array (n, d)
        The matrix.
    transposed : bool
        Multiply by the transpose.

    Attributes
    ----------
    error : float
        The constant gamma: products are within gamma |A||x| of the exact ones.
    """

    def __init__(self, array: Array, transposed: bool = False) -> None:
        self.array, self.transposed = array, transposed
        self.shape = tuple(array.shape[::-1] if transposed else array.shape)
        xp = namespace(array)
        self.dtype = xp.float32
        self._splits = "bfloat16" in str(array.dtype) and (
            library(array) == "jax" or _on_cuda(array)
        )
        terms = BLOCK + math.ceil(self.shape[1] / BLOCK) + 4
        self.error = (4.0 if self._splits else 1.0) * terms * 2.0**-24

    @property
    def T(self) -> Narrow:
        """The transpose."""
        return Narrow(self.array, not self.transposed)

    def __matmul__(self, x: Array) -> Array:
        xp = namespace(x)
        columns = x[:, None] if x.ndim == 1 else x
        out = self._product(xp, columns)
        return out[:, 0] if x.ndim == 1 else out

    def widened(self, start: int, stop: int) -> Array:
        """Return some rows of the matrix as it is stored, in float32."""
        return namespace(self.array).astype(self.array[start:stop], self.dtype)

    def _product(self, xp: Any, x: Array) -> Array:
        """Return the product with the columns of ``x``, block by block."""
        length, q = self.shape[1], x.shape[1]
        parts = split(xp, x, self.array.dtype) if self._splits else x
        blocks = length // BLOCK
        whole = blocks * BLOCK
        out = xp.zeros((q, self.shape[0]), dtype=self.dtype, device=device_of(x))
        step = blocks if self._splits else max(1, _CHUNK // (BLOCK * self.shape[0]))
        for first in range(0, blocks, max(1, step)):
            last = min(first + step, blocks)
            out = out + self._blocks(xp, parts, first * BLOCK, last * BLOCK, BLOCK)
        if whole < length:
            out = out + self._blocks(xp, parts, whole, length, length - whole)
        return out.T

    def _blocks(self, xp: Any, x: Array, start: int, stop: int, width: int) -> Array:
        """Return the sum over the blocks between two places, as rows."""
        count = (stop - start) // width
        left = xp.permute_dims(xp.reshape(x[start:stop, :], (count, width, x.shape[1])), (0, 2, 1))
        if self.transposed:
            right = xp.reshape(self.array[start:stop, :], (count, width, self.array.shape[1]))
        else:
            right = xp.reshape(self.array[:, start:stop], (self.array.shape[0], count, width))
            right = xp.permute_dims(right, (1, 2, 0))
        if not self._splits:
            return xp.sum(xp.matmul(left, xp.astype(right, self.dtype)), axis=0)
        sums = xp.sum(_exact_products(xp, left, right), axis=0)
        return xp.sum(xp.reshape(sums, (3, x.shape[1] // 3, sums.shape[-1])), axis=0)


def split(xp: Any, x: Array, dtype: Any) -> Array:
    """Return float32 columns as three groups of bfloat16 columns with the same sum, exactly."""
    high = xp.astype(x, dtype)
    rest = x - xp.astype(high, x.dtype)
    middle = xp.astype(rest, dtype)
    low = xp.astype(rest - xp.astype(middle, x.dtype), dtype)
    return xp.concat([high, middle, low], axis=1)


def _exact_products(xp: Any, left: Array, right: Array) -> Array:
    """Return the batched product of bfloat16 matrices, with float32 sums."""
    if library(left) == "jax":
        return xp.matmul(left, right, preferred_element_type=xp.float32)
    import torch

    return torch.bmm(left, right, out_dtype=torch.float32)


def _on_cuda(array: Array) -> bool:
    return getattr(getattr(array, "device", None), "type", "") == "cuda"


def is_narrow(A: Any) -> bool:
    """Tell whether ``A`` is a bfloat16 or float16 array of another library than NumPy."""
    return is_foreign(A) and str(A.dtype).rpartition(".")[2] in ("bfloat16", "float16")
