"""Curves of results on Matplotlib axes, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..loop import Result
from ..problem.checks import choice, shown
from .palette import LIGHT
from .plots import SERIES, need_matplotlib, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = {"round": "rounds", "seconds": "seconds", "nlmo": "oracle calls", "njev": "gradients"}
"""Columns of a history that can be the horizontal axis, and what they are called."""


def plot(
    results: Result | Sequence[Result],
    x: str = "round",
    *,
    kind: str = "gap",
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how one or several runs went.

    Parameters
    ----------
    results : Result or sequence of Result
        What to draw.
    x : {"round", "seconds", "nlmo", "njev"}
        The horizontal axis: rounds, seconds, oracle calls or gradients.
    kind : {"gap", "band"}
        The certified gap, or the band between the best value and the best lower bound, in which
        the minimum lies.
    labels : sequence of str, optional
        Names for the legend, one per result; the methods' names by default.
    ax : Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    Axes
        Matplotlib's axes, to be changed or saved: ``ax.figure.savefig("gap.png")``.
    """
    runs = [results] if isinstance(results, Result) else list(results)
    x = choice(*AXES)(x, "x")
    kind = choice("gap", "band")(kind, "kind")
    for run in runs:
        if not isinstance(run, Result):
            raise TypeError(f"results must be results of wolfpack, found {shown(run)}")
    names = [str(run.get("method", "run")) for run in runs] if labels is None else list(labels)
    if len(names) != len(runs):
        raise ValueError(
            f"labels must have one name per result, found {len(names)} for {len(runs)}"
        )
    axes = _new_axes() if ax is None else ax
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        color = LIGHT[SERIES[i % len(SERIES)]]
        if kind == "gap":
            _gap(axes, run, x, name, color)
        else:
            _band(axes, run, x, name, color)
    axes.set_xlabel(AXES[x])
    axes.set_ylabel("certified gap" if kind == "gap" else "f")
    if kind == "gap":
        axes.set_yscale("log")
    if len(runs) > 1 or kind == "band":
        axes.legend()
    return axes


def _new_axes() -> Axes:
    need_matplotlib()
    import matplotlib
    from matplotlib import pyplot

    settings: Any = style()
    with matplotlib.rc_context(settings):
        _, axes = pyplot.subplots(figsize=(5.0, 3.4), layout="constrained")
    return axes


def _gap(axes: Axes, run: Result, x: str, name: str, color: str) -> None:
    gap = run.history["gap"]
    seen = np.isfinite(gap) & (gap > 0)
    axes.plot(run.history[x][seen], gap[seen], label=name, color=color)


def _band(axes: Axes, run: Result, x: str, name: str, color: str) -> None:
    """Draw best value and best bound; the best value of unrecorded rounds is known by the gap."""
    at, bound = run.history[x], np.maximum.accumulate(run.history["lower_bound"])
    known = np.isfinite(bound)
    values, gaps = run.history["fun"][known], run.history["gap"][known]
    best = np.fmin(np.minimum.accumulate(values), bound[known] + gaps)
    axes.plot(at[known], best, color=color, label=f"{name}: best value")
    axes.plot(at[known], bound[known], color=color, linestyle="--", label=f"{name}: lower bound")
    axes.fill_between(at[known], bound[known], best, color=color, alpha=0.15, linewidth=0)
