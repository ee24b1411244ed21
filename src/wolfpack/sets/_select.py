"""Selecting and sorting entries of many vectors at once, ties broken by the first index."""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, namespace, take_along, topk

_SCRATCH_SIZE = 2**17
_CHUNK_SIZE = 2**13
_local = threading.local()


def scratch(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Return an array with arbitrary content that is this thread's until its next call.

    Fresh arrays of this size come from the operating system page by page, which takes longer than
    the selection that they serve.
    """
    size = math.prod(shape)
    if size > _SCRATCH_SIZE:
        return np.empty(shape, dtype)
    if not hasattr(_local, "buffer"):
        _local.buffer = np.empty(_SCRATCH_SIZE)
    return _local.buffer.view(dtype)[:size].reshape(shape)


def in_chunks(answer: Callable[[Array], Array], rows: Array) -> Array:
    """Return ``answer(rows)``, a new array like ``rows``, computed on few rows at a time.

    The arrays that ``answer`` makes on its way then stay in the processor's cache, and in memory
    that the process already has.
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
    """Return the positions of the k largest entries of each row, in ascending position.

    Parameters
    ----------
    rows : array, shape (batch, n)
        Finite numbers.
    k : int
        Between 1 and n.
    key : ufunc
        Applied to the entries before they are compared: `numpy.absolute`, `numpy.negative`.

    Returns
    -------
    int array, shape (batch, k)
        Of equal entries the first ones are taken, on every machine: `numpy.argpartition` alone
        promises nothing about ties.
    """
    if type(rows) is not np.ndarray:  # which of equal entries is taken is up to the library
        return topk(-rows if key is np.negative else abs(rows) if key is np.absolute else rows, k)
    return largest_flat(rows, k, key) - first_positions(*rows.shape)


def largest_flat(rows: Array, k: int, key: np.ufunc = np.positive) -> Array:
    """Return what `largest` returns, as positions in the flattened rows."""
    batch, n = rows.shape
    # a row of independent entries has `few` above the level, and less than k once in 10^4 rows
    few = k + 4 * math.isqrt(k) + 4
    flat = _above_common_level(rows, k, few, key) if batch >= 8 and n >= 16 * few else None
    if flat is None:
        flat = _largest_each(key(rows, out=scratch(rows.shape)), k)
    return flat.reshape(batch, k)


def _largest_each(values: Array, k: int) -> Array:
    """Return the flat positions of the k largest entries of each row, row after row."""
    batch, n = values.shape
    # short rows are sorted in less time than selection takes to begin
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


def _above_common_level(rows: Array, k: int, few: int, key: np.ufunc) -> Array | None:
    """Return what `_largest_each` returns, by a level that at least k entries of each row reach.

    The directions of a round are one vector, perturbed, so that a level at which four of the rows
    have ``few`` entries each leaves few of every row. One comparison with one number runs at the
    speed of memory, and what remains is small. None if a row has less than k or too many left.
    """
    batch, n = rows.shape
    sample = key(rows[:: batch // 4]).reshape(-1)
    place = sample.shape[0] - few * (sample.shape[0] // n)
    sample.partition(place)
    level = sample[place]
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
    width = int(counts.max())
    if width > 4 * few or int(counts.min()) < k:
        return None
    columns = np.arange(width)
    positions = flat.take(first + columns, mode="clip")
    left = key(rows.take(positions))
    left[columns >= counts] = -np.inf
    return positions.take(_largest_each(left, k))


def ranked(values: Array, k: int, key: np.ufunc = np.positive) -> Array:
    """Return the positions of the k largest entries of a vector, the largest first."""
    chosen = largest(values[None], k, key)[0]
    return chosen[np.argsort(-key(values[chosen]), kind="stable")]


def ordering(rows: Array) -> Array:
    """Return the stable order of each row, ascending; stability is paid for only if rows tie."""
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


def as_count(k: Any, name: str = "k") -> int:
    """Return ``k`` as an integer; raise unless it is at least 1."""
    try:
        count = operator.index(k)
    except TypeError:
        raise TypeError(f"{name} must be a positive integer, found {k!r}") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, found {k!r}")
    return count
