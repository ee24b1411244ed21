"""Curves of results on Matplotlib axes, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import ArgumentError, Array
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
        The horizontal axis: rounds (nodes, for branch and bound), seconds, oracle calls or
        gradients.
    kind : {"gap", "band", "tree"}
        The certified gap, or the band between the best value and the best lower bound, in which
        the minimum lies. A "tree" is the band of `minimize_integer`, with the number of open nodes
        on an axis of its own at the right.
    labels : sequence of str, optional
        Names for the legend, one per result; the methods' names by default.
    ax : Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    Axes
        Matplotlib's axes, to be changed or saved: ``ax.figure.savefig("gap.png")``.
    """
    runs = [results] if isinstance(results, Result) else _listed(results, "results", "a result")
    x = choice(*AXES)(x, "x")
    kind = choice("gap", "band", "tree")(kind, "kind")
    for run in runs:
        if not isinstance(run, Result):
            raise TypeError(f"results must be results of wolfpack, found {shown(run)}")
        if kind == "tree" and "open" not in run.history:
            raise ValueError(
                f"kind='tree' needs results of minimize_integer, found one of {run.get('method')!r}"
            )
    names = [str(run.get("method", "run")) for run in runs] if labels is None else labels
    names = _listed(names, "labels", "a name")
    if len(names) != len(runs):
        raise ValueError(
            f"labels must have one name per result, found {len(names)} for {len(runs)}"
        )
    if not (ax is None or callable(getattr(ax, "plot", None))):
        raise ArgumentError(f"ax must be Matplotlib's axes or None, found {shown(ax)}")
    axes = _new_axes() if ax is None else ax
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        color = LIGHT[SERIES[i % len(SERIES)]]
        if kind == "gap":
            _gap(axes, run, x, name, color)
        else:
            _band(axes, run, x, "" if kind == "tree" and len(runs) == 1 else name, color)
    trees = all("open" in run.history for run in runs)
    axes.set_xlabel("nodes solved" if x == "round" and trees else AXES[x])
    axes.set_ylabel("certified gap" if kind == "gap" else "f")
    if kind == "gap":
        axes.set_yscale("log")
    if kind == "tree":
        _open_nodes(axes, runs, x)
        axes.set_ylim(_late_range(runs))
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    elif len(runs) > 1 or kind == "band":
        axes.legend()
    return axes


def _listed(values: Any, name: str, other: str) -> list[Any]:
    """Return a list of what a user gives as one."""
    if not isinstance(values, list | tuple):
        raise ArgumentError(f"{name} must be {other} or a list of them, found {shown(values)}")
    return [*values]


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
    known, bound, best = _bounds(run)
    at, prefix = run.history[x][known], f"{name}: " if name else ""
    # numbers of a tree hold until the next node is solved
    steps = "steps-post" if "open" in run.history else None
    axes.plot(at, best, color=color, label=f"{prefix}best value", drawstyle=steps)
    axes.plot(at, bound, "--", color=color, label=f"{prefix}lower bound", drawstyle=steps)
    filled = "post" if steps else None
    axes.fill_between(at, bound, best, step=filled, color=color, alpha=0.15, linewidth=0)


def _bounds(run: Result) -> tuple[Array, Array, Array]:
    """Return the rows with a bound, and the best bound and value so far at each of them.

    The best value of unrecorded rounds is known by the gap.
    """
    bound = np.maximum.accumulate(run.history["lower_bound"])
    known = np.isfinite(bound)
    values, gaps = run.history["fun"][known], run.history["gap"][known]
    best = np.fmin(np.minimum.accumulate(values), bound[known] + gaps)
    return known, bound[known], best


def _open_nodes(axes: Axes, runs: Sequence[Result], x: str) -> None:
    """Draw how many nodes are left, on an axis at the right and behind the band."""
    import matplotlib
    from matplotlib.ticker import MaxNLocator

    settings: Any = style()
    with matplotlib.rc_context(settings):
        right = axes.twinx()
        right.set_ylabel("open nodes (grey)")
    for run in runs:
        at, count = run.history[x], run.history["open"]
        right.fill_between(at, count, step="post", color=LIGHT["muted"], alpha=0.18, linewidth=0)
    right.set_ylim(bottom=0)
    right.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    right.grid(visible=False)
    right.spines["right"].set_visible(True)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)


def _late_range(runs: Sequence[Result]) -> tuple[float, float]:
    """Return the range of the bands without their first tenth, which would hide all the rest."""
    ends: list[float] = []
    for run in runs:
        _, bound, best = _bounds(run)
        late = slice(min(1 + len(best) // 10, len(best) - 1), None)
        ends += [bound[late].min(), best[late].max()]
    margin = 0.05 * (max(ends) - min(ends)) or 0.05 * max(1.0, abs(ends[0]))
    return min(ends) - margin, max(ends) + margin
