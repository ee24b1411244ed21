"""A chart that its reader can turn: axes, scales and series to choose, values under the pointer.

The chart is written as JSON with its controls; ``live_chart.js``, once on the page, draws it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

MOST_POINTS = 600
AXES = {
    "round": "rounds",
    "seconds": "seconds",
    "nlmo": "oracle calls",
    "ratio": "times what the best method takes",
}


@dataclass(frozen=True)
class Series:
    """One curve: its name in the page, label, values, colour of the palette, SVG dashes.

    One that is not ``shown`` waits for its reader to ask for it.
    """

    name: str
    label: str
    values: np.ndarray
    color: str
    dash: str = "none"
    shown: bool = True


@dataclass(frozen=True)
class LiveChart:
    """Series over rounds, seconds, oracle calls or another of `AXES`.

    Attributes
    ----------
    name : str
        Its id in the page.
    alt : str
        What it shows, for those who do not see it.
    x : mapping of arrays
        The possible horizontal axes, by the names of `AXES`.
    series : sequence of Series
        Of the length of the axes.
    caption : str
    log : str
        Which axes are logarithmic to begin with: "xy", "x", "y" or "".
    band : tuple of str
        Names of an upper and a lower series, to be filled between.
    """

    name: str
    alt: str
    x: Mapping[str, np.ndarray]
    series: Sequence[Series]
    caption: str
    log: str = "xy"
    band: tuple[str, ...] = ()

    def html(self) -> str:
        """Return the figure."""
        rows = thinned(len(next(iter(self.x.values()))))
        spec: dict[str, Any] = {
            "x": {axis: _plain(values[rows]) for axis, values in self.x.items()},
            "labels": {axis: AXES[axis] for axis in self.x},
            "series": [
                {**vars(series), "values": _plain(series.values[rows])} for series in self.series
            ],
            "band": list(self.band) or None,
        }
        # "<" would let a text end the script element
        data = json.dumps(spec, allow_nan=False).replace("<", "\\u003c")
        return (
            f'<figure class="live" id="{self.name}">\n<div class="controls">{self._controls()}'
            f'</div>\n<svg role="img" tabindex="0" aria-label="{escape(self.alt)}; the arrow keys '
            'move along the curves"></svg>\n<output aria-live="polite"></output>\n'
            f"<figcaption>{escape(self.caption)}</figcaption>\n"
            f'<script type="application/json">{data}</script>\n</figure>'
        )

    def _controls(self) -> str:
        first = next(iter(self.x))
        axes = "".join(
            self._input("radio", "axis", axis, AXES[axis], axis == first) for axis in self.x
        )
        curves = "".join(
            self._input(
                "checkbox",
                "series",
                s.name,
                f"{_swatch(s)}{escape(s.label)}",
                s.shown,
            )
            for s in self.series
        )
        scales = "".join(
            self._input("checkbox", "scale", axis, words, axis in self.log)
            for axis, words in (("x", "horizontal"), ("y", "vertical"))
        )
        groups = {"Against": axes, "Show": curves, "Logarithmic": scales}
        hidden = "Against" if len(self.x) == 1 else ""
        return "".join(
            f"<fieldset{' hidden' if title == hidden else ''}><legend>{title}</legend>{inside}"
            "</fieldset>"
            for title, inside in groups.items()
        )

    def _input(self, kind: str, role: str, value: str, words: str, checked: bool) -> str:
        state = " checked" if checked else ""
        return (
            f'<label><input type="{kind}" name="{self.name}-{role}" data-role="{role}" '
            f'value="{value}" autocomplete="off"{state}> {words}</label>'
        )


def _swatch(series: Series) -> str:
    """Return a short piece of the curve."""
    line = f"stroke: var(--{series.color}); stroke-dasharray: {series.dash}"
    path = f'<path d="M0 5H26" class="line" style="{line}"/>'
    return f'<svg class="swatch" viewBox="0 0 26 10" aria-hidden="true">{path}</svg>'


def script() -> str:
    """Return the script that draws every `LiveChart` of a page."""
    return files("wolfpack.report").joinpath("live_chart.js").read_text(encoding="utf-8")


def thinned(count: int) -> np.ndarray:
    """Return rows of a long history that show it all: the first ones, then ever further apart."""
    if count <= MOST_POINTS:
        return np.arange(count)
    rows = np.geomspace(1, count, MOST_POINTS).round().astype(int) - 1
    return np.unique(np.append(rows, count - 1))


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]
