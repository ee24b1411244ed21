"""Few, fast operations that solvers need besides operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from ._structured import Structured

Array = Any


def namespace(*arrays: Array) -> Any:
    """Return the Array API namespace that the arrays share (``numpy`` for NumPy arrays)."""
    if all(type(a) is np.ndarray for a in arrays):
        return np
    return array_namespace(*arrays)


def inner(a: Array, b: Array) -> float:
    """Return the Euclidean (Frobenius) inner product <a, b> as a float.

    float32 arrays are multiplied and summed in float64: certificates are differences of such
    numbers.
    """
    if type(a) is np.ndarray and type(b) is np.ndarray:
        if a.dtype == np.float64 == b.dtype:
            return float(np.vdot(a, b))
        return float(np.multiply(a, b, dtype=np.float64).sum())
    if isinstance(a, Structured):
        return a.inner(b)
    if isinstance(b, Structured):
        return b.inner(a)
    return float(namespace(a, b).sum(a * b))


def norm(a: Array) -> float:
    """Return the Euclidean (Frobenius) norm of ``a`` as a float."""
    return math.sqrt(inner(a, a))


def all_finite(a: Array) -> bool:
    """Tell whether every entry is finite, with one cheap reduction in the usual case.

    <a, a> is finite only if no entry is NaN or infinite; it may overflow although all entries are
    finite, and only then are the entries looked at one by one.
    """
    if isinstance(a, Structured):
        return a.finite()
    if math.isfinite(inner(a, a)):
        return True
    xp = namespace(a)
    return bool(xp.all(xp.isfinite(a)))


def softmax(a: Array) -> Array:
    """Return exp(a) scaled to sum to 1 over all entries."""
    xp = namespace(a)
    e = xp.exp(a - xp.max(a))
    return e / xp.sum(e)


def epsilon(a: Array) -> float:
    """Return the machine precision of ``a``'s floating-point type."""
    if type(a) is np.ndarray or isinstance(a, Structured):
        return float(np.finfo(a.dtype).eps)
    return float(namespace(a).finfo(a.dtype).eps)
