"""What `path` returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, overload

import numpy as np

from ..arrays import to_host
from .result import Result

COLUMNS = (
    "value",
    "fun",
    "gap",
    "lower_bound",
    "success",
    "nit",
    "nfev",
    "njev",
    "nlmo",
    "seconds",
)


class PathResult(Sequence[Result]):
    """The results of a sequence of problems, one for each value, in their order.

    Attributes
    ----------
    values : list
        The values that tell the problems apart.
    results : list of Result
        Their results. ``res[i]`` and iteration give them too.

    Notes
    -----
    ``pandas.DataFrame(res.table)`` is a table of all runs.
    """

    def __init__(self, values: Sequence[Any], results: Sequence[Result]) -> None:
        self.values, self.results = list(values), list(results)

    @overload
    def __getitem__(self, i: int) -> Result: ...

    @overload
    def __getitem__(self, i: slice) -> PathResult: ...

    def __getitem__(self, i: int | slice) -> Result | PathResult:
        if isinstance(i, slice):
            return PathResult(self.values[i], self.results[i])
        return self.results[i]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def x(self) -> np.ndarray:
        """The best points, stacked along a new first axis, on the host."""
        return np.stack([np.asarray(to_host(result.x)) for result in self.results])

    @property
    def success(self) -> bool:
        """Whether every run has met its tolerance."""
        return all(bool(result.success) for result in self.results)

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns of equal length: the value of each run, its certificate and its counts."""
        columns: dict[str, list[Any]] = {"value": self.values}
        for name in COLUMNS[1:]:
            columns[name] = [result[name] for result in self.results]
        return columns | {"status": [str(result.status) for result in self.results]}

    def _column(self, name: str) -> np.ndarray:
        return np.array([result[name] for result in self.results])

    @property
    def fun(self) -> np.ndarray:
        """The values of f."""
        return self._column("fun")

    @property
    def gap(self) -> np.ndarray:
        """The certified gaps."""
        return self._column("gap")

    @property
    def lower_bound(self) -> np.ndarray:
        """The certified lower bounds."""
        return self._column("lower_bound")

    @property
    def nit(self) -> np.ndarray:
        """Rounds of each run."""
        return self._column("nit")

    @property
    def nlmo(self) -> np.ndarray:
        """Oracle calls of each run."""
        return self._column("nlmo")

    @property
    def seconds(self) -> float:
        """The time of all runs together."""
        return math.fsum(result.seconds for result in self.results)

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [("value", "f(x)", "gap", "rounds", "oracles", "seconds", "status")]
        for value, run in zip(self.values, self.results, strict=True):
            name = f"{value:.6g}" if isinstance(value, float) else str(value)
            name = name if len(name) <= 16 else name[:13] + "..."
            numbers = f"{run.fun:.6e}", f"{run.gap:.1e}", f"{run.nit:,}", f"{run.nlmo:,}"
            rows.append((name, *numbers, f"{run.seconds:.3f}", str(run.status)))
        return rows

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        return f"<table><tr>{cells}</tr>{body}</table>"
