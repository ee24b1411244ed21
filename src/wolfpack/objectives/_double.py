"""Objectives of single-precision data once more in double precision, for their certificates."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, is_foreign, namespace, sums_are_wide, to_host
from ._matrix import as_matrix, entries, has_rows

T = TypeVar("T")

_HOST_ENTRIES = 2**23
_DEVICE_ENTRIES = 2**31
"""Entries of the largest matrix that is copied in double precision, 64 MB and 16 GB."""


def as_double(a: Array) -> Array:
    """Return an array in double precision, on the host if its library has no such numbers."""
    if not (is_foreign(a) and sums_are_wide(a)):
        return np.asarray(to_host(a), dtype=np.float64)
    xp = namespace(a)
    return xp.astype(a, xp.float64)


def double_twin(objective: T, matrices: tuple[str, ...]) -> T | None:
    """Return a copy of an objective whose arrays are in double precision.

    ``matrices`` names its matrix, and that matrix's transpose if there is one. None is returned
    where the data are in double precision, or cannot be, or are too large to be copied, and where
    the matrix is known by its products only.
    """
    matrix: Any = getattr(objective, matrices[0])
    if not has_rows(matrix):
        return None
    array: Any = matrix if issparse(matrix) else entries(matrix)
    size = array.nnz if issparse(array) else int(np.prod(array.shape))
    stays = is_foreign(array) and sums_are_wide(array)
    if not _is_single(array) or size > (_DEVICE_ENTRIES if stays else _HOST_ENTRIES):
        return None
    twin: Any = copy.copy(objective)
    for name, value in vars(objective).items():
        if name not in matrices and _is_single(value):
            setattr(twin, name, as_double(value))
    both = as_matrix(array.astype(np.float64) if issparse(array) else as_double(array), "A")
    for name, part in zip(matrices, both, strict=False):
        setattr(twin, name, part)
    twin.in_double = None
    return twin


def _is_single(value: Any) -> bool:
    """Tell whether a value is an array of single precision."""
    if isinstance(value, np.ndarray) or issparse(value):
        return value.dtype == np.float32
    return is_foreign(value) and "float32" in str(value.dtype)
