r"""Data in half precision: bfloat16 and float16 matrices, multiplied in float32.

The problem that is solved is the one with the matrix as it is stored: its entries are float32
numbers too, x and all sums are float32, and nothing is rounded to half precision on the way. Sums
run over blocks of B = 32 terms and then, in float64 or by pairs, over the blocks, so that in
whatever order a block is summed

.. math:: |\widehat{Ax} - Ax| \le \gamma\, |A||x|, \qquad
    \gamma = (B + \lceil \log_2(d/B) \rceil + 3)\, u, \quad u = 2^{-24}

(N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapters 3 and 4). On CUDA and in
JAX a bfloat16 matrix is read once, in two bytes per entry: x is the sum of three bfloat16 vectors
of 8 bits each, exactly, whose products with A are exact in float32. There gamma is four times as
large, because tensor cores may drop bits where a sum would be rounded.
"""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np

from ..arrays import Array, is_foreign, library, namespace, to_host, wide_dtype

_BLOCK = 32
_CHUNK = 2**23  # entries converted to float32 at a time, so that they stay in the cache


class Narrow:
    """A bfloat16 or float16 matrix, or its transpose, whose products with float32 are float32.

    The attribute ``error`` is gamma: products are within gamma |A||x| of the exact ones.
    """

    def __init__(self, array: Array, transposed: bool = False) -> None:
        self.array, self.transposed = array, transposed
        self.shape = tuple(array.shape[::-1] if transposed else array.shape)
        xp = namespace(array)
        self.dtype = xp.float32
        self._splits = "bfloat16" in str(array.dtype) and (
            library(array) == "jax" or _on_cuda(array)
        )
        self._width = min(_BLOCK, self.shape[1])
        terms = self._width + math.ceil(math.log2(self.shape[1] / self._width)) + 3
        self.error = (4.0 if self._splits else 1.0) * terms * 2.0**-24

    @property
    def T(self) -> Narrow:
        return Narrow(self.array, not self.transposed)

    def __matmul__(self, x: Array) -> Array:
        xp = namespace(x)
        columns = x[:, None] if x.ndim == 1 else x
        out = self._product(xp, columns)
        return out[:, 0] if x.ndim == 1 else out

    def squares(self, axis: int) -> np.ndarray:
        """Return the sums of squares of columns (axis 0) or rows (axis 1), on the host."""
        xp, (n, d) = namespace(self.array), self.array.shape
        step, parts = max(1, _CHUNK // d), []
        for start in range(0, n, step):
            wide = xp.astype(self.array[start : start + step, :], self.dtype)
            parts.append(np.asarray(to_host(xp.sum(wide * wide, axis=axis)), dtype=np.float64))
        return np.concatenate(parts) if axis == 1 else np.add.reduce(parts)

    def _product(self, xp: ModuleType, x: Array) -> Array:
        """Return the product with the columns of ``x``, block by block."""
        length, width = self.shape[1], self._width
        parts = split(xp, x, self.array.dtype) if self._splits else x
        blocks = length // width
        whole = blocks * width
        step = blocks if self._splits else max(1, _CHUNK // (width * self.shape[0]))
        sums = [
            self._blocks(xp, parts, first * width, min(first + step, blocks) * width, width)
            for first in range(0, blocks, step)
        ]
        if whole < length:
            sums.append(self._blocks(xp, parts, whole, length, length - whole))
        out = sums[0] if len(sums) == 1 else add_blocks(xp, xp.stack(sums))
        return xp.astype(out, self.dtype).T

    def _blocks(self, xp: ModuleType, x: Array, start: int, stop: int, width: int) -> Array:
        """Return the sum of the products of the blocks from ``start`` to ``stop``, as rows."""
        count = (stop - start) // width
        left = xp.permute_dims(xp.reshape(x[start:stop, :], (count, width, x.shape[1])), (0, 2, 1))
        if self.transposed:
            right = xp.reshape(self.array[start:stop, :], (count, width, self.array.shape[1]))
        else:
            right = xp.reshape(self.array[:, start:stop], (self.array.shape[0], count, width))
            right = xp.permute_dims(right, (1, 2, 0))
        if not self._splits:
            options = {"precision": "highest"} if library(x) == "jax" else {}
            return add_blocks(xp, xp.matmul(left, xp.astype(right, self.dtype), **options))
        sums = add_blocks(xp, _exact_products(xp, left, right))
        return xp.sum(xp.reshape(sums, (3, x.shape[1] // 3, sums.shape[-1])), axis=0)


def add_blocks(xp: ModuleType, parts: Array) -> Array:
    """Return the sum over the first axis, in float64 where the library has it, else by pairs."""
    wide = wide_dtype(parts)
    if wide == xp.float64:
        return xp.sum(parts, axis=0, dtype=wide)
    while parts.shape[0] > 1:
        half = parts.shape[0] // 2
        pairs = parts[:half, ...] + parts[half : 2 * half, ...]
        parts = xp.concat([pairs, parts[2 * half :, ...]]) if parts.shape[0] % 2 else pairs
    return parts[0, ...]


def split(xp: ModuleType, x: Array, dtype: object) -> Array:
    """Return float32 columns as three groups of bfloat16 columns with the same sum, exactly."""
    high = xp.astype(x, dtype)
    rest = x - xp.astype(high, x.dtype)
    middle = xp.astype(rest, dtype)
    low = xp.astype(rest - xp.astype(middle, x.dtype), dtype)
    return xp.concat([high, middle, low], axis=1)


def _exact_products(xp: ModuleType, left: Array, right: Array) -> Array:
    """Return the batched product of bfloat16 matrices, with float32 sums."""
    if library(left) == "jax":
        return xp.matmul(left, right, preferred_element_type=xp.float32)
    import torch

    return torch.bmm(left, right, out_dtype=torch.float32)


def _on_cuda(array: Array) -> bool:
    """Tell whether the array is on CUDA and PyTorch (2.8 or newer) can multiply it into float32."""
    if library(array) != "torch" or array.device.type != "cuda":
        return False
    import torch

    return tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)


def is_narrow(A: Array) -> bool:
    """Tell whether ``A`` is a bfloat16 or float16 array of another library than NumPy."""
    if isinstance(A, np.ndarray):
        return False
    return is_foreign(A) and str(A.dtype).rpartition(".")[2] in ("bfloat16", "float16")
