"""Columns recorded along a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engines._log import Columns

COLUMNS = ("round", "seconds", "fun", "lower_bound", "gap", "nfev", "njev", "nlmo", "alpha", "m")

ENGINE_COLUMNS = ("workers", "recomputed", "stragglers", "bytes", "busy")
"""What a run with an engine records besides."""

_NO_ENGINE = (0, 0, 0, 0, math.nan)


class History(Columns):
    """Columns of equal length, one entry per recorded round.

    ``fun`` and ``lower_bound`` are the round's own; ``gap`` is the certified gap so far, the best
    ``fun`` minus the best ``lower_bound``. ``alpha`` is NaN and ``m`` 0 where a method has none;
    ``m`` is inf for closed-form smoothing.

    A run with an engine has more columns, on the rounds since the last recorded one: ``workers``
    alive at their end, blocks ``recomputed`` because a worker was lost or slow, ``stragglers``,
    ``bytes`` to workers and from them, and ``busy``, the share of the workers' time that went into
    oracles (NaN if none was asked). ``Result.engine`` has each round.

    Examples
    --------
    ``res.history["gap"]`` is an array; ``pandas.DataFrame(res.history)`` is a table.
    """

    reals = ("seconds", "fun", "lower_bound", "gap", "alpha", "m", "busy")

    def __init__(self, rows: list[tuple[float, ...]] | None = None) -> None:
        self.rows = [] if rows is None else rows
        wide = self.rows and len(self.rows[0]) > len(COLUMNS)
        self.columns = COLUMNS + ENGINE_COLUMNS if wide else COLUMNS

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> History:
        """Return the history that has these columns."""
        names = COLUMNS + (ENGINE_COLUMNS if ENGINE_COLUMNS[0] in columns else ())
        return cls(list(zip(*(np.asarray(columns[c]).tolist() for c in names), strict=True)))

    def add(self, row: tuple[float, ...], engine: tuple[float, ...] = ()) -> None:
        """Add a row, with what an engine did; a resumed run may have one from now on, or none."""
        if engine and self.columns == COLUMNS:
            self.rows[:] = [former + _NO_ENGINE for former in self.rows]
            self.columns += ENGINE_COLUMNS
        no_engine = () if self.columns == COLUMNS else _NO_ENGINE
        self.rows.append(row + (engine or no_engine))

    def __repr__(self) -> str:
        return f"History({len(self.rows)} rows of {', '.join(self.columns)})"
