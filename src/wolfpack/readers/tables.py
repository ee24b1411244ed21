"""Readers of tables: CSV and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from .words import ProblemError, among, show

Columns = str | int | tuple[str | int, ...] | None


def read_csv(
    path: Path, check: Callable[[int], None], columns: Columns = None, delimiter: str = ","
) -> Array:
    """Return columns of a CSV file: a matrix, or a vector for a single one.

    The first row holds the names of the columns if any of its cells is not a number.
    """
    if len(delimiter) != 1:
        raise ProblemError(f"delimiter must be one character, found {delimiter!r}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file, delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ProblemError(f"{path.name!r} is not a CSV file in UTF-8: {error}") from None
    named = not all(_is_number(cell) for cell in first)
    names = [cell.strip() for cell in first] if named else [str(i) for i in range(len(first))]
    if not first:
        raise ProblemError(f"{path.name!r} must have a row, found an empty file")
    chosen = [_position(column, names) for column in _as_list(columns, names)]
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = sum(1 for _ in file) - named
    check(8 * rows * len(chosen))
    if rows < 1:
        raise ProblemError(f"{path.name!r} has a row of names and no data")
    try:
        table = np.loadtxt(
            path,
            delimiter=delimiter,
            skiprows=int(named),
            usecols=None if columns is None else chosen,  # then rows of other lengths are errors
            ndmin=2,
            encoding="utf-8-sig",
            comments=None,
            quotechar='"',
        )
    except ValueError as error:
        raise ProblemError(f"{path.name!r} is not a table of numbers: {error}") from None
    if table.shape[1] != len(chosen):
        raise ProblemError(
            f"{path.name!r} must have {len(chosen)} cells in every row, as in the first, found "
            f"{table.shape[1]}"
        )
    return table[:, 0] if _is_single(columns, names) else table


def read_parquet(path: Path, check: Callable[[int], None], columns: Columns = None) -> Array:
    """Return columns of a Parquet file: a matrix, or a vector for a single one."""
    if find_spec("pyarrow") is None:
        raise ProblemError("Parquet files need pyarrow: pip install pyarrow")
    parquet = import_module("pyarrow.parquet")
    try:
        with parquet.ParquetFile(path) as file:
            names = list(file.schema_arrow.names)
            chosen = [_position(column, names) for column in _as_list(columns, names)]
            check(8 * file.metadata.num_rows * len(chosen))
            table = file.read(columns=[names[i] for i in chosen])
    except ProblemError:
        raise
    except Exception as error:  # a damaged file fails in ways that its reader does not list
        raise ProblemError(f"{path.name!r} is not a readable Parquet file: {error}") from None
    parts = [_numbers(table.column(names[i]), names[i]) for i in chosen]
    return parts[0] if _is_single(columns, names) else np.column_stack(parts)


def _numbers(column: Any, name: str) -> Array:
    """Return a column of Arrow as floats; missing values become NaN."""
    pyarrow = import_module("pyarrow")
    types, kind = pyarrow.types, column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise ProblemError(f"column {name!r} must hold numbers, found {kind}")
    return column.cast(pyarrow.float64(), safe=False).to_numpy()


def _as_list(columns: Columns, names: list[str]) -> Sequence[str | int]:
    if columns is None:
        return range(len(names))
    return columns if isinstance(columns, tuple) else [columns]


def _is_single(columns: Columns, names: list[str]) -> bool:
    return len(names) == 1 if columns is None else not isinstance(columns, tuple)


def _position(column: str | int, names: list[str]) -> int:
    if isinstance(column, int):
        if column >= len(names):
            raise ProblemError(f"has {len(names)} columns, numbered from 0; found {column}")
        return column
    if column not in names:
        raise ProblemError(f"has no column {show(column)}; {among(column, names)}")
    return names.index(column)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
