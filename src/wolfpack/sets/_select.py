"""The k smallest entries of vectors, ties broken by the first index."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

Array = Any


def smallest(values: Array, k: int) -> Array:
    """Return the positions of the k smallest entries of each row, in ascending position.

    Parameters
    ----------
    values : array, shape ([batch,] n)
        Finite numbers.
    k : int
        Between 1 and n.

    Returns
    -------
    int array, shape ([batch,] k)
        Of equal entries the first ones are taken, on every machine: `numpy.argpartition` alone
        promises nothing about ties.
    """
    n = values.shape[-1]
    if k == n:
        return np.broadcast_to(np.arange(n), values.shape)
    threshold = np.partition(values, k - 1, axis=-1)[..., k - 1 : k]
    chosen = values <= threshold
    if np.count_nonzero(chosen) > k * (values.size // n):
        tied = values == threshold
        missing = k - np.count_nonzero(values < threshold, axis=-1, keepdims=True)
        chosen &= ~tied | (np.cumsum(tied, axis=-1) <= missing)
    return np.nonzero(chosen)[-1].reshape(*values.shape[:-1], k)


def ranked(values: Array, k: int) -> Array:
    """Return the positions of the k smallest entries of a vector, the smallest first."""
    chosen = smallest(values, k)
    return chosen[np.argsort(values[chosen], kind="stable")]


def as_count(k: Any, name: str = "k") -> int:
    """Return ``k`` as an integer; raise unless it is at least 1."""
    try:
        count = operator.index(k)
    except TypeError:
        raise TypeError(f"{name} must be a positive integer, found {k!r}") from None
    if count < 1:
        raise ValueError(f"{name} must be at least 1, found {k!r}")
    return count
