"""Blocks that lie in files: how they are read, and how a change of them is noticed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from ...readers import (
    ProblemError,
    npz_names,
    read_csv,
    read_matrix_market,
    read_npy,
    read_npz,
    read_parquet,
)
from ._part import Part

_SUFFIXES = (".npy", ".npz", ".mtx", ".csv", ".parquet")
_CHUNK = 2**24
_MATRICES = ("A", "features", "X")
_TARGETS = ("b", "labels", "targets", "counts", "y")
_ENTRIES = ("rows", "columns", "values")
_SPARSE = ("format", "shape", "data")
_CHECK_SECONDS = 1.0  # a file is not looked at more often than this


class Stamp(NamedTuple):
    """What a file was when the objective was made: its size, and its time or its contents."""

    size: int
    modified: int = 0
    digest: str = ""

    @classmethod
    def of(cls, path: Path, content: bool) -> Stamp:
        """Return the stamp of a file as it is now."""
        status = os.stat(path)
        if not content:
            return cls(status.st_size, status.st_mtime_ns)
        hashed = hashlib.blake2b(digest_size=16)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                hashed.update(chunk)
        return cls(status.st_size, digest=hashed.hexdigest())

    def in_words(self) -> str:
        """Return the stamp for a message."""
        if self.digest:
            return f"{self.size} bytes with digest {self.digest[:8]}"
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.modified // 10**9))
        return f"{self.size} bytes of {when}.{self.modified % 10**9:09d} UTC"


class FilePart(Part):
    """Rows of one file, or of several side by side: matrices, then targets.

    ``rows`` are the rows wanted of npy files, which are mapped to memory. ``most_bytes`` is what an
    array of the file may take in memory, where somebody else has named the file.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        stamps: tuple[Stamp, ...],
        target: str | None = None,
        rows: range | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self._paths = paths
        self.most_bytes = most_bytes
        self.stamps = stamps
        self.target = target
        self.rows = rows
        self.name = " and ".join(path.name for path in paths)
        self.nbytes = nbytes = sum(stamp.size for stamp in stamps)
        if rows is not None:
            self.nbytes = nbytes * len(rows) // max(1, row_counts(paths) or 1)
            self.name += f", rows {rows.start} to {rows.stop - 1}"
        self._checked = -_CHECK_SECONDS

    def check(self) -> None:
        """Raise if a file has changed since the objective was made."""
        now = time.monotonic()
        if now - self._checked < _CHECK_SECONDS:
            return
        for path, stamp in zip(self._paths, self.stamps, strict=True):
            found = Stamp.of(path, bool(stamp.digest))
            if found != stamp:
                raise ProblemError(
                    f"{path.name} has changed: it had {stamp.in_words()} when the objective was "
                    f"made, now it has {found.in_words()}"
                )
        self._checked = now

    def load(self) -> Any:
        """Return the arrays of a block."""
        self._checked = -_CHECK_SECONDS
        self.check()
        if len(self._paths) > 1:
            return tuple(self._one(path) for path in self._paths)
        path = next(iter(self._paths))
        suffix = path.suffix.lower()
        if suffix == ".npz":
            return self._from_npz(path)
        if suffix in (".csv", ".parquet"):
            return self._from_table(path)
        if suffix == ".mtx":
            entries = sparse.coo_array(read_matrix_market(path, self._allow))
            return entries.row, entries.col, entries.data
        if suffix in _SUFFIXES:
            raise ProblemError(
                f"{path.name} holds one array: name the files of matrices and targets as a pair, "
                'as in ("A-*.npy", "b-*.npy")'
            )
        raise ProblemError(f"{path.name} is of no known kind; allowed: {', '.join(_SUFFIXES)}")

    def _one(self, path: Path) -> Any:
        """Return the only array of a file, which is one of several of a block."""
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return mapped(path, self.rows)
        if suffix == ".npz":
            return self._matrix_of(path, npz_names(path))
        if suffix == ".mtx":
            found: Any = read_matrix_market(path, self._allow)
            return found.ravel() if not sparse.issparse(found) and found.shape[1] == 1 else found
        if suffix == ".csv":
            return read_csv(path, self._allow)
        if suffix == ".parquet":
            return read_parquet(path, self._allow)
        raise ProblemError(f"{path.name} is of no known kind; allowed: {', '.join(_SUFFIXES)}")

    def _from_table(self, path: Path) -> tuple[Any, Any]:
        """Return the columns of a table: the targets last, or by name."""
        names = _column_names(path)
        target = self.target
        if target is None:
            target = next((name for name in _TARGETS if name in names), names[-1])
        if target not in names:
            raise ProblemError(f"{path.name} has no column {target!r}, found {', '.join(names)}")
        read = read_csv if path.suffix.lower() == ".csv" else read_parquet
        table = read(path, self._allow)
        place = names.index(target)
        if table.ndim == 1:
            raise ProblemError(f"{path.name} must have a column beside the targets, found none")
        return np.delete(table, place, axis=1), table[:, place]

    def _from_npz(self, path: Path) -> tuple[Any, ...]:
        """Return the arrays of a block from one archive."""
        names = npz_names(path)
        if set(_ENTRIES) <= set(names):
            return tuple(read_npz(path, self._allow, name) for name in _ENTRIES)
        target = next((name for name in _TARGETS if name in names), None)
        if target is None:
            raise ProblemError(
                f"{path.name} must hold the arrays A and b, found {', '.join(names) or 'none'}"
            )
        return self._matrix_of(path, names), read_npz(path, self._allow, target)

    def _matrix_of(self, path: Path, names: list[str]) -> Any:
        """Return the matrix of an archive: A, the parts of a sparse one, or the only array."""
        if set(_SPARSE) <= set(names):
            return read_npz(path, self._allow)
        name = next((name for name in _MATRICES if name in names), None)
        if name is None and len(names) > 1:
            raise ProblemError(
                f"{path.name} must hold the arrays A and b, found {', '.join(names)}"
            )
        return read_npz(path, self._allow, name)

    def _allow(self, size: int) -> None:
        """Refuse what takes more memory than it may, before it is read."""
        if self.most_bytes is not None and size > self.most_bytes:
            raise ProblemError(
                f"needs {size / 2**30:.3g} GB, more than the {self.most_bytes / 2**30:.3g} GB "
                "allowed; raise it with --max-data"
            )


def _column_names(path: Path) -> list[str]:
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow.parquet as parquet  # pyright: ignore
        except ImportError:
            raise ProblemError("Parquet files need pyarrow: pip install pyarrow") from None
        return list(parquet.read_schema(path).names)
    with path.open(encoding="utf-8-sig") as file:
        cells = [cell.strip().strip('"') for cell in file.readline().split(",")]
    try:
        return [str(i) for i, _ in enumerate(map(float, cells))]
    except ValueError:
        return cells


def mapped(path: Path, rows: range | None) -> np.ndarray:
    """Return an array of an npy file, mapped to memory, or some rows of it."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError):
        array = read_npy(path, lambda size: None)  # arrays without entries cannot be mapped
    return np.asarray(array if rows is None else array[rows.start : rows.stop])


def row_counts(paths: tuple[Path, ...]) -> int | None:
    """Return the rows of npy files, from their headers; None if they differ or are of other kinds.

    Files of the same number of rows can be cut.
    """
    counts = set()
    for path in paths:
        if path.suffix.lower() != ".npy":
            return None
        try:
            with path.open("rb") as file:
                version = npy.read_magic(file)
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape = read(file)[0]
        except (ValueError, OSError):
            return None
        counts.add(shape[0] if shape else 0)
    return counts.pop() if len(counts) == 1 else None
