"""Readers of binary arrays."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from ..arrays import Array, check_sparse
from .words import ProblemError, among

Check = Callable[[int], None]
_SPARSE_FORMATS = ("csr", "csc", "coo", "bsr", "dia")


def read_npy(path: Path, check: Check) -> Array:
    """Return the array of an npy file."""
    with path.open("rb") as file:
        expected = _announced(file, check)
        left = path.stat().st_size - file.tell()
        if left < expected:
            raise ProblemError(f"{path.name!r} is truncated: {left} bytes of {expected} are there")
        file.seek(0)
        return npy.read_array(file, allow_pickle=False)


def read_npz(path: Path, check: Check, key: str | None = None) -> Array:
    """Return an array of an npz file, or the sparse matrix that it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            total = 0
            for name in members.values():
                with archive.open(name) as file:
                    total += _announced(file, check)
            if key is None and {"format", "shape", "data"} <= members.keys():
                check(total)
                return _read_sparse(path, check)
            with archive.open(members[_only(members, key)]) as file:
                return npy.read_array(file, allow_pickle=False)
    except ProblemError:
        raise
    except Exception as error:  # a damaged archive fails in ways that its reader does not list
        raise ProblemError(f"{path.name!r} is not a readable npz archive: {error}") from None


def npz_names(path: Path) -> list[str]:
    """Return the names of the arrays in an npz file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise ProblemError(f"{path.name!r} is not a readable npz archive: {error}") from None


def _announced(file: IO[bytes], check: Check) -> int:
    """Return how many bytes the array in ``file`` says it has, without reading it."""
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:
        raise ProblemError(f"has arrays of npy version {version}, which cannot hold plain numbers")
    if dtype.hasobject:
        raise ProblemError("holds Python objects, which are never read (they can run code)")
    size = math.prod(shape) * dtype.itemsize
    check(size)
    return size


def _only(members: dict[str, str], key: str | None) -> str:
    if key is not None and key not in members:
        raise ProblemError(f"has no array {key!r}; {among(key, members)}")
    if key is None and len(members) != 1:
        raise ProblemError(
            f"holds {len(members)} arrays; choose one with key: {', '.join(members) or 'none'}"
        )
    return key if key is not None else next(iter(members))


def _read_sparse(path: Path, check: Check) -> Array:
    with np.load(path, allow_pickle=False) as parts:
        kind = parts["format"].item()
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if kind not in _SPARSE_FORMATS:
            raise ProblemError(f"is sparse of format {kind!r}; {among(kind, _SPARSE_FORMATS)}")
        # conversions take memory for every row and column, whatever is stored in them
        check(16 * sum(int(n) for n in np.ravel(parts["shape"])))
    try:
        matrix = sparse.load_npz(path)
        check_sparse(matrix, repr(path.name))
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise ProblemError(f"{path.name!r} is a damaged sparse matrix: {error}") from None
    return sparse.csr_array(matrix)
