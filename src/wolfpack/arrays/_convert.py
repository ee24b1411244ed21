"""Conversion and validation of what users hand in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ._ops import all_finite
from ._place import is_foreign, library, namespace, to_host
from ._types import Array


class ArgumentError(TypeError, ValueError):
    """An argument that cannot be used: of another type, or out of range.

    Whoever catches `TypeError` or `ValueError` catches it.
    """


def as_float_array(value: Array, name: str) -> Array:
    """Return ``value`` as an array of float32 or float64; other real numbers become float64.

    Arrays of other libraries pass through unchanged when they are floating point. Raises
    `ArgumentError` with the argument's name for anything that is not a real number array, and for
    what would lose something by the conversion: masked entries, and numbers longer than float64.
    """
    if type(value) is np.ndarray:
        array = value
    elif is_foreign(value):
        if not namespace(value).isdtype(value.dtype, "real floating"):
            raise ArgumentError(f"{name} must be a real floating-point array, found {value.dtype}")
        # PyTorch would remember how numbers were computed from data that want gradients
        return value.detach() if library(value) == "torch" and value.requires_grad else value
    else:
        array = as_plain(value, name)
    kind = array.dtype.kind
    if kind in "iub":
        return array.astype(np.float64)
    if kind != "f":
        raise ArgumentError(
            f"{name} must be an array of real numbers, found {_FOUND.get(kind, 'something else')} "
            f"(dtype {array.dtype})"
        )
    if array.dtype.itemsize > 8:
        raise ArgumentError(
            f"{name} must be an array of float64 or float32, found {array.dtype}, which would lose "
            f"digits: convert it with {name}.astype(float)"
        )
    if array.dtype.itemsize < 4 or not array.dtype.isnative:
        return array.astype(np.float32 if array.dtype.itemsize == 4 else np.float64)
    return plain_type(array)


def plain_type(array: np.ndarray) -> np.ndarray:
    """Return an array of doubles whose type is NumPy's own object for it.

    Unpickled arrays have an equal type that is another object. What asks for the identity of types
    (`inner`) would add their entries up in another order, and give other bits in a worker process.
    """
    foreign = array.dtype is not _DOUBLE and array.dtype == _DOUBLE
    return array.view(_DOUBLE) if foreign else array


_DOUBLE = np.dtype(np.float64)
_FOUND = {
    "c": "complex numbers",
    "O": "Python objects",
    "U": "words",
    "S": "bytes",
    "M": "dates",
    "m": "spans of time",
    "V": "records",
}


def as_plain(value: object, name: str) -> np.ndarray:
    """Return a user's array, list or number as a plain array of NumPy, of any type."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            masked = int(np.ma.count_masked(value))
            raise ArgumentError(
                f"{name} must be an array without masked entries, found {masked} of {value.size}: "
                f"fill them first, for example with {name}.filled(0.0)"
            )
        return value.data
    if issparse(value):
        raise ArgumentError(
            f"{name} must be a dense array of real numbers, found a sparse one: convert it with "
            f"{name}.toarray()"
        )
    try:
        return np.asarray(value)
    except Exception as error:  # of lists of any depth, and of objects' own ``__array__``
        text = " ".join(str(error).split())[:200]
        raise ArgumentError(
            f"{name} must be an array of numbers, found a {type(value).__name__}: {text}"
        ) from None


def own(array: Array, given: object) -> Array:
    """Return ``array``, copied if it shares writable memory with what the user gave.

    Read-only arrays, files mapped to memory and arrays of other libraries are used as they are.
    """
    if not (isinstance(array, np.ndarray) and array.flags.writeable):
        return array
    if not (isinstance(given, np.ndarray) and np.may_share_memory(array, given)):
        return array
    root: object = array
    while isinstance(root, np.ndarray):
        if isinstance(root, np.memmap):
            return array
        root = root.base
    return array.copy(order="K")


def same_type(values: Array, x: Array) -> Array:
    """Return ``values`` with the type of the entries of ``x``, where both are NumPy's."""
    if type(values) is not np.ndarray or values.dtype == x.dtype or type(x) is not np.ndarray:
        return values
    return values.astype(x.dtype)


def as_type(x: Array, dtype: Any) -> Array:
    """Return ``x`` with entries of a type of its library, itself if they are."""
    if x.dtype == dtype:
        return x
    return x.astype(dtype) if type(x) is np.ndarray else namespace(x).astype(x, dtype)


def spare(x: Array) -> Array:
    """Return a copy of ``x`` that may be written to; x itself where its library forbids that."""
    if type(x) is np.ndarray:
        return x.copy("K")
    kind = library(x)
    return x.clone() if kind == "torch" else x.copy() if kind == "cupy" else x


def read_only(x: Array) -> Array:
    """Return a view of a NumPy array that cannot be written to; a copy, where there are none."""
    if type(x) is not np.ndarray:
        return spare(x)
    view = x.view()
    view.flags.writeable = False
    return view


def check_finite(array: Array, name: str) -> Array:
    """Return ``array``; raise `ArgumentError` with the number of NaN or infinite entries if any."""
    if not all_finite(array):
        host = to_host(namespace(array).isfinite(array))
        bad = host.size - int(host.sum())
        raise ArgumentError(f"{name} has {bad} NaN or infinite entries of {host.size}")
    return array


MAX_SIZE = 1e151
"""Numbers beyond it are refused as data: a float cannot hold their squares, summed."""


def check_size(array: Array, name: str) -> Array:
    """Return ``array``; raise `ArgumentError` if squares of its entries would overflow."""
    if "float64" not in str(array.dtype) or 0 in array.shape:
        return array  # other types have no numbers of that size
    space = namespace(array)
    largest = float(space.max(space.abs(array)))
    if largest > MAX_SIZE:
        raise ArgumentError(
            f"{name} must have entries of at most {MAX_SIZE:g} in size, whose squares a float can "
            f"hold, found {largest:.3g}: measure {name} in a larger unit"
        )
    return array


def check_shape(array: Array, shape: tuple[int, ...], name: str) -> Array:
    """Return ``array``; raise `ArgumentError` that names both shapes if they differ."""
    if tuple(array.shape) != tuple(shape):
        raise ArgumentError(f"{name} must have shape {tuple(shape)}, found {tuple(array.shape)}")
    return array
