"""A chart whose reader chooses axes, scales and series, and sees values under the pointer.

The chart is written as JSON with its controls; ``live_chart.js``, once on the page, draws it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

MAX_POINTS = 600
AXES = {
    "round": "rounds",
    "node": "nodes solved",
    "seconds": "seconds",
    "nlmo": "oracle calls",
    "ratio": "times what the best method takes",
}


@dataclass(frozen=True)
class Series:
    """One curve: its name in the page, label, values, colour of the palette, SVG dashes.

    ``shown`` says whether it is drawn before the reader asks for it.
    """

    name: str
    label: str
    values: np.ndarray
    color: str
    dash: str = "none"
    shown: bool = True


@dataclass(frozen=True)
class LiveChart:
    """Series over one or several horizontal axes ``x``, by the names of `AXES`.

    ``name`` is its id in the page, ``alt`` says what it shows. ``log`` tells which axes start out
    logarithmic: "xy", "x", "y" or "". Between the two series named by ``band`` the area is filled.
    """

    name: str
    alt: str
    x: Mapping[str, np.ndarray]
    series: Sequence[Series]
    caption: str
    log: str = "xy"
    band: tuple[str, ...] = ()

    def html(self) -> str:
        rows = thinned(len(next(iter(self.x.values()))))
        spec = {
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
            self._input("checkbox", "series", s.name, f"{_swatch(s)}{escape(s.label)}", s.shown)
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


def thinned(count: int) -> np.ndarray:
    """Return about `MAX_POINTS` rows of a long history, dense at first and then sparser."""
    if count <= MAX_POINTS:
        return np.arange(count)
    rows = np.geomspace(1, count, MAX_POINTS).round().astype(int) - 1
    return np.unique(np.append(rows, count - 1))


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]
