"""The functions of one variable that losses are made of, for arrays of any library.

NumPy arrays go to NumPy's and SciPy's own; other libraries need no more than the Array API standard
has.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ._place import full, namespace
from ._types import Array


def clip(a: Array, low: float | None, high: float | None) -> Array:
    """Return the entries of ``a``, moved into [low, high]; None is no bound."""
    if type(a) is not np.ndarray:
        return namespace(a).clip(a, low, high)
    a = a if low is None else np.maximum(a, low)  # two ufuncs start faster than np.clip
    return a if high is None else np.minimum(a, high)


def choose(condition: Array, yes: float, no: float, x: Array) -> Array:
    """Return one of two numbers for each entry of a condition, of ``x``'s library and type.

    NumPy's own are in double precision, whatever the type of ``x``.
    """
    if type(condition) is np.ndarray:
        return np.where(condition, yes, no)
    return namespace(condition).where(condition, full((), yes, x), full((), no, x))


def softplus(a: Array) -> Array:
    """Return log(1 + e^a), without overflow."""
    if type(a) is np.ndarray:
        return np.logaddexp(0.0, a)
    xp = namespace(a)
    return xp.clip(a, 0.0, None) + xp.log1p(xp.exp(-xp.abs(a)))


def expit(a: Array) -> Array:
    """Return 1 / (1 + e^-a), with a small relative error on both sides."""
    if type(a) is np.ndarray:
        return special.expit(a)
    xp = namespace(a)
    e = xp.exp(-xp.abs(a))
    return xp.where(a >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


def xlogy(a: Array, b: Array) -> Array:
    """Return a log b, and 0 where a is 0."""
    if type(a) is np.ndarray:
        return special.xlogy(a, b)
    xp = namespace(a, b)
    zero = a == 0
    return xp.where(zero, xp.zeros_like(a), a * xp.log(xp.where(zero, xp.ones_like(a), b)))


def log_sum_exp(a: Array) -> Array:
    """Return log sum exp of each row of a matrix, as a column."""
    if type(a) is np.ndarray:
        return special.logsumexp(a, axis=1, keepdims=True)
    xp = namespace(a)
    top = xp.max(a, axis=1, keepdims=True)
    return top + xp.log(xp.sum(xp.exp(a - top), axis=1, keepdims=True))
