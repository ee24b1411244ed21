"""Few, fast operations that solvers need besides operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special
from scipy.linalg.blas import daxpy

from ._gather import reshape, wide_dtype
from ._place import library, like, namespace, to_host
from ._structured import Structured
from ._types import Array

_DOUBLE = np.dtype(np.float64)

_CHUNK = 1024
_LONG = 1024  # entries from which one call of BLAS is faster than two operators
_WIDE = 10_000


def inner(a: Array, b: Array) -> float:
    """Return the Euclidean (Frobenius) inner product <a, b> as a float.

    float32 arrays are summed in float64 where the library has it: certificates are differences of
    such numbers.
    """
    if type(a) is np.ndarray and type(b) is np.ndarray:
        if a.dtype is _DOUBLE is b.dtype:
            return float(np.vdot(a, b))
        return float(np.multiply(a, b, dtype=np.float64).sum())
    if isinstance(a, Structured):
        return a.inner(b)
    if isinstance(b, Structured):
        return b.inner(a)
    return inners((a, b))[0]


def add_scaled(a: Array, t: float, b: Array) -> Array:
    """Return a + t b, in the place of ``a`` where that is faster: use ``a`` no more."""
    if type(a) is np.ndarray is type(b) and a.ndim == 1 and a.size >= _LONG:
        return daxpy(b, a, a=t) if a.dtype is _DOUBLE is b.dtype else a + t * b
    return a + t * b


def inners(*pairs: tuple[Array, Array]) -> list[float]:
    """Return several inner products; from another device they come in one transfer."""
    a = pairs[0][0]
    if type(a) is np.ndarray or isinstance(a, Structured) or isinstance(pairs[0][1], Structured):
        return [inner(a, b) for a, b in pairs]
    return fetch(*(device_inner(a, b) for a, b in pairs))


def device_inner(a: Array, b: Array) -> Array:
    """Return <a, b> where the arrays are, as one number or a few that add up to it.

    Libraries without float64 give one sum per some entries, to be added in double precision.
    """
    return device_sum(a * b)


def device_sum(a: Array) -> Array:
    """Return the sum of all entries where they are, as one number or a few that add up to it."""
    space = namespace(a)
    wide = wide_dtype(a)
    if wide == space.float64:
        return space.sum(a, dtype=wide)
    flat = reshape(a, (-1,))
    rest = -flat.shape[0] % _CHUNK
    if flat.shape[0] <= _CHUNK:
        return space.sum(flat)
    padded = space.concat([flat, space.zeros(rest, dtype=flat.dtype)]) if rest else flat
    return space.sum(reshape(padded, (-1, _CHUNK)), axis=1)


def lazy_inner(a: Array, b: Array) -> Any:
    """Return <a, b> as a float where that costs no transfer, else as `device_inner` does."""
    if type(a) is np.ndarray or isinstance(a, Structured) or isinstance(b, Structured):
        return inner(a, b)
    return device_inner(a, b)


def fetch(*numbers: Any) -> list[float]:
    """Return numbers from their device as floats, in one transfer.

    Each is a number, an array of shape (), or a vector of parts of a sum.
    """
    arrays = [x for x in numbers if not isinstance(x, float | int)]
    if not arrays:
        return [float(x) for x in numbers]
    if len(numbers) == 1 and numbers[0].ndim == 0:
        return [float(numbers[0])]
    space = namespace(arrays[0])
    if all(x.ndim == 0 for x in arrays):
        wide = [
            x if x.dtype == arrays[0].dtype else space.astype(x, arrays[0].dtype) for x in arrays
        ]
        found = iter(to_host(space.stack(wide)).tolist())
    else:
        found = iter([math.fsum(np.ravel(to_host(x)).tolist()) for x in arrays])
    return [float(x) if isinstance(x, float | int) else next(found) for x in numbers]


def matmul(A: Array, x: Array) -> Array:
    """Return A @ x; for small NumPy matrices, `dot` spares a quarter of the time."""
    if type(A) is np.ndarray:
        return A.dot(x)
    if library(A) == "torch" and A.is_cuda and x.ndim == 1 and A.shape[1] > _WIDE:
        return _wide_product(A, x)
    return A @ x


def _wide_product(A: Array, x: Array) -> Array:
    """Return A @ x for a matrix with long rows, in pieces that cuBLAS reads at full speed."""
    n, d = A.shape
    pieces = next((k for k in range(2, 65) if d % k == 0 and d // k <= _WIDE), 0)
    if not pieces or not A.is_contiguous():
        return A @ x
    blocks = A.view(n, pieces, d // pieces).transpose(0, 1)
    return (blocks @ x.view(pieces, -1, 1)).sum(0).squeeze(1)


def minus_scaled(v: Array, t: float, delta: Array) -> Array:
    """Return v - t delta, with as few kernels as the library allows."""
    return v.sub(delta, alpha=t) if library(v) == "torch" else v - t * delta


def mix(a: Array, b: Array, t: float) -> Array:
    """Return (1 - t) a + t b, with as few kernels as the library allows."""
    if type(a) is np.ndarray or isinstance(a, float) or library(a) != "torch":
        return (1 - t) * a + t * b
    return a.lerp(b, t)


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
    if type(a) is np.ndarray and a.dtype is not _DOUBLE:  # <a, a> would first be made double
        return bool(np.isfinite(a).all())
    if math.isfinite(inner(a, a)):
        return True
    space = namespace(a)
    return bool(space.all(space.isfinite(a)))


def softmax(a: Array) -> Array:
    """Return exp(a) scaled to sum to 1 over all entries."""
    if library(a) == "torch":  # one kernel
        return reshape(reshape(a, (-1,)).softmax(0), tuple(a.shape))
    space = namespace(a)
    e = space.exp(a - space.max(a))
    return e / space.sum(e)


def logsumexp(a: Array) -> Array:
    """Return log(sum(exp(a))) over all entries, where the array is."""
    if library(a) == "torch":
        return reshape(a, (-1,)).logsumexp(0)
    space = namespace(a)
    largest = space.max(a)
    return largest + space.log(space.sum(space.exp(a - largest)))


def normal_cdf(z: Array) -> Array:
    """Return the distribution function of the standard normal law, entry by entry."""
    kind = library(z)
    if kind == "torch":
        return z.div(math.sqrt(2.0)).neg().erfc().mul(0.5)
    if kind == "jax":
        from jax.scipy.special import ndtr

        return ndtr(z)
    if kind == "cupy":
        from cupyx.scipy.special import ndtr

        return ndtr(z)
    return like(special.ndtr(to_host(z)), z)


def epsilon(a: Array) -> float:
    """Return the machine precision of ``a``'s floating-point type."""
    if type(a) is np.ndarray or isinstance(a, Structured):
        return float(np.finfo(a.dtype).eps)
    return float(namespace(a).finfo(a.dtype).eps)
