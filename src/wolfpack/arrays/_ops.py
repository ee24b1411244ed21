"""Fast operations besides operators: products, sums, norms, functions of one variable.

NumPy arrays go to NumPy's and SciPy's own functions. Other libraries need little more than the
Array API standard.
"""

from __future__ import annotations

import math
from importlib import import_module

import numpy as np
from scipy import special
from scipy.linalg.blas import daxpy, ddot, dscal

from ._gather import reshape, sum_last, wide_dtype
from ._place import full, library, like, namespace, to_host
from ._structured_base import Structured
from ._types import Array

_DOUBLE = np.dtype(np.float64)
_EPSILON = float(np.finfo(np.float64).eps)

_CHUNK = 1024  # entries whose sum is taken in single precision, where there is no other
_PIECE = 2**14  # entries of a vector that stay in the processor's cache between two operators
_BLAS_ENTRIES = 1024  # entries from which one call of BLAS is faster than two operators
_SHORT = 2**13  # entries of a vector up to which BLAS is called directly: NumPy's way takes longer
_NDTR_MODULES = {"jax": "jax.scipy.special", "cupy": "cupyx.scipy.special"}
_MAX_ROW = 10_000  # entries of a row up to which cuBLAS multiplies at full speed


def inner(a: Array, b: Array) -> float:
    """Return the Euclidean (Frobenius) inner product <a, b> as a float.

    float32 arrays are summed in float64 where the library has it: certificates are differences of
    such numbers.
    """
    if type(a) is np.ndarray and type(b) is np.ndarray:
        if a.dtype is _DOUBLE is b.dtype:
            shape = a.shape
            if len(shape) == 1 and shape == b.shape and 0 < shape[0] <= _SHORT:
                return ddot(a, b)
            return float(np.vdot(a, b))  # which, unlike `dot`, does not warn of infinite entries
        return float(np.multiply(a, b, dtype=np.float64).sum())
    if isinstance(a, Structured):
        return a.inner(b)
    if isinstance(b, Structured):
        return b.inner(a)
    return inners((a, b))[0]


def add_scaled(a: Array, t: float, b: Array) -> Array:
    """Return a + t b, in the place of ``a`` where that is faster: use ``a`` no more."""
    if type(a) is np.ndarray is type(b) and a.ndim == 1 and a.size >= _BLAS_ENTRIES:
        return daxpy(b, a, a=t) if a.dtype is _DOUBLE is b.dtype else a + t * b
    return a + t * b


def inners(*pairs: tuple[Array, Array]) -> list[float]:
    """Return several inner products; from another device they come in one transfer."""
    a = pairs[0][0]
    if type(a) is np.ndarray or isinstance(a, Structured) or isinstance(pairs[0][1], Structured):
        return [inner(a, b) for a, b in pairs]
    return fetch(*(device_sum(a * b) for a, b in pairs))


def device_sum(a: Array) -> Array:
    """Return the sum of all entries where they are, as one number or a few that add up to it.

    Libraries without float64 give one sum per `_CHUNK` entries, to be added in double precision.
    """
    space, wide = namespace(a), wide_dtype(a)
    if wide == space.float64:
        return space.sum(a, dtype=wide)
    flat = reshape(a, (-1,))
    rest = -flat.shape[0] % _CHUNK
    if flat.shape[0] <= _CHUNK:
        return space.sum(flat)
    padded = space.concat([flat, space.zeros(rest, dtype=flat.dtype)]) if rest else flat
    return space.sum(reshape(padded, (-1, _CHUNK)), axis=1)


def lazy_inner(a: Array, b: Array) -> Array:
    """Return <a, b> as a float where that costs no transfer, else as `device_sum` does."""
    if type(a) is np.ndarray or isinstance(a, Structured) or isinstance(b, Structured):
        return inner(a, b)
    return device_sum(a * b)


def fetch(*numbers: Array) -> list[float]:
    """Return numbers from their device as floats, in one transfer.

    Each is a number, an array of shape (), or a vector of parts of a sum.
    """
    arrays = [x for x in numbers if not isinstance(x, float | int | np.generic)]
    if not arrays:
        return [float(x) for x in numbers]
    if len(numbers) == 1 and numbers[0].ndim == 0:
        return [float(numbers[0])]
    space, dtype = namespace(arrays[0]), arrays[0].dtype
    if all(x.ndim == 0 for x in arrays):
        alike = [x if x.dtype == dtype else space.astype(x, dtype) for x in arrays]
        found = iter(to_host(space.stack(alike)).tolist())
    else:
        found = iter([math.fsum(np.ravel(to_host(x)).tolist()) for x in arrays])
    return [float(x) if isinstance(x, float | int | np.generic) else next(found) for x in numbers]


def matmul(A: Array, x: Array) -> Array:
    """Return A @ x; for small NumPy matrices, `dot` spares a quarter of the time."""
    if type(A) is np.ndarray:
        return A.dot(x)
    if library(A) == "torch" and A.is_cuda and x.ndim == 1 and A.shape[1] > _MAX_ROW:
        return _wide_product(A, x)
    return A @ x


def _wide_product(A: Array, x: Array) -> Array:
    """Return A @ x for a matrix with long rows, in pieces that cuBLAS reads at full speed."""
    n, d = A.shape
    pieces = next((k for k in range(2, 65) if d % k == 0 and d // k <= _MAX_ROW), 0)
    if not pieces or not A.is_contiguous():
        return A @ x
    blocks = A.view(n, pieces, d // pieces).transpose(0, 1)
    return (blocks @ x.view(pieces, -1, 1)).sum(0).squeeze(1)


def minus_scaled(v: Array, t: float, delta: Array) -> Array:
    """Return v - t delta, with as few kernels as the library allows."""
    return v.sub(delta, alpha=t) if library(v) == "torch" else v - t * delta


def scaled(x: Array, t: float) -> Array:
    """Return t x as a new array; NumPy's is in the order of C."""
    if type(x) is not np.ndarray:
        return t * x
    if x.dtype is _DOUBLE and x.ndim == 1 and 0 < x.size <= _SHORT:
        return dscal(t, x.copy())
    return np.multiply(t, x, order="C")


def mix(a: Array, b: Array, t: float) -> Array:
    """Return (1 - t) a + t b, with as few kernels as the library allows."""
    if type(a) is np.ndarray is type(b) and a.dtype == b.dtype and a.shape == b.shape:
        if a.dtype is _DOUBLE and a.ndim == 1 and 0 < a.size <= _SHORT:
            return daxpy(b, dscal(1.0 - t, a.copy()), a=t)
        return _add_multiple((1 - t) * a, t, b)
    if type(a) is np.ndarray or isinstance(a, float) or library(a) != "torch":
        return (1 - t) * a + t * b
    return a.lerp(b, t)


def _add_multiple(out: np.ndarray, t: float, b: np.ndarray) -> np.ndarray:
    """Add t b to ``out`` in its place, piece by piece: no array of the size of b is made."""
    if out.ndim != 1 or out.size <= _PIECE:
        out += t * b
        return out
    for start in range(0, out.size, _PIECE):
        out[start : start + _PIECE] += t * b[start : start + _PIECE]
    return out


def norm(a: Array) -> float:
    """Return the Euclidean (Frobenius) norm of ``a`` as a float."""
    return math.sqrt(inner(a, a))


def row_norms(a: Array) -> Array:
    """Return the Euclidean norm of each row of a matrix."""
    return namespace(a).sqrt(sum_last(a * a, 1))


def scaled_norm(a: Array) -> float:
    """Return the norm of NumPy's ``a``, also where squares of its entries are no normal floats."""
    top = float(abs(a).max(initial=0.0))
    return top * norm(a / top) if 0.0 < top < 1e-100 else norm(a)


def all_finite(a: Array) -> bool:
    """Tell whether every entry is finite, with one cheap reduction in the usual case.

    <a, a> is finite only if no entry is NaN or infinite; it may overflow although all entries are
    finite, and only then are the entries looked at one by one.
    """
    if type(a) is np.ndarray:
        # <a, a> of another type would first be made double
        quick = a.dtype is _DOUBLE and math.isfinite(inner(a, a))
        return quick or bool(np.isfinite(a).all())
    if isinstance(a, Structured):
        return a.finite()
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
    if kind == "numpy":
        return special.ndtr(z)
    if kind == "torch":
        return z.div(math.sqrt(2.0)).neg().erfc().mul(0.5)
    if kind in _NDTR_MODULES:
        return import_module(_NDTR_MODULES[kind]).ndtr(z)
    return like(special.ndtr(to_host(z)), z)


def is_double(a: Array) -> bool:
    """Tell whether ``a`` is NumPy's array in double precision."""
    return type(a) is np.ndarray and a.dtype is _DOUBLE


def epsilon(a: Array) -> float:
    """Return the machine precision of ``a``'s floating-point type."""
    a = a.base if isinstance(a, Structured) else a
    if type(a) is np.ndarray:
        # np.finfo takes longer than all the arithmetic of a small bound
        return _EPSILON if a.dtype is _DOUBLE else float(np.finfo(a.dtype).eps)
    return float(namespace(a).finfo(a.dtype).eps)


def sums_are_wide(a: Array) -> bool:
    """Tell whether sums over ``a`` are taken in double precision."""
    return type(a) is np.ndarray or "64" in str(wide_dtype(a))


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
    space = namespace(a)
    return space.clip(a, 0.0, None) + space.log1p(space.exp(-space.abs(a)))


def expit(a: Array) -> Array:
    """Return 1 / (1 + e^-a), with a small relative error on both sides."""
    if type(a) is np.ndarray:
        return special.expit(a)
    space = namespace(a)
    e = space.exp(-space.abs(a))
    return space.where(a >= 0, 1.0 / (1.0 + e), e / (1.0 + e))


def xlogy(a: Array, b: Array) -> Array:
    """Return a log b, and 0 where a is 0."""
    if type(a) is np.ndarray:
        return special.xlogy(a, b)
    space = namespace(a)
    zero = a == 0
    return space.where(
        zero, space.zeros_like(a), a * space.log(space.where(zero, space.ones_like(a), b))
    )


def logsumexp_rows(a: Array) -> Array:
    """Return log sum exp of each row of a matrix, as a column."""
    if type(a) is np.ndarray:
        return special.logsumexp(a, axis=1, keepdims=True)
    space = namespace(a)
    top = space.max(a, axis=1, keepdims=True)
    return top + space.log(space.sum(space.exp(a - top), axis=1, keepdims=True))


def factorises(a: Array) -> bool:
    """Tell whether a symmetric matrix has a Cholesky factor."""
    if library(a) == "torch":
        import torch

        return int(torch.linalg.cholesky_ex(a).info) == 0
    space = namespace(a)
    try:
        factor = space.linalg.cholesky(a)
    except Exception as error:
        if type(error).__name__ != "LinAlgError":
            raise
        return False
    # JAX and CuPy answer NaN where others raise
    return bool(space.all(space.isfinite(factor)))


def dual_norm_squared(g: Array, norm: str) -> float:
    """Return ||g||_*^2, the squared dual norm: of "l2" it is l2, of "l1" l_inf."""
    if norm == "l2":
        return inner(g, g)
    g = to_host(g)
    top, p = float(abs(g).max()), norm_order(norm)
    if p == 1.0 or top == 0.0:
        return top**2
    return (top * float(((abs(g) / top) ** (p / (p - 1))).sum()) ** (1 - 1 / p)) ** 2


def norm_squared(y: Array, norm: str) -> float:
    """Return ||y||^2 in a norm by its name: "l2", "l1", or "l" with an exponent between."""
    if norm == "l2":
        return inner(y, y)
    p = norm_order(norm)
    return float((abs(to_host(y)) ** p).sum()) ** (2 / p)


def norm_order(norm: str) -> float:
    """Return the exponent p of a norm's name: 2 for "l2", 1.5 for "l1.5"."""
    return float(norm[1:])
