"""The structure of sparse matrices, checked before compiled code relies on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._ops import fetch
from ._place import is_foreign
from ._types import Array


def check_sparse(A: Any, name: str) -> None:
    """Raise `ValueError` if the indices of a sparse matrix of SciPy or PyTorch are inconsistent.

    Compiled products and conversions trust the indices: one that is out of range makes them read
    or write foreign memory, which ends the process. The check reads the indices and not the
    entries, and takes about as long as two products with a vector.
    """
    kind = str(A.layout).rpartition("_")[2] if is_foreign(A) else A.format
    if len(A.shape) != 2:
        raise ValueError(f"{name} must be a matrix, found shape {tuple(A.shape)}")
    n, d = (int(size) for size in A.shape)
    if not (n and d):
        raise ValueError(f"{name} must not be empty, found shape {tuple(A.shape)}")
    if kind in ("csr", "bsr", "csc", "bsc"):
        by_rows = kind in ("csr", "bsr")
        indptr, indices, data = _compressed(A, by_rows)
        height, width = data.shape[1:] if kind in ("bsr", "bsc") else (1, 1)
        lines, entries = (n // height, d // width) if by_rows else (d // width, n // height)
        words = ("row", "column") if by_rows else ("column", "row")
        _check_pointers(indptr, indices, lines, name)
        _check_range(indices, entries, f"{words[1]} index", name)
        lengths = len(indices), len(data)
    elif kind == "coo":
        ends = A._indices() if is_foreign(A) else A.coords
        for numbers, size, word in zip(ends, (n, d), ("row", "column"), strict=True):
            _check_range(numbers, size, f"{word} index", name)
        data = A._values() if is_foreign(A) else A.data
        lengths = len(ends[0]), len(data)
    elif kind == "dia":
        lengths = len(A.offsets), len(A.data)
    else:  # lists and dictionaries of Python, which are checked once they are converted
        check_sparse(A.tocsr(), name)
        return
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"{name} is a damaged sparse matrix: it has {lengths[0]} indices and {lengths[1]} "
            "entries"
        )


def _compressed(A: Any, by_rows: bool) -> tuple[Array, Array, Array]:
    if not is_foreign(A):
        return A.indptr, A.indices, A.data
    if by_rows:
        return A.crow_indices(), A.col_indices(), A.values()
    return A.ccol_indices(), A.row_indices(), A.values()


def _check_pointers(indptr: Array, indices: Array, lines: int, name: str) -> None:
    """Check where rows (or columns) begin and end in ``indices``."""
    if tuple(indptr.shape) != (lines + 1,):
        raise ValueError(
            f"{name} is a damaged sparse matrix: {lines + 1} pointers were expected, found shape "
            f"{tuple(indptr.shape)}"
        )
    first, last, step = fetch(indptr[0], indptr[-1], (indptr[1:] - indptr[:-1]).min())
    if first != 0 or last > len(indices) or step < 0:
        raise ValueError(
            f"{name} is a damaged sparse matrix: its pointers must rise from 0 to at most "
            f"{len(indices)}, found {int(first)} to {int(last)} with a smallest step of {int(step)}"
        )


def _check_range(numbers: Array, size: int, what: str, name: str) -> None:
    if not is_foreign(numbers) and np.asarray(numbers).dtype.kind not in "iu":
        raise ValueError(f"{name} is a damaged sparse matrix: each {what} must be an integer")
    if len(numbers) == 0:
        return
    low, high = fetch(numbers.min(), numbers.max())
    if low < 0 or high >= size:
        found = int(low if low < 0 else high)
        raise ValueError(
            f"{name} is a damaged sparse matrix: it has the {what} {found}, and {size} of them "
            f"are numbered from 0"
        )
