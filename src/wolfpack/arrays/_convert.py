"""Conversion and validation of what users hand in."""

from __future__ import annotations

import numpy as np

from ._ops import all_finite
from ._place import is_foreign, library, namespace, to_host
from ._types import Array


def as_float_array(value: Array, name: str) -> Array:
    """Return ``value`` as an array of float32 or float64; other real numbers become float64.

    Arrays of other libraries pass through unchanged when they are floating point. Raises
    `TypeError` with the argument's name for anything that is not a real number array.
    """
    if is_foreign(value):
        if not namespace(value).isdtype(value.dtype, "real floating"):
            raise TypeError(f"{name} must be a real floating-point array, found {value.dtype}")
        # PyTorch would remember how numbers were computed from data that want gradients
        return value.detach() if library(value) == "torch" and value.requires_grad else value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise TypeError(f"{name} must be an array of numbers: {error}") from None
    if array.dtype.kind in "iub":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must be an array of real numbers, found dtype {array.dtype}")
    return array if array.dtype.itemsize in (4, 8) else array.astype(np.float64)


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
    """Return ``array``; raise `ValueError` with the number of NaN or infinite entries if any."""
    if not all_finite(array):
        host = to_host(namespace(array).isfinite(array))
        bad = host.size - int(host.sum())
        raise ValueError(f"{name} has {bad} NaN or infinite entries of {host.size}")
    return array


def check_shape(array: Array, shape: tuple[int, ...], name: str) -> Array:
    """Return ``array``; raise `ValueError` that names both shapes if they differ."""
    if tuple(array.shape) != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, found {tuple(array.shape)}")
    return array
