"""Data of a problem file: where files may lie, how large they may be, and which reader they need.

No reader unpickles anything, and each checks the announced size before it takes memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .. import readers
from ..arrays import Array, check_finite
from .schema import ProblemError, among, check_plain, check_value, show

GIGABYTE = 2**30

READERS: dict[str, tuple[Callable[..., Array], dict[str, str]]] = {
    ".npy": (readers.read_npy, {}),
    ".npz": (readers.read_npz, {"key": "text"}),
    ".mtx": (readers.read_matrix_market, {}),
    ".csv": (readers.read_csv, {"columns": "columns", "delimiter": "text"}),
    ".parquet": (readers.read_parquet, {"columns": "columns"}),
}
"""By the file's suffix: its reader, and the keys that say which part of it is wanted."""


@dataclass(frozen=True)
class Access:
    """Which files a problem file may read: those in its own folder and in ``root``.

    No array, as it will lie in memory, and no file may have more than ``most_bytes``.
    """

    root: Path | None = None
    most_bytes: int = 4 * GIGABYTE

    def find(self, name: str, home: Path) -> Path:
        """Return the file called ``name``, which must lie in one of the allowed folders."""
        folders = [folder.resolve() for folder in (home, self.root) if folder is not None]
        places = [(folder / name).resolve() for folder in folders]
        inside = [p for p in places if any(p.is_relative_to(folder) for folder in folders)]
        if not inside:
            raise ProblemError(
                f"file {show(name)} lies outside of the problem file's folder; allow its folder "
                "with --data-root"
            )
        for path in inside:
            if path.is_file():
                return path
            if path.exists():
                raise ProblemError(f"file {show(name)} is not a regular file")
        raise ProblemError(f"there is no file {show(name)} in {' or '.join(map(str, folders))}")

    def find_all(self, pattern: str, home: Path) -> list[Path]:
        """Return the files that a pattern names, in the order of their names."""
        if not any(sign in pattern for sign in "*?["):
            return [self.find(pattern, home)]
        for folder in [folder.resolve() for folder in (home, self.root) if folder is not None]:
            names = sorted(glob(pattern, root_dir=folder, recursive=True))
            found = [self.find(name, home) for name in names if not (folder / name).is_dir()]
            if found:
                return found
        raise ProblemError(f"no file matches {show(pattern)} beside the problem file")

    def check_bytes(self, size: int) -> None:
        """Refuse what is too large, before it is read."""
        if size > self.most_bytes:
            raise ProblemError(
                f"needs {size / GIGABYTE:.3g} GB, more than the {self.most_bytes / GIGABYTE:.3g} "
                "GB allowed; raise it with --max-data"
            )


@dataclass
class Data:
    """The entries of ``[data]``, each read when it is first used; ``home`` is the file's folder."""

    table: dict[str, Any]
    home: Path
    access: Access
    arrays: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, entry in self.table.items():
            if not isinstance(entry, str | dict | list):
                raise ProblemError(
                    f"[data] {name} must be a file name, a table with the key 'file', or a list of "
                    f"numbers, found {show(entry)}"
                )

    def get(self, name: str, wanted: str) -> Array:
        """Return the entry ``name``, which the key ``wanted`` asks for."""
        if name not in self.table:
            known = among(name, self.table) if self.table else "[data] is empty"
            raise ProblemError(f"{wanted} must name an entry of [data], found {name!r}; {known}")
        if name not in self.arrays:
            self.arrays[name] = self._read(name, self.table[name])
        return self.arrays[name]

    @property
    def bytes(self) -> int:
        """Memory that the entries read so far take."""
        return sum(nbytes(array) for array in self.arrays.values())

    def _read(self, name: str, entry: str | list[object] | dict[str, object]) -> Array:
        if isinstance(entry, list):
            return as_numbers(entry, f"[data] {name}")
        entry = {"file": entry} if isinstance(entry, str) else entry
        file = check_value(f"data.{name}", "file", entry.get("file"), "text")
        suffix = Path(file).suffix.lower()
        if suffix not in READERS:
            raise ProblemError(
                f"[data] {name}: {file!r} is of no known kind; allowed: {', '.join(READERS)}"
            )
        reader, kinds = READERS[suffix]
        options = check_plain(f"data.{name}", entry, {"file": "text", **kinds})
        del options["file"]
        try:
            path = self.access.find(file, self.home)
            self.access.check_bytes(path.stat().st_size)
            return _checked(reader(path, self.access.check_bytes, **options))
        except ProblemError as error:
            raise ProblemError(f"[data] {name}: {error}") from None
        except Exception as error:  # a damaged file fails in ways that its reader does not list
            why = str(error) or type(error).__name__
            raise ProblemError(f"[data] {name}: cannot read {file!r}: {why}") from None


def as_numbers(values: object, what: str) -> Array:
    """Return lists of numbers as an array of floats."""
    try:
        array = np.array(values)
    except ValueError:
        raise ProblemError(f"{what} must have rows of one length, found {show(values)}") from None
    if array.dtype.kind not in "iuf" or array.size == 0:
        raise ProblemError(f"{what} must be a list of numbers, found {show(values)}")
    try:
        return check_finite(array.astype(np.float64), what)
    except ValueError as error:
        raise ProblemError(str(error)) from None


def nbytes(array: Array) -> int:
    """Return the memory that an array takes; all sparse ones that we read are in CSR format."""
    parts = (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,)
    return sum(part.nbytes for part in parts)


def _checked(array: Array) -> Array:
    kind = array.dtype
    if kind.kind not in "biuf":
        raise ProblemError(f"must hold real numbers, found dtype {kind}")
    if 0 in array.shape:
        raise ProblemError(f"must not be empty, found shape {tuple(array.shape)}")
    numbers = array.data if sparse.issparse(array) else array
    if kind.kind == "f":
        bad = numbers.size - int(np.isfinite(numbers).sum())
        if bad:
            raise ProblemError(f"has {bad} NaN or infinite entries of {numbers.size}")
    return array
