"""Operations by position that the Array API standard lacks, or that libraries spell differently.

Nothing here writes to its arguments, and none of it waits for a device.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._place import arange, device_of, library, like, namespace
from ._types import Array, Index


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """Return ``x`` in another shape, of which one size may be -1."""
    if type(x) is np.ndarray:
        return x.reshape(shape)
    return namespace(x).reshape(x, shape) if library(x) == "other" else x.reshape(shape)


def take(x: Array, index: Array) -> Array:
    """Return the entries of ``x`` along its first axis at ``index``, of any shape."""
    if type(x) is np.ndarray or library(x) != "other":
        return x[index]
    index = like(index, x)
    space = namespace(x)
    picked = space.take(x, space.reshape(index, (-1,)), axis=0)
    return space.reshape(picked, (*index.shape, *x.shape[1:]))


def rows(x: Array, i: Index) -> Array:
    """Return ``x[i]`` along the first axis, for a position, a slice or an array of positions."""
    if type(x) is np.ndarray:
        return x[i]
    if isinstance(i, np.ndarray):
        return take(x, like(i, x))
    return x[i] if x.ndim == 1 else x[i, ...]


def take_along(x: Array, index: Array) -> Array:
    """Return the entries of each row of a matrix at that row's own positions (batch, k)."""
    if type(x) is np.ndarray:
        return np.take_along_axis(x, index, axis=-1)
    if library(x) == "torch":
        return x.gather(-1, index)
    return namespace(x).take_along_axis(x, index, axis=-1)


def put_row(x: Array, i: int, row: Array) -> Array:
    """Return a matrix with one row replaced, in its own memory where the library allows it."""
    if library(x) == "jax":
        return x.at[i].set(row)
    x[i, ...] = row
    return x


def scatter_add(x: Array, index: Array, values: Array) -> Array:
    """Return a vector with ``values`` added at ``index``; positions may repeat.

    ``values`` is a number or an array like ``index``, which has any shape.
    """
    kind = library(x)
    if kind == "jax":
        return x.at[index].add(values)
    index = reshape(index, (-1,))
    values = _spread(values, index, x)
    if kind == "torch":
        return x.index_add(0, index, values)
    if kind == "numpy" or kind == "cupy":
        out = x.copy()
        namespace(x).add.at(out, index, values)
        return out
    space = namespace(x)  # with the standard alone: a row of zeros and one value per position
    hits = index[:, None] == arange(x.shape[0], x)[None, :]
    return x + space.sum(space.where(hits, values[:, None], 0.0), axis=0)


def bincount(index: Array, weights: Array, length: int, dtype: Array) -> Array:
    """Return the sums of ``weights`` over equal positions, as a vector of type ``dtype``.

    ``weights`` is a number or an array like ``index``. Sums are taken in double precision where the
    library has it.
    """
    if type(index) is np.ndarray:
        index = index.reshape(-1)
        if isinstance(weights, np.ndarray) and weights.ndim:
            total = np.bincount(index, weights.reshape(-1), length)
        else:
            total = np.bincount(index, minlength=length) * weights
        return total.astype(dtype, copy=False)
    space, wide = namespace(index), wide_dtype(index)
    zero = space.zeros(length, dtype=wide, device=device_of(index))
    if isinstance(weights, float | int):
        total = weights * scatter_add(zero, index, 1.0)
    else:
        total = scatter_add(zero, index, space.astype(weights, wide))
    return space.astype(total, dtype)


def sum_last(x: Array, axes: int) -> Array:
    """Return the sums over the last few axes, in double precision where the library has it."""
    if type(x) is np.ndarray:
        if axes == 1:  # the usual case, without what `sum` does around it
            return np.add.reduce(x, axis=-1)
        return x.sum(axis=tuple(range(-axes, 0)))
    space = namespace(x)
    return space.sum(x, axis=tuple(range(-axes, 0)), dtype=wide_dtype(x))


def amax(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the largest entry, or the largest entries along an axis."""
    if type(x) is np.ndarray:  # the method is faster than np.max
        return x.max(axis=axis, keepdims=keepdims)
    return namespace(x).max(x, axis=axis, keepdims=keepdims)


def concat(arrays: Sequence[Array], axis: int = 0) -> Array:
    """Return arrays joined along an axis."""
    if type(arrays[0]) is np.ndarray:
        return np.concatenate(arrays, axis=axis)
    return namespace(arrays[0]).concat(list(arrays), axis=axis)


def cumsum(x: Array, axis: int = 0, dtype: Array = None) -> Array:
    """Return the running sums along an axis, by default in double precision, if there is one."""
    if type(x) is np.ndarray:
        return np.cumsum(x, axis=axis, dtype=dtype or np.float64)
    return namespace(x).cumulative_sum(x, axis=axis, dtype=dtype or wide_dtype(x))


def searchsorted(ascending: Array, values: Array) -> Array:
    """Return, for each value, how many entries of an ascending vector are at most that value."""
    if type(ascending) is np.ndarray:
        return ascending.searchsorted(values, side="right")
    return namespace(ascending).searchsorted(ascending, values, side="right")


def topk(x: Array, k: int) -> Array:
    """Return the positions of the k largest entries along the last axis, the largest first.

    Which of equal entries is taken is up to the library.
    """
    kind = library(x)
    if kind == "torch":
        return x.topk(k, dim=-1).indices
    if kind == "jax":
        import jax

        return jax.lax.top_k(x, k)[1]
    return namespace(x).argsort(-x, axis=-1, stable=True)[..., :k]


def repeat(values: Array, times: Array, total: int) -> Array:
    """Return each value as often as ``times`` says, ``total`` in all."""
    kind = library(values)
    if kind == "jax":
        return namespace(values).repeat(values, times, total_repeat_length=total)
    if kind == "torch":
        return values.repeat_interleave(times, output_size=total)
    return namespace(values).repeat(values, times)


def wide_dtype(x: Array) -> Array:
    """Return the type in which sums over ``x`` are taken: float64 where the library has it."""
    kind, space = library(x), namespace(x)
    if kind == "numpy":
        return space.float64
    if kind == "jax":
        import jax

        return space.float64 if jax.config.read("jax_enable_x64") else space.float32
    if kind == "torch" and str(device_of(x)).startswith("mps"):
        return space.float32
    return space.float64


def _spread(values: Array, index: Array, x: Array) -> Array:
    """Return one value per position."""
    if isinstance(values, float | int):
        return namespace(x).full(index.shape, float(values), dtype=x.dtype, device=device_of(x))
    space = namespace(x)
    flat = space.broadcast_to(values, index.shape) if values.ndim == 0 else reshape(values, (-1,))
    return flat if flat.dtype == x.dtype else space.astype(flat, x.dtype)
