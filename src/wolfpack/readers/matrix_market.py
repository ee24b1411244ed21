"""A reader of Matrix Market files that trusts nothing in them.

SciPy's reader is faster, and a file that was cut short can crash it. This one compares the size of
the file and the numbers in it with what the header announces before it makes a matrix.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import Array
from .words import ProblemError, among

_MAX_LINE = 2**16
_FIELDS = ("real", "double", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_EXACT = 2.0**53  # integers up to here are exact in double precision


class Header(NamedTuple):
    """What a file says about itself; ``entries`` is the number of lines of a sparse matrix."""

    layout: str
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int

    @property
    def numbers(self) -> int:
        """How many numbers follow the header."""
        if self.layout == "coordinate":
            return self.entries * (2 if self.field == "pattern" else 3)
        n = self.rows
        triangle = {"general": n * self.columns, "skew-symmetric": n * (n - 1) // 2}
        return triangle.get(self.symmetry, n * (n + 1) // 2)


def read_matrix_market(path: Path, check: Callable[[int], None]) -> Array:
    """Return a Matrix Market file's matrix: sparse, dense, or a vector for a single column."""
    with path.open("rb") as file:
        header, skip = _header(file, path.name)
        n, d = header.rows, header.columns
        dense = header.layout == "array"
        check(8 * n * d if dense else 32 * header.entries + 8 * (n + d))
        left = path.stat().st_size - file.tell()
    numbers = _numbers(path, skip, left, header)
    if header.field == "integer" and numbers.size and abs(numbers).max() > _EXACT:
        raise ProblemError(f"{path.name!r} has integers that double precision cannot hold")
    if not dense:
        return _sparse(header, numbers, path.name)
    matrix = _dense(header, numbers)
    return matrix[:, 0] if d == 1 else matrix


def _header(file: IO[bytes], name: str) -> tuple[Header, int]:
    """Read the first line, comments and the line of sizes; return how many lines these are."""
    wrong = f"{name!r} is not a Matrix Market file"
    words = _line(file, wrong).lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
        raise ProblemError(f"{wrong}: its first line must be '%%MatrixMarket matrix ...'")
    layout, field, symmetry = words[2:]
    if field == "complex":
        raise ProblemError(f"{name!r} must hold real numbers, found complex ones")
    for word, known in ((layout, ("coordinate", "array")), (field, _FIELDS)):
        if word not in known:
            raise ProblemError(f"{wrong}: found {word!r}; {among(word, known)}")
    if symmetry not in _SYMMETRIES:
        raise ProblemError(f"{wrong}: found {symmetry!r}; {among(symmetry, _SYMMETRIES)}")
    line, skip = "%", 1
    while line.startswith("%") or not line.strip():
        line, skip = _line(file, wrong), skip + 1
    count = 3 if layout == "coordinate" else 2
    sizes = [int(word) for word in line.split() if word.isdecimal() and len(word) < 19]
    if len(sizes) != count or len(line.split()) != count:
        raise ProblemError(f"{wrong}: {count} sizes must follow its comments, found {line!r}")
    header = Header(layout, field, symmetry, sizes[0], sizes[1], sum(sizes[2:]))
    if symmetry != "general" and header.rows != header.columns:
        raise ProblemError(
            f"{wrong}: a {symmetry} matrix must be square, found {header.rows} x {header.columns}"
        )
    if layout == "array" and field == "pattern":
        raise ProblemError(f"{wrong}: a dense matrix must have numbers, found a pattern")
    return header, skip


def _line(file: IO[bytes], wrong: str) -> str:
    line = file.readline(_MAX_LINE)
    if not line or len(line) == _MAX_LINE:
        raise ProblemError(f"{wrong}: its header ends early" if not line else f"{wrong}: long line")
    return line.decode("utf-8", "replace").strip()


def _numbers(path: Path, skip: int, left: int, header: Header) -> np.ndarray:
    """Read the numbers after the first ``skip`` lines, which have ``left`` bytes."""
    count = header.numbers
    if left < 2 * count - 1:  # a digit and a separator for each number
        raise ProblemError(
            f"{path.name!r} is truncated: it announces {count} numbers in {left} bytes"
        )
    lines = header.entries if header.layout == "coordinate" else count
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that there are no lines left
            numbers = np.loadtxt(
                path,
                comments="%",
                skiprows=skip,
                max_rows=lines + 1,
                ndmin=2,
                encoding="latin1",
            )
    except ValueError as error:
        raise ProblemError(f"{path.name!r} is damaged: {error}") from None
    if numbers.size != count:
        found = "more than that" if numbers.size > count else str(numbers.size)
        raise ProblemError(f"{path.name!r} is damaged: it announces {count} numbers, found {found}")
    return numbers.reshape(-1)


def _sparse(header: Header, numbers: np.ndarray, name: str) -> sparse.csr_array:
    table = numbers.reshape(header.entries, 2 if header.field == "pattern" else 3)
    shape = header.rows, header.columns
    ends = table[:, :2] - 1.0
    # NaN is not within the range either
    if not bool(np.all((ends >= 0) & (ends < shape) & (ends == np.floor(ends)))):
        raise ProblemError(
            f"{name!r} is damaged: rows must be integers from 1 to {shape[0]}, columns from 1 to "
            f"{shape[1]}"
        )
    i, j = ends.astype(np.int64).T
    data = np.ones(len(table)) if header.field == "pattern" else table[:, 2]
    if header.symmetry != "general":
        off = i != j
        sign = -1.0 if header.symmetry == "skew-symmetric" else 1.0
        data = np.concatenate([data, sign * data[off]])
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    return sparse.csr_array(sparse.coo_array((_typed(data, header), (i, j)), shape=shape))


def _dense(header: Header, numbers: np.ndarray) -> np.ndarray:
    n, d = header.rows, header.columns
    if header.symmetry == "general":
        return _typed(numbers, header).reshape(d, n).T  # column by column
    skew = header.symmetry == "skew-symmetric"
    matrix = np.zeros((n, n))
    columns, rows = np.triu_indices(n, 1 if skew else 0)  # the lower triangle, by columns
    matrix[columns, rows] = -numbers if skew else numbers
    matrix[rows, columns] = numbers
    return _typed(matrix, header)


def _typed(numbers: np.ndarray, header: Header) -> np.ndarray:
    return numbers.astype(np.int64) if header.field == "integer" else numbers
