"""What the runs of some figures found: curves to draw, rows to write, gaps to quote."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ..report import Chart, Line, Panel
from .experiments import COLUMNS, Record, bound
from .series import MILESTONES, REFERENCES, Curve, FigureSpec, PanelSpec, Reference, Run

HEADER = ("figure", "panel", "series", *COLUMNS)


@dataclass(frozen=True, eq=False)
class Results:
    """The records of all runs of some figures, each of ``rounds`` rounds."""

    figures: tuple[FigureSpec, ...]
    records: dict[Run, Record]
    rounds: int

    def xy(self, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
        """Return rounds and gaps (or bounds on them) of a curve."""
        columns = self.records[curve.run].columns
        if curve.bound is None:
            drawn = self._drawn(curve)
            return columns["round"][drawn], columns["gap"][drawn]
        x, y = columns["round"], _bound(curve, tuple(columns["round"].tolist()))
        return (x[y > 0], y[y > 0]) if curve.bound == "lower" else (x, y)

    def _drawn(self, curve: Curve) -> np.ndarray:
        return self.records[curve.run].columns["round"] <= (curve.max_rounds or math.inf)

    def last(self, curve: Curve) -> float:
        """Return the curve's value after its last round."""
        return float(self.xy(curve)[1][-1])

    def value(self, curve: Curve, k: int) -> float:
        """Return the curve's value after ``k`` rounds, NaN when it was not kept."""
        rounds, gaps = self.xy(curve)
        (at,) = np.nonzero(rounds == k)
        return float(gaps[at[0]]) if at.size else math.nan

    @property
    def milestones(self) -> list[int]:
        """The rounds worth quoting: 1,000, 10,000, 100,000, up to the last."""
        return sorted({k for k in MILESTONES if k <= self.rounds} | {self.rounds})

    @property
    def curves(self) -> dict[tuple[str, str, str], tuple[PanelSpec, Curve]]:
        """Every curve with its panel, by the names of figure, panel and series."""
        return {
            (figure.name, panel.letter, curve.series): (panel, curve)
            for figure in self.figures
            for panel, curve in figure.curves
        }

    def references(self) -> Iterator[tuple[Reference, PanelSpec, float]]:
        """Yield every reference value within these runs, with its panel and what was measured."""
        for reference in REFERENCES:
            key = (reference.figure, reference.letter, reference.series)
            if key in self.curves and reference.round <= self.rounds:
                panel, curve = self.curves[key]
                yield reference, panel, self.value(curve, reference.round)

    def chart(self, figure: FigureSpec) -> Chart:
        """Return the figure as it is drawn."""
        panels = [
            Panel(panel.title, [self._line(c, panel.against) for c in panel.curves], panel.against)
            for panel in figure.panels
        ]
        names = {"round": "iteration", "nlmo": "oracle calls, certificates included"}
        return Chart(panels, figure.columns, names, "best primal-dual gap")

    def _line(self, curve: Curve, against: str) -> Line:
        x, y = self.xy(curve)
        if against != "round" and curve.bound != "lower":
            x = self.records[curve.run].columns[against][self._drawn(curve)]
        return Line(curve.label, x, y, curve.color, curve.dash, curve.width)

    def write_csv(self, figure: FigureSpec, path: Path) -> None:
        """Write the figure's curves, one row for each point; bounds have a gap and no more."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(HEADER)
            for panel, curve in figure.curves:
                names = (figure.name, panel.letter, curve.series)
                columns = self.records[curve.run].columns
                if curve.bound is not None:
                    x, y = self.xy(curve)
                    columns = dict.fromkeys(COLUMNS, np.full(len(x), "")) | {"round": x, "gap": y}
                rows = zip(*(columns[name].tolist() for name in COLUMNS), strict=True)
                writer.writerows((*names, *row) for row in rows)


@cache
def _bound(curve: Curve, rounds: tuple[int, ...]) -> np.ndarray:
    return bound(curve, np.array(rounds))
