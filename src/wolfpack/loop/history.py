"""Columns recorded along a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..engines._log import Columns
from ..engines._rows import Rows
from ..problem import STEPS

COLUMNS = ("round", "seconds", "fun", "lower_bound", "gap", "nfev", "njev", "nlmo", "alpha", "m")

ENGINE_COLUMNS = ("workers", "recomputed", "stragglers", "bytes", "busy")
"""What a run with an engine records besides."""

TREE_COLUMNS = ("open",)
"""What a run of branch and bound records besides."""

STEP_COLUMNS = ("step", "active", "added", "dropped")
"""What a run of a method with several kinds of steps records besides."""

_NO_STEP = (0, 0, 0, 0)
PASSES_COLUMNS = ("passes", "read")
"""What a run with random gradients records besides."""

_NO_ENGINE = (0, 0, 0, 0, math.nan)
_NO_TREE = (0,)
_NO_PASSES = (math.nan, 0)
_LAYOUTS = {
    len(names): names
    for names in (
        COLUMNS,
        COLUMNS + TREE_COLUMNS,
        COLUMNS + STEP_COLUMNS,
        COLUMNS + STEP_COLUMNS + ENGINE_COLUMNS,
        COLUMNS + PASSES_COLUMNS,
        COLUMNS + PASSES_COLUMNS + ENGINE_COLUMNS,
        COLUMNS + ENGINE_COLUMNS,
        COLUMNS + TREE_COLUMNS + ENGINE_COLUMNS,
    )
}
"""The columns of a history, by their number: no two layouts have equally many."""
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

    A run of a method with several kinds of steps has ``step``, what the round did (the names are
    those of `wolfpack.problem.STEPS`); ``active``, the vertices with weight, or in the cache of
    "lazy"; and ``added`` and ``dropped``, the vertices that the method has taken up and let go so
    far. A step at whose end a vertex has lost its weight has raised ``dropped``.

    A run with random gradients has ``read``, the observations that it has read so far (minibatches
    of a source, calls of a random gradient), and ``passes``, the same over the size of the data,
    NaN where that is unknown. Values and certificates that read all data are counted too.

    A run of `minimize_integer` counts its nodes as rounds; ``fun`` is the best integer point's and
    ``lower_bound`` the global one. A column ``open`` has the number of nodes that are left.

    Notes
    -----
    A history has at most 131,072 rows (10 to 16 MB). When they are full, half of them are kept:
    rows that are evenly spread over the rounds so far, the first 1,024, the last one, and those of
    the smallest ``fun`` and the largest ``lower_bound``.

    Examples
    --------
    ``res.history["gap"]`` is an array; ``pandas.DataFrame(res.history)`` is a table.
    """

    reals = ("seconds", "fun", "lower_bound", "gap", "alpha", "m", "busy", "passes")
    max_rows: ClassVar[int] = 2**17
    kept_at_first: ClassVar[int] = 2**10

    def __init__(self, rows: Rows | Iterable[Sequence[float]] | None = None) -> None:
        if not isinstance(rows, Rows):
            given = [] if rows is None else list(rows)
            rows = Rows(len(given[0]) if given else len(COLUMNS), given)
        self.rows, self.columns = rows, _LAYOUTS[rows.width]

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> History:
        """Return the history that has these columns."""
        names = COLUMNS
        for more in (TREE_COLUMNS, PASSES_COLUMNS, STEP_COLUMNS, ENGINE_COLUMNS):
            names += more if more[0] in columns else ()
        found = [
            np.asarray(_codes(columns[name]) if name == "step" else columns[name], np.float64)
            for name in names
        ]
        if len({column.shape for column in found}) != 1 or found[0].ndim != 1:
            raise ValueError("the columns of a history must have equal lengths")
        return cls(Rows.of(np.stack(found, axis=1)))

    def add(
        self,
        row: tuple[float, ...],
        engine: tuple[float, ...] = (),
        tree: tuple[float, ...] = (),
        step: tuple[float, ...] = (),
        passes: tuple[float, ...] = (),
    ) -> None:
        """Add a row, with what an engine, a tree and the step did, and what was read.

        A resumed run may have an engine or a tree from now on, or neither, and methods that take
        turns may have steps from now on.
        """
        self._widen(TREE_COLUMNS, tree, _NO_TREE)
        self._widen(PASSES_COLUMNS, passes, _NO_PASSES)
        self._widen(STEP_COLUMNS, step, _NO_STEP)
        self._widen(ENGINE_COLUMNS, engine, _NO_ENGINE)
        if TREE_COLUMNS[0] in self.columns:
            row += tree or _NO_TREE
        if PASSES_COLUMNS[0] in self.columns:
            row += passes or _NO_PASSES
        if STEP_COLUMNS[0] in self.columns:
            row += step or _NO_STEP
        if ENGINE_COLUMNS[0] in self.columns:
            row += engine or _NO_ENGINE
        self.rows.append(row)
        if len(self.rows) >= self.max_rows:
            self._thin()

    def _widen(
        self, names: tuple[str, ...], added: tuple[float, ...], past: tuple[float, ...]
    ) -> None:
        """Make room for columns that are recorded from now on; ``past`` fills the rows so far."""
        if not added or names[0] in self.columns:
            return
        table = self.rows.table()
        at = len(self.columns) if names is ENGINE_COLUMNS else len(COLUMNS)
        more = np.tile(np.array(past, dtype=np.float64), (len(table), 1))
        self.rows = Rows.of(np.hstack([table[:, :at], more, table[:, at:]]))
        self.columns = _LAYOUTS[self.rows.width]

    def gap_at(self, k: int) -> float:
        """Return the gap of a recorded round, infinity where it was not recorded."""
        table = self.rows.table()
        i = int(np.searchsorted(table[:, 0], k))
        return float(table[i, _GAP]) if i < len(table) and table[i, 0] == k else math.inf

    def __getitem__(self, column: str) -> np.ndarray:
        found = super().__getitem__(column)
        return np.array(STEPS)[found] if column == "step" else found

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


def step_row(state: Any) -> tuple[float, ...]:
    """Return what `STEP_COLUMNS` say of a method's state; nothing where it has no such steps."""
    inner = getattr(state, "inner", state)  # of the method in turn
    step = getattr(inner, "step", None)
    if not isinstance(step, str):
        return ()
    hull: Any = getattr(inner, "hull", getattr(inner, "active", None))
    kind = STEPS.index(step) if step in STEPS else len(STEPS) - 1
    if not hasattr(hull, "entered"):
        return kind, 0, 0, 0
    kept = len(hull.keys)
    active = int(np.count_nonzero(hull.weights > 0))
    if active == 1 and hasattr(inner, "vertex"):  # in a cache the vertex used last has all weight
        active = max(kept, 1)
    return kind, active, hull.entered, hull.entered - kept


def _codes(names: Any) -> list[int]:
    return [STEPS.index(str(name)) for name in names]
