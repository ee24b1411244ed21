"""Columns recorded along a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..engines._log import Columns
from ..engines._rows import Rows

COLUMNS = ("round", "seconds", "fun", "lower_bound", "gap", "nfev", "njev", "nlmo", "alpha", "m")

ENGINE_COLUMNS = ("workers", "recomputed", "stragglers", "bytes", "busy")
"""What a run with an engine records besides."""

_NO_ENGINE = (0, 0, 0, 0, math.nan)
_GAP = COLUMNS.index("gap")
_FUN, _LOWER_BOUND = COLUMNS.index("fun"), COLUMNS.index("lower_bound")


class History(Columns):
    """Columns of equal length, one entry per recorded round.

    ``seconds`` is the user's clock, which begins with the call. ``fun`` and ``lower_bound`` are the
    round's own; ``gap`` is the certified gap so far, the best ``fun`` minus the best
    ``lower_bound``. A last round for which a limit left no time has the bound -inf. ``alpha`` is
    NaN and ``m`` 0 where a method has none; ``m`` is inf for closed-form smoothing.

    A run with an engine has more columns, on the rounds since the last recorded one: ``workers``
    alive at their end, blocks ``recomputed`` because a worker was lost or slow, ``stragglers``,
    ``bytes`` to workers and from them, and ``busy``, the share of the workers' time that went into
    oracles (NaN if none was asked). ``Result.engine`` has each round.

    Notes
    -----
    A history has at most 131,072 rows (10 to 16 MB). When they are full, half of them are kept:
    rows that are evenly spread over the rounds so far, the first 1,024, the last one, and those of
    the smallest ``fun`` and the largest ``lower_bound``.

    Examples
    --------
    ``res.history["gap"]`` is an array; ``pandas.DataFrame(res.history)`` is a table.
    """

    reals = ("seconds", "fun", "lower_bound", "gap", "alpha", "m", "busy")
    max_rows: ClassVar[int] = 2**17
    kept_at_first: ClassVar[int] = 2**10

    def __init__(self, rows: Rows | Iterable[Sequence[float]] | None = None) -> None:
        if not isinstance(rows, Rows):
            given = [] if rows is None else list(rows)
            rows = Rows(len(given[0]) if given else len(COLUMNS), given)
        self.rows = rows
        self.columns = COLUMNS + ENGINE_COLUMNS if rows.width > len(COLUMNS) else COLUMNS

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> History:
        """Return the history that has these columns."""
        names = COLUMNS + (ENGINE_COLUMNS if ENGINE_COLUMNS[0] in columns else ())
        found = [np.asarray(columns[name], dtype=np.float64) for name in names]
        if len({column.shape for column in found}) != 1 or found[0].ndim != 1:
            raise ValueError("the columns of a history must have equal lengths")
        return cls(Rows.of(np.stack(found, axis=1)))

    def add(self, row: tuple[float, ...], engine: tuple[float, ...] = ()) -> None:
        """Add a row, with what an engine did; a resumed run may have one from now on, or none."""
        if engine and self.columns == COLUMNS:
            table = self.rows.table()
            more = np.tile(np.array(_NO_ENGINE), (len(table), 1))
            self.rows, self.columns = Rows.of(np.hstack([table, more])), COLUMNS + ENGINE_COLUMNS
        wide = len(self.columns) > len(COLUMNS)
        self.rows.append(row + (engine or _NO_ENGINE) if wide else row)
        if len(self.rows) >= self.max_rows:
            self._thin()

    def gap_at(self, k: int) -> float:
        """Return the gap of a recorded round, infinity where it was not recorded."""
        table = self.rows.table()
        i = int(np.searchsorted(table[:, 0], k))
        return float(table[i, _GAP]) if i < len(table) and table[i, 0] == k else math.inf

    def view(self) -> History:
        """Return the history so far; what is added to it, or to this one, is not added to both."""
        return History(self.rows.view())

    def _thin(self) -> None:
        """Keep half of the rows, by the rule above; the old ones may belong to a checkpoint."""
        table = self.rows.table()
        rounds = table[:, 0]
        spread = np.linspace(rounds[0], rounds[-1], self.max_rows // 2)
        kept = np.searchsorted(rounds, spread)
        best = [np.argmin(table[:, _FUN]), np.argmax(table[:, _LOWER_BOUND])]
        first = np.arange(min(self.kept_at_first, len(table)))
        kept = np.unique(np.concatenate([first, kept, best, [len(table) - 1]]))
        self.rows = Rows.of(table[kept])

    def __repr__(self) -> str:
        return f"History({len(self.rows)} rows of {', '.join(self.columns)})"
