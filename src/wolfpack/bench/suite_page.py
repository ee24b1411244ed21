"""The page of a suite: who wins, profiles, the course of every method, all numbers."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..files import staging, write_text
from ..report import Chart, Figure, Line, Page, Panel, Section, Table, need_matplotlib, save
from ..report.live_chart import LiveChart, Series
from . import tables
from .measure import LEVELS
from .profiles import Profile, profile
from .suites import CaseResult, Entry, SuiteResult

FACETS = {"seconds": "seconds", "rounds": "rounds", "calls": "oracle calls"}
"""What profiles compare, and its name on the page."""

MAX_DRAWN = 6
"""How many leading methods are drawn at first, besides `auto` and other libraries."""


class Style(NamedTuple):
    """Colour of the palette, dash, and whether a method is drawn before the reader asks."""

    color: str
    dash: str
    shown: bool


_COLORS = ("many", "one", "exact", "fw", "fw-ls")
_DASHES = {"solid": "none", "dashed": "7 3", "dotted": "2 3", "dashdot": "8 3 2 3"}
_GRID = 240


def write(result: SuiteResult, folder: Path, command: str) -> tuple[list[Path], list[str]]:
    """Write tables, profiles and the page into an existing folder.

    Returns the files, and notes on what was left out and why.
    """
    texts = {
        "tables.md": tables.markdown(result),
        "results.csv": tables.as_csv(result),
        "results.json": tables.as_json(result),
    }
    written, notes, svg = [folder / name for name in texts], [], ""
    with staging(folder) as stage:
        for name, text in texts.items():
            write_text(stage / name, text)
        try:
            need_matplotlib()
            svg = draw(result, stage, "profile")
        except ImportError as error:
            notes.append(str(error))
        if svg:
            written += [folder / "profile.png", folder / "profile.svg"]
        write_text(stage / "index.html", page(result, svg, command).html())
    return [*written, folder / "index.html"], notes


def draw(result: SuiteResult, folder: Path, name: str) -> str:
    """Write the profiles as PNG and SVG; return the SVG element, empty if nothing was solved."""
    found = {what: profile(result.cases, what) for what in FACETS}
    if found["seconds"] is None:
        return ""
    styles = {name: style for name, style in _styles(result).items() if style.shown}
    drawn = {what: one for what, one in found.items() if one is not None}
    end = max(10.0, *(1.1 * float(one.tau[-1]) for one in drawn.values()))
    panels = [
        Panel(FACETS[what], _stairs(one, styles, end), "ratio") for what, one in drawn.items()
    ]
    labels = {"ratio": "times what the best method takes"}
    chart = Chart(panels, len(panels), labels, "share of problems", linear_y=True)
    return save(chart, folder, name)


def page(result: SuiteResult, svg: str, command: str) -> Page:
    """Return the page about a suite; ``svg`` holds the profiles, empty if they were not drawn."""
    title = f"Benchmark suite {result.suite}"
    styles = _styles(result)
    sections = [
        Section("Who wins", [*_winners(result)]),
        *_profiles(result, svg, styles),
        *(Section(tables.capital(case.title), _case(case, styles)) for case in result.cases),
        Section("How it was measured", _how(result, command)),
    ]
    lead = f"{tables.score(result)} {result.started[:10]}, {result.machine['processor']}."
    return Page(title, lead, sections, f"Written by wolfpack. {result.started}", live=True)


def _winners(result: SuiteResult) -> list[str | Table]:
    words = (
        "An accuracy is a certified gap, over the gap at the starting point. The best of wolfpack "
        "is known in hindsight only; `auto` is what you get without choosing."
    )
    rows = _unbroken(tables.winners(result))
    stopped = [] if result.complete else ["The run was interrupted: only finished cases are here."]
    return [*stopped, words, Table(tables.repeats(result), tables.HEADS, rows, len(tables.HEADS))]


def _profiles(result: SuiteResult, svg: str, styles: dict[str, Style]) -> list[Section]:
    blocks: list[str | LiveChart | Figure] = [
        "The share of problems for which a method takes at most so many times what the best one "
        "takes: how often it is the best on the left, how often it gets there at all on the "
        "right. A library that does not have the set of a problem has not solved it. Projected "
        "gradients (`projected`, and `auto` where it chooses them) ask the oracle for certificates "
        "alone."
    ]
    found = {what: profile(result.cases, what) for what in FACETS}
    blocks += [_live_profile(one, what, styles) for what, one in found.items() if one is not None]
    if svg:
        alt = "The same profiles, of the leading methods and the other libraries"
        names = ("profile.png", "profile.svg")
        blocks.append(Figure(svg, alt, "The leading methods and the other libraries.", names))
    return [Section("Performance profiles", blocks)] if len(blocks) > 1 else []


def _live_profile(found: Profile, what: str, styles: dict[str, Style]) -> LiveChart:
    tau = np.geomspace(1.0, max(10.0, 1.1 * float(found.tau[-1])), _GRID)
    at = np.searchsorted(found.tau, tau * (1 + 1e-12), side="right") - 1
    series = [
        _series(name, rho[at], styles[name])
        for name, rho in zip(found.methods, found.rho, strict=True)
    ]
    alt = f"Performance profiles in {FACETS[what]}"
    caption = f"Profiles in {FACETS[what]}, of {len(found.methods)} methods."
    return LiveChart(f"profile-{what}", alt, {"ratio": _short(tau)}, series, caption, "x")


def _case(case: CaseResult, styles: dict[str, Style]) -> list[str | LiveChart | Table]:
    caption = "Rounds / oracle calls / gradients, as far as they are known, and the time"
    rows = _unbroken([tables.cells(entry) for entry in case.entries])
    numbers = Table(caption, tables.heads("Method"), rows)
    failed = [f"{e.method} failed: {e.failure}" for e in case.entries if e.failure]
    return [*_courses(case, styles), numbers, *failed]


def _courses(case: CaseResult, styles: dict[str, Style]) -> list[LiveChart]:
    """Return the gap of every method against seconds, each at the run of median length."""
    entries = sorted((entry for entry in case.entries if entry.traces), key=_rank)
    ends = [trace.seconds for e in entries for trace in e.traces if len(trace.seconds)]
    if not ends:
        return []
    first = max(1e-4, min(float(s[0]) for s in ends))
    grid = np.geomspace(first, max(2 * first, *(float(s[-1]) for s in ends)), _GRID)
    series = [_series(e.method, _course(e, grid), styles[e.method]) for e in entries]
    alt = f"Certified gap of every method against seconds: {case.title}"
    caption = "The best certified gap so far, over the first one."
    return [LiveChart(f"case-{case.name}", alt, {"seconds": _short(grid)}, series, caption)]


def _series(name: str, values: np.ndarray, style: Style) -> Series:
    return Series(_id(name), name, _short(values), style.color, _DASHES[style.dash], style.shown)


def _short(values: np.ndarray) -> np.ndarray:
    """Return numbers with five digits, which is what the eye sees, and half of the page's size."""
    return np.array([float(f"{value:.5g}") for value in values])


def _course(entry: Entry, grid: np.ndarray) -> np.ndarray:
    """Return the best gap at each time, NaN before the first and after the last."""
    trace = sorted(entry.traces, key=lambda t: float(t.seconds[-1]))[len(entry.traces) // 2]
    best = np.minimum.accumulate(trace.gap)
    at = np.searchsorted(trace.seconds, grid, side="right") - 1
    known = (at >= 0) & (grid <= grid[np.searchsorted(grid[:-1], trace.seconds[-1])])
    return np.where(known, best[np.maximum(at, 0)], np.nan)


def _rank(entry: Entry) -> tuple[float, ...]:
    """Order methods by their times to the accuracies, the finest one first."""
    reaches = [entry.reach(level) for level in reversed(LEVELS)]
    return tuple(float("inf") if reach is None else reach.seconds for reach in reaches)


def _how(result: SuiteResult, command: str) -> list[str | Table | list[str]]:
    words = [
        "Methods of a case take turns, and each turn starts with another one. Every run builds its "
        "problem afresh. A run that met the limit is not repeated.",
        "Points of other libraries are certified here with the clock stopped, as are their imports "
        "and compilation; ours pay for their own certificates. Libraries without a callback are "
        "seen at their last point only, so that they have one time for all accuracies.",
    ]
    rows = list(result.machine.items())
    run = [f"To run it again: `{command}`"] if command else []
    return [words, *run, Table("The machine and the versions", ["", ""], rows, 2)]


def _stairs(found: Profile, styles: dict[str, Style], end: float) -> list[Line]:
    x = np.repeat(np.append(found.tau, end), 2)[1:-1]
    return [
        Line(name, x, np.repeat(rho, 2), styles[name].color, styles[name].dash)
        for name, rho in zip(found.methods, found.rho, strict=True)
        if name in styles
    ]


def _styles(result: SuiteResult) -> dict[str, Style]:
    """Return one style for each method, the same in all figures; those that are drawn differ."""
    outside = {e.method: not e.ours for case in result.cases for e in case.entries}
    found = profile(result.cases)
    order = [] if found is None else list(found.methods)
    order += [name for name in outside if name not in order]
    shown = {n for i, n in enumerate(order) if i < MAX_DRAWN or outside[n] or n == "auto"}
    order.sort(key=lambda name: name not in shown)
    styles = itertools.cycle([(color, dash) for dash in _DASHES for color in _COLORS])
    return {
        name: Style(color, dash, name in shown)
        for name, (color, dash) in zip(order, styles, strict=False)
    }


def _unbroken(rows: list[list[str]]) -> list[list[str]]:
    """Keep numbers and their units on one line."""
    return [[re.sub(r"(?<=\d) (m?s)\b", "\u00a0\\1", cell) for cell in row] for row in rows]


def _id(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower())
