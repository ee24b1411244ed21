"""Columns recorded along a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = (
    "round",
    "seconds",
    "fun",
    "lower_bound",
    "gap",
    "nfev",
    "njev",
    "nlmo",
    "alpha",
    "m",
)


class History(Mapping[str, np.ndarray]):
    """Columns of equal length, one entry per recorded round.

    ``fun`` and ``lower_bound`` are the round's own; ``gap`` is the certified gap so far, the best
    ``fun`` minus the best ``lower_bound``. ``alpha`` is NaN and ``m`` 0 where a method has none;
    ``m`` is inf for closed-form smoothing.

    Examples
    --------
    ``res.history["gap"]`` is an array; ``pandas.DataFrame(res.history)`` is a table.
    """

    def __init__(self, rows: list[tuple[float, ...]] | None = None) -> None:
        self.rows: list[tuple[float, ...]] = [] if rows is None else rows

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> History:
        """Return the history that has these columns."""
        return cls(list(zip(*(np.asarray(columns[c]).tolist() for c in COLUMNS), strict=True)))

    def __getitem__(self, column: str) -> np.ndarray:
        try:
            index = COLUMNS.index(column)
        except ValueError:
            raise KeyError(f"{column!r}; the columns are {', '.join(COLUMNS)}") from None
        kind = np.int64 if column in ("round", "nfev", "njev", "nlmo") else np.float64
        return np.array([row[index] for row in self.rows], dtype=kind)

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)

    def __repr__(self) -> str:
        return f"History({len(self.rows)} rows of {', '.join(COLUMNS)})"

    def to_csv(self, path: str | Path) -> None:
        """Write the columns as a CSV file with a header."""
        lines = [",".join(COLUMNS)]
        lines += [",".join(repr(entry) for entry in row) for row in self.rows]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
