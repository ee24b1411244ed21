"""The page of one run: one HTML file with its answer, curves, certificate and settings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..arrays import LowRank, to_host
from ..loop import Result
from ..sets import Set
from . import workers
from .live_chart import LiveChart, Series
from .page import Page, Section, Table
from .solution import drawings

_MAX_ENTRIES = 1_000_000
"""Larger answers are not drawn, unless they have low rank."""


def run_page(
    result: Result,
    K: Set | None = None,
    facts: Mapping[str, Any] | None = None,
    watched: bool = False,
) -> str:
    """Return the page of a run as HTML that needs no other file.

    Parameters
    ----------
    result : Result
        What the run returned.
    K : Set, optional
        The set: flows are drawn on its graph.
    facts : mapping, optional
        What else the page says: ``title``, ``problem`` (nested settings), ``versions``,
        ``command``, ``finished``; of a run that goes on, ``news`` (how it is, in words).
    watched : bool
        Whether the page asks its server for news.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f, K = wp.objectives.LeastSquares(np.eye(2), np.array([0.9, 0.4])), wp.sets.Simplex(2)
    >>> page = run_page(wp.minimize(f, K), K, {"title": "Two numbers"})
    >>> "<h1>Two numbers</h1>" in page
    True
    """
    facts = facts or {}
    told = facts.get("news") or str(result.message)
    sections = [
        Section("Result", [*([told] if told else []), _numbers(result, facts)]),
        *(_curves(result.history) if len(result.history["round"]) else []),
        *workers.sections(result.get("engine")),
        *_solution(result, K),
        *_settings(facts),
    ]
    if result.status is None:
        begins = "The run has not ended yet. So far"
    else:
        begins = "The run " + ("converged:" if result.success else f"ended with {result.status}:")
    proved = f"at most {result.gap:.3g} above the minimum"
    proved = proved if math.isfinite(result.gap) else "with no gap certified"
    lead = f"{begins} f(x) = {result.fun:.9g}, {proved}."
    footer = f"Written by wolfpack. {facts.get('finished', '')}"
    title = str(facts.get("title", "A run of wolfpack"))
    return Page(title, lead, sections, footer, live=True, watched=watched).html()


def _numbers(result: Result, facts: Mapping[str, Any]) -> Table:
    shape = facts.get("shape", result.x.shape)  # x itself may be left out while the run goes on
    rows = [
        ("f(x)", repr(float(result.fun))),
        ("Lower bound on the minimum", repr(float(result.lower_bound))),
        ("Certified gap", repr(float(result.gap))),
        ("Rounds", f"{result.nit:,}"),
        ("Oracle calls", f"{result.nlmo:,}"),
        ("Values of f", f"{result.nfev:,}"),
        ("Gradients of f", f"{result.njev:,}"),
        ("Seconds", f"{result.seconds:.4g}"),
        ("Seconds in the solver", f"{result.solver_seconds:.4g}"),
        ("Method", str(result.get("method", ""))),
        ("Shape of x", " x ".join(map(str, shape))),
    ]
    if "nodes" in result:  # the rounds of branch and bound are its nodes
        rows[3] = ("Nodes solved", f"{result.nodes:,}")
        rows.insert(4, ("Nodes left open", f"{result.open_nodes:,}"))
    caption = "So far" if result.status is None else "As in result.json"
    return Table(caption, ["Quantity", "Value"], rows)


def _axes(history: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the horizontal axes of a run; the rounds of branch and bound are its nodes."""
    columns = {"node" if "open" in history else "round": "round", "seconds": "seconds"}
    return {
        axis: history[name].astype(float) for axis, name in (columns | {"nlmo": "nlmo"}).items()
    }


def _curves(history: Mapping[str, np.ndarray]) -> list[Section]:
    """Return the sections about a history that has at least one row."""
    axes, value, bound = _axes(history), history["fun"], history["lower_bound"]
    tree = "open" in history
    gaps = [Series("gap", "certified gap", history["gap"], "many")]
    caption = "The certified gap: best value minus best bound so far."
    if not tree:  # whose value and bound are the best so far
        gaps.append(Series("own", "of the round alone", value - bound, "fw", "2 4"))
        caption = (
            "The certified gap (best value minus best bound so far), and the gap that each round's "
            "own value and bound would prove."
        )
    lower = np.maximum.accumulate(bound)
    # The best value may be that of a round between two recorded ones, of which the gap tells.
    with np.errstate(invalid="ignore"):  # without a bound, -inf + inf is no number
        upper = np.fmin(np.minimum.accumulate(value), lower + history["gap"])
    ends = [
        Series("upper", "best value", upper, "many"),
        Series("lower", "best lower bound", lower, "exact", "6 3"),
    ]
    gap = LiveChart("gap", "Certified gap along the run", axes, gaps, caption)
    alt, caption = "Best value and best lower bound along the run", "The minimum lies in the band."
    scales = "x"
    if tree:  # whose first bounds would hide all the others
        early = min(1 + len(value) // 10, len(value) - 1)
        upper[:early] = lower[:early] = np.nan
        scales, caption = "", f"{caption} The first tenth of the nodes is left out."
    band = LiveChart("bounds", alt, axes, ends, caption, scales, ("upper", "lower"))
    convergence = Section("Convergence", [gap, _milestones(history)])
    if tree:
        return [Section("The tree", [band, _open_nodes(history)]), convergence]
    return [convergence, Section("Certificate", [band]), *_schedule(history)]


def _open_nodes(history: Mapping[str, np.ndarray]) -> LiveChart:
    """Return the chart of the nodes that were left."""
    series = [Series("open", "open nodes", history["open"].astype(float), "one")]
    caption = "A node is open until its bound shows that no better point is in it."
    return LiveChart("open", "Open nodes along the run", _axes(history), series, caption, "")


def _milestones(history: Mapping[str, np.ndarray]) -> Table:
    """Return about ten rows of the history, dense at first and then sparser."""
    count = len(history["round"])
    spaced = np.geomspace(1, count, 10).round() if count > 10 else np.arange(1, count + 1)
    columns = {
        "round": ("Nodes" if "open" in history else "Round", ","),
        "open": ("Open nodes", ","),
        "seconds": ("Seconds", ".3g"),
        "nlmo": ("Oracle calls", ","),
        "fun": ("f", ".9g"),
        "lower_bound": ("Lower bound", ".9g"),
        "gap": ("Certified gap", ".4g"),
        "workers": ("Workers", ","),
        "recomputed": ("Blocks again", ","),
        "stragglers": ("Stragglers", ","),
        "bytes": ("Bytes", ","),
        "busy": ("Busy", ".0%"),
    }
    columns = {name: column for name, column in columns.items() if name in history}
    rows = [
        [
            "" if np.isnan(history[name][i]) else f"{history[name][i]:{form}}"
            for name, (_, form) in columns.items()
        ]
        for i in np.unique(spaced.astype(int)) - 1
    ]
    return Table("Some rounds; history.csv has all", [head for head, _ in columns.values()], rows)


def _schedule(history: Mapping[str, np.ndarray]) -> list[Section]:
    """Return how the noise and the number of oracles changed, for methods that have them."""
    alpha, m = history["alpha"], history["m"]
    series = []
    if np.isfinite(alpha).any():
        series.append(Series("alpha", "scale of the noise, alpha", alpha, "one"))
    if (np.isfinite(m) & (m > 0)).any():
        series.append(Series("m", "oracles a round, m", m, "fw-ls", "6 3"))
    if not series:
        return []
    only = series[0]
    if len(series) == 1 and np.ptp(only.values) == 0:
        block = f"Along the whole run: {only.label} = {only.values[0]:g}."
    else:
        exact = " The smoothing is exact, as with infinitely many oracles."
        caption = f"What the method chose along the run.{exact if np.isinf(m).any() else ''}"
        alt = "Noise and oracles a round along the run"
        block = LiveChart("schedule", alt, _axes(history), series, caption)
    return [Section("Schedule", [block])]


def _solution(result: Result, K: Set | None) -> list[Section]:
    x = result.x
    if isinstance(x, LowRank):
        x = x.on_host()
    else:
        if not 0 < math.prod(x.shape) <= _MAX_ENTRIES:
            return []
        x = np.asarray(to_host(x))
    blocks = list(drawings(x, K))
    return [Section("Solution", blocks)] if blocks else []


def _settings(facts: Mapping[str, Any]) -> list[Section]:
    blocks: list[str | Table] = []
    if "command" in facts:
        blocks.append(f"To run it again: `{facts['command']}`")
    if "versions" in facts:
        versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
        blocks.append(f"Versions: {versions}.")
    rows = list(_flat(facts.get("problem", {})))
    if rows:
        blocks.append(Table("The problem file", ["Key", "Value"], rows, text_columns=2))
    return [Section("Settings", blocks)] if blocks else []


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys and values of nested tables, long values cut."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            text = str(value)
            yield f"{prefix}{key}", text if len(text) <= 80 else f"{text[:77]}..."
