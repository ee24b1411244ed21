"""The page of one run: one HTML file with its answer, curves, certificate and settings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from ..arrays import LowRank, to_host
from ..loop import Result
from . import workers
from .live_chart import LiveChart, Series, script
from .page import Page, Section, Table
from .solution import drawings

_MOST_DRAWN = 1_000_000
"""Entries beyond which an answer is not drawn, unless it has low rank."""


def run_page(result: Result, K: Any = None, facts: Mapping[str, Any] | None = None) -> str:
    """Return the page of a run as HTML that needs no other file.

    Parameters
    ----------
    result : Result
        What the run returned.
    K : Set, optional
        The set: flows are drawn on its graph.
    facts : mapping, optional
        ``title``, ``problem`` (nested settings), ``versions``, ``command``, ``finished``: what the
        page is to say besides.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f, K = wp.objectives.LeastSquares(np.eye(2), np.array([0.9, 0.4])), wp.sets.Simplex(2)
    >>> page = run_page(wp.minimize(f, K), K, {"title": "Two numbers"})
    >>> "<h1>Two numbers</h1>" in page
    True
    """
    facts = facts or {}
    sections = [
        Section("Result", [str(result.message), _numbers(result)]),
        *(_curves(result) if len(result.history["round"]) else []),
        *workers.sections(result.get("engine")),
        *_solution(result, K),
        *_settings(facts),
    ]
    status = "converged" if result.success else f"ended with {result.status}"
    proved = f"at most {result.gap:.3g} above the minimum"
    proved = proved if math.isfinite(result.gap) else "with no gap certified"
    lead = f"The run {status}: f(x) = {result.fun:.9g}, {proved}."
    style = files("wolfpack.report").joinpath("run_page.css").read_text(encoding="utf-8")
    footer = " ".join(["Written by wolfpack.", str(facts.get("finished", ""))])
    return Page(
        str(facts.get("title", "A run of wolfpack")), lead, sections, footer, style, script()
    ).html()


def _numbers(result: Result) -> Table:
    rows = [
        ("f(x)", repr(float(result.fun))),
        ("Lower bound on the minimum", repr(float(result.lower_bound))),
        ("Certified gap", repr(float(result.gap))),
        ("Rounds", f"{result.nit:,}"),
        ("Oracle calls", f"{result.nlmo:,}"),
        ("Values of f", f"{result.nfev:,}"),
        ("Gradients of f", f"{result.njev:,}"),
        ("Seconds in the solver", f"{result.seconds:.4g}"),
        ("Method", str(result.get("method", ""))),
        ("Shape of x", " x ".join(map(str, result.x.shape))),
    ]
    return Table("As in result.json", ["Quantity", "Value"], rows)


def _axes(history: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: history[name].astype(float) for name in ("round", "seconds", "nlmo")}


def _curves(result: Result) -> list[Section]:
    """Return what a run that has recorded a round can show of its way."""
    return [
        Section("Convergence", _convergence(result)),
        Section("Certificate", [_certificate(result)]),
        *_schedule(result),
    ]


def _convergence(result: Result) -> list[Any]:
    history = result.history
    own = history["fun"] - history["lower_bound"]
    chart = LiveChart(
        "gap",
        "Certified gap along the run",
        _axes(history),
        [
            Series("gap", "certified gap", history["gap"], "many"),
            Series("own", "of the round alone", own, "fw", "2 4"),
        ],
        "The certified gap (best value minus best bound so far), and the gap that each round's own "
        "value and bound would prove.",
    )
    return [chart, _milestones(history)]


def _milestones(history: Mapping[str, np.ndarray]) -> Table:
    """Return about ten rows of the history, ever further apart."""
    count = len(history["round"])
    spaced = np.geomspace(1, count, 10).round() if count > 10 else np.arange(1, count + 1)
    rows = np.unique(spaced.astype(int)) - 1
    cells = [
        (
            f"{history['round'][i]:,}",
            f"{history['seconds'][i]:.3g}",
            f"{history['nlmo'][i]:,}",
            f"{history['fun'][i]:.9g}",
            f"{history['lower_bound'][i]:.9g}",
            f"{history['gap'][i]:.4g}",
        )
        for i in rows.tolist()
    ]
    headers = ["Round", "Seconds", "Oracle calls", "f", "Lower bound", "Certified gap"]
    if "workers" in history:
        headers += ["Workers", "Blocks again", "Stragglers", "Bytes", "Busy"]
        cells = [cell + _effort(history, i) for cell, i in zip(cells, rows.tolist(), strict=True)]
    return Table("Some rounds; history.csv has all", headers, cells)


def _effort(history: Mapping[str, np.ndarray], i: int) -> tuple[str, ...]:
    """Return what an engine did in the rounds before a row of the history."""
    counts = (f"{history[name][i]:,}" for name in ("workers", "recomputed", "stragglers", "bytes"))
    busy = history["busy"][i]
    return *counts, "" if math.isnan(busy) else f"{busy:.0%}"


def _certificate(result: Result) -> LiveChart:
    history = result.history
    upper = np.minimum.accumulate(history["fun"])
    lower = np.maximum.accumulate(history["lower_bound"])
    return LiveChart(
        "bounds",
        "Best value and best lower bound along the run",
        _axes(history),
        [
            Series("upper", "best value", upper, "many"),
            Series("lower", "best lower bound", lower, "exact", "6 3"),
        ],
        "The minimum lies in the band.",
        "x",
        ("upper", "lower"),
    )


def _schedule(result: Result) -> list[Section]:
    """Return how the noise and the number of oracles went, for methods that have them."""
    alpha, m = result.history["alpha"], result.history["m"]
    series = []
    if np.isfinite(alpha).any():
        series.append(Series("alpha", "scale of the noise, alpha", alpha, "one"))
    if (np.isfinite(m) & (m > 0)).any():
        series.append(Series("m", "oracles a round, m", m, "fw-ls", "6 3"))
    if not series:
        return []
    if len(series) == 1 and np.ptp(series[0].values) == 0:
        return [
            Section(
                "Schedule", [f"Along the whole run: {series[0].label} = {series[0].values[0]:g}."]
            )
        ]
    words = " The smoothing is exact, as with infinitely many oracles." if np.isinf(m).any() else ""
    caption = f"What the method chose along the run.{words}"
    alt = "Noise and oracles a round along the run"
    return [
        Section("Schedule", [LiveChart("schedule", alt, _axes(result.history), series, caption)])
    ]


def _solution(result: Result, K: Any) -> list[Section]:
    x = result.x
    if not isinstance(x, LowRank):
        if math.prod(x.shape) > _MOST_DRAWN:
            return []
        x = np.asarray(to_host(x))
    blocks = list(drawings(x, K))
    return [Section("Solution", blocks)] if blocks else []


def _settings(facts: Mapping[str, Any]) -> list[Section]:
    blocks: list[Any] = []
    if "command" in facts:
        blocks.append(f"To run it again: `{facts['command']}`")
    if "versions" in facts:
        versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
        blocks.append(f"Versions: {versions}.")
    rows = list(_flat(facts.get("problem", {})))
    if rows:
        blocks.append(Table("The problem file", ["Key", "Value"], rows, text_columns=2))
    return [Section("Settings", blocks)] if blocks else []


def _flat(table: Mapping[str, Any], prefix: str = "") -> Any:
    """Yield the keys and values of nested tables, long values cut."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            text = str(value)
            yield f"{prefix}{key}", text if len(text) <= 80 else f"{text[:77]}..."
