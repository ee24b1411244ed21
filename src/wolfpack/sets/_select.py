"""Selecting and sorting entries of many vectors at once, ties broken by the first index."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

from ..arrays import Array, namespace, take_along, topk

_SCRATCH_SIZE = 2**17
_CHUNK_SIZE = 2**13


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.buffer = np.empty(_SCRATCH_SIZE)


_scratch = _Scratch()


def scratch(shape: tuple[int, ...], dtype: type = np.float64) -> Array:
    """Return an array with arbitrary content, which the next call in this thread overwrites.

    The operating system hands out fresh arrays of this size page by page, which takes longer than
    the selection that they are used for.
    """
    size = math.prod(shape)
    if size > _SCRATCH_SIZE:
        return np.empty(shape, dtype)
    return _scratch.buffer.view(dtype)[:size].reshape(shape)


def in_chunks(answer: Callable[[Array], Array], rows: Array) -> Array:
    """Return ``answer(rows)``, a new array like ``rows``, computed on few rows at a time.

    The intermediate arrays of ``answer`` then stay in the processor's cache, and in memory that
    the process already has.
    """
    batch, n = rows.shape
    step = max(1, _CHUNK_SIZE // n)
    if batch <= step or type(rows) is not np.ndarray:
        return answer(rows)
    answers = np.empty(rows.shape)
    for start in range(0, batch, step):
        answers[start : start + step] = answer(rows[start : start + step])
    return answers


def largest(rows: Array, k: int, key: np.ufunc = np.positive) -> Array:
    """Return the positions of the k largest entries of each row of finite numbers, ascending.

    ``key`` (`numpy.absolute`, `numpy.negative`) is applied to the entries before they are compared.
    Of equal entries the first ones are taken, on every machine: `numpy.argpartition` alone
    promises nothing about ties.
    """
    if type(rows) is not np.ndarray:  # which of equal entries is taken is up to the library
        return topk(-rows if key is np.negative else abs(rows) if key is np.absolute else rows, k)
    return largest_flat(rows, k, key) - first_positions(*rows.shape)


def largest_flat(rows: Array, k: int, key: np.ufunc = np.positive) -> Array:
    """Return what `largest` returns, as positions in the flattened rows."""
    batch, n = rows.shape
    # a row of independent entries has `width` above the level, and less than k once in 10^4 rows
    width = k + 4 * math.isqrt(k) + 4
    flat = _above_common_level(rows, k, width, key) if batch >= 8 and n >= 16 * width else None
    if flat is None:
        flat = _largest_each(key(rows, out=scratch(rows.shape)), k)
    return flat.reshape(batch, k)


def _largest_each(values: Array, k: int) -> Array:
    """Return the flat positions of the k largest entries of each row, row after row."""
    batch, n = values.shape
    # sorting a short row is faster than setting up a selection
    ordered = np.sort(values, axis=1) if n <= 64 else np.partition(values, n - k, axis=1)
    threshold = ordered[:, n - k, None]
    chosen = values >= threshold
    flat = chosen.reshape(-1).nonzero()[0]  # one axis: ten times faster than two
    if flat.shape[0] > k * batch:
        missing = k - np.count_nonzero(values > threshold, axis=1)[:, None]
        tied = values == threshold
        chosen &= ~tied | (np.cumsum(tied, axis=1) <= missing)
        flat = chosen.reshape(-1).nonzero()[0]
    return flat


def _above_common_level(rows: Array, k: int, width: int, key: np.ufunc) -> Array | None:
    """Return what `_largest_each` returns, by a level that at least k entries of each row reach.

    The directions of a round are one vector, perturbed. A level that about ``width`` entries of
    each of four rows reach is therefore reached by about as many of every row. Comparing all
    entries with one number runs at the speed of memory, and few entries remain. None if fewer than
    k or too many of a row remain.
    """
    batch, n = rows.shape
    sample = key(rows[:: batch // 4]).reshape(-1)
    rank = sample.shape[0] - width * (sample.shape[0] // n)
    sample.partition(rank)
    level = sample[rank]
    above, below = scratch((2, batch, n), np.bool_)
    if key is np.negative:
        np.less_equal(rows, -level, out=above)
    else:
        np.greater_equal(rows, level, out=above)
    if key is np.absolute:
        above |= np.less_equal(rows, -level, out=below)
    flat = above.reshape(-1).nonzero()[0]
    ends = flat.searchsorted(np.arange(0, batch * n + 1, n))
    first, counts = ends[:-1, None], (ends[1:] - ends[:-1])[:, None]
    most = int(counts.max())
    if most > 4 * width or int(counts.min()) < k:
        return None
    columns = np.arange(most)
    positions = flat.take(first + columns, mode="clip")
    left = key(rows.take(positions))
    left[columns >= counts] = -np.inf
    return positions.take(_largest_each(left, k))


def ranked(values: Array, k: int, key: np.ufunc = np.positive) -> Array:
    """Return the positions of the k largest entries of a vector, the largest first."""
    chosen = largest(values[None], k, key)[0]
    return chosen[np.argsort(-key(values[chosen]), kind="stable")]


def ordering(rows: Array) -> Array:
    """Return the stable order of each row, ascending; the slower stable sort only if rows tie."""
    if type(rows) is not np.ndarray:
        return namespace(rows).argsort(rows, axis=1, stable=True)
    order = np.argsort(rows, axis=1)
    ascending = pick(rows, order)
    if (ascending[:, 1:] == ascending[:, :-1]).any():
        order = np.argsort(rows, axis=1, kind="stable")
    return order


def pick(rows: Array, positions: Array) -> Array:
    """Return the entries of each row at its own positions."""
    if type(rows) is not np.ndarray:
        return take_along(rows, positions)
    return rows.reshape(-1)[positions + first_positions(*rows.shape)]


def place(positions: Array, values: Array) -> Array:
    """Return rows with ``values`` at their own ``positions``, which are permutations."""
    if type(values) is not np.ndarray:  # the inverse of a permutation is its order
        return take_along(values, namespace(positions).argsort(positions, axis=1))
    rows = np.empty(positions.shape)
    rows.reshape(-1)[positions + first_positions(*positions.shape)] = values
    return rows


def first_positions(batch: int, n: int) -> Array:
    """Return the flat position of the first entry of each row, as a column."""
    return np.arange(0, batch * n, n)[:, None]
