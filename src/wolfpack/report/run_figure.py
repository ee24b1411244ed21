"""The figure of one run: its certified gap against rounds and against oracle calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .plots import Chart, Line, Panel, save

_AXES = {"round": "rounds", "nlmo": "oracle calls"}


def draw(history: Mapping[str, np.ndarray], folder: Path, name: str) -> str:
    """Write the figure as PNG and SVG; return the SVG element, empty if there is nothing to draw.

    ``history`` holds the columns of a run, ``name`` is the files' name without suffix.
    """
    gap = history["gap"]
    panels = []
    for axis, words in _AXES.items():
        x = history[axis]
        seen = np.isfinite(gap) & (gap > 0) & (x > 0)
        if seen.sum() < 2 or x[seen][-1] <= 1 or np.ptp(gap[seen]) == 0:
            return ""
        line = Line("certified gap", x[seen], gap[seen], "many")
        panels.append(Panel(f"against {words}", [line], axis))
    return save(Chart(panels, 2, _AXES, "gap"), folder, name)
