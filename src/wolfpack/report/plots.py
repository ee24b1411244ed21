"""Log-log charts in panels, written as PNG and SVG.

Charts are data (`Chart`, `Panel`, `Line`); only this module imports Matplotlib, and only on use.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_DOTTED, _DASHDOT = (0, (1, 1.4)), (0, (6, 2, 1, 2))
DASHES = {"solid": "-", "dashed": (0, (5, 2)), "dotted": _DOTTED, "dashdot": _DASHDOT}
SERIES = ("many", "one", "exact", "fw", "fw-ls")
"""Colours of the palette that are given to lines, in this order."""

PANEL = (3.2, 2.5)
"""Width and height of a panel, in inches."""


@dataclass(frozen=True)
class Line:
    """One curve: label in the legend, points, colour of the palette, dash, width in points."""

    label: str
    x: np.ndarray
    y: np.ndarray
    color: str
    dash: str = "solid"
    width: float = 1.5


@dataclass(frozen=True)
class Panel:
    """One set of axes; ``axis`` says what its horizontal axis is, a key of the chart's names."""

    title: str
    lines: Sequence[Line]
    axis: str = "round"


@dataclass(frozen=True)
class Chart:
    """Panels, ``columns`` in a row, with logarithmic axes and one legend below.

    When all panels have the same horizontal axis, they share both axes. ``xlabels`` says what each
    horizontal axis is called. With ``linear_y``, vertical axes are linear, from 0 to 1.
    """

    panels: Sequence[Panel]
    columns: int
    xlabels: dict[str, str]
    ylabel: str
    linear_y: bool = False


def need_matplotlib() -> None:
    """Raise an ImportError that says how to install Matplotlib if it is missing."""
    if find_spec("matplotlib") is None:
        raise ImportError("figures need Matplotlib: pip install 'wolfpack[plots]'")


def save(chart: Chart, folder: Path, name: str) -> str:
    """Write ``name``.png and ``name``.svg into ``folder``; return the SVG element.

    The same chart gives the same bytes.
    """
    need_matplotlib()
    import matplotlib

    # Each figure has its own salt for the ids, so that several can share a page.
    settings: Any = {**style(), "svg.hashsalt": name}
    with matplotlib.rc_context(settings):
        figure = _draw(chart)
        figure.savefig(folder / f"{name}.png", dpi=200)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    return svg[svg.index("<svg") :]


def style() -> dict[str, Any]:
    """Return Matplotlib's settings: quiet axes, the palette's ink and, for lines, its colours."""
    from matplotlib.rcsetup import cycler

    ink, muted = LIGHT["ink"], LIGHT["muted"]
    return {
        "font.size": 8.5,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "axes.titlecolor": ink,
        "axes.labelcolor": muted,
        "axes.edgecolor": muted,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": cycler(color=[LIGHT[name] for name in SERIES]),
        "grid.color": LIGHT["grid"],
        "grid.linewidth": 0.5,
        "xtick.color": muted,
        "ytick.color": muted,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "text.color": ink,
        "legend.frameon": False,
        "lines.solid_capstyle": "round",
        "mathtext.fontset": "dejavusans",
    }


def _draw(chart: Chart) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    rows = -(-len(chart.panels) // chart.columns)
    width = PANEL[0] * chart.columns
    labels = list(dict.fromkeys(line.label for panel in chart.panels for line in panel.lines))
    ncols = _legend_columns(labels, chart.columns, width)
    legend = max(0.35, 0.17 * -(-len(labels) // ncols))
    figure = Figure(figsize=(width, PANEL[1] * rows + legend), layout="constrained")
    share: Any = len({panel.axis for panel in chart.panels}) == 1
    grid = figure.subplots(rows, chart.columns, sharex=share, sharey=share, squeeze=False)
    handles: dict[str, Line2D] = {}
    for index, axes in enumerate(grid.flat):
        if index >= len(chart.panels):
            axes.remove()
            continue
        for line in chart.panels[index].lines:
            dash, color = DASHES[line.dash], LIGHT[line.color]
            (handle,) = axes.plot(line.x, line.y, color=color, ls=dash, lw=line.width)
            handles.setdefault(line.label, handle)
        axes.set_title(chart.panels[index].title)
        axes.set(xscale="log", yscale="linear" if chart.linear_y else "log")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
    for index, (panel, axes) in enumerate(zip(chart.panels, grid.flat, strict=False)):
        lines = [line for p in (chart.panels if share else [panel]) for line in p.lines]
        ylim = (0.0, 1.02) if chart.linear_y else _decades(lines)
        axes.set(xlim=(1, max(line.x[-1] for line in lines)), ylim=ylim)
        if not share or index >= len(chart.panels) - chart.columns:
            axes.set_xlabel(chart.xlabels[panel.axis])
    for axes in grid[:, 0]:
        axes.set_ylabel(chart.ylabel)
    where = "outside lower center"
    figure.legend(handles.values(), handles.keys(), loc=where, ncols=ncols, handlelength=2.6)
    return figure


def _legend_columns(labels: Sequence[str], panels: int, width: float) -> int:
    """Return in how many columns the legend fits: in one or two rows, unless labels are long."""
    # In inches: 0.06 a letter, 0.5 for the line beside it. Commands of mathematics do not count.
    needs = [0.06 * len(re.sub(r"\\[a-z]+|[${}]", "", label)) + 0.5 for label in labels]
    columns = -(-len(labels) // (1 if len(labels) <= 2 * panels else 2))
    while columns > 1:
        rows = -(-len(labels) // columns)
        if sum(max(needs[i : i + rows]) for i in range(0, len(labels), rows)) <= width:
            break
        columns -= 1
    return columns


def _decades(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the powers of ten around all positive values."""
    y = np.concatenate([line.y for line in lines])
    y = np.log10(y[y > 0])
    return 10.0 ** np.floor(y.min()), 10.0 ** np.ceil(y.max())
