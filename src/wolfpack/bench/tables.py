"""The results of a suite as tables: Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from .measure import LEVELS, Reach
from .suites import CaseResult, Entry, SuiteResult

NOTHING = "–"
HEADS = ("Problem", "Accuracy", "Fastest", "`auto`", "Best of wolfpack", "Best of others")
COLUMNS = ("case", "method", "library", "accuracy", "rounds", "calls", "gradients")
COLUMNS += ("seconds", "fastest", "slowest", "runs")


def heads(what: str) -> list[str]:
    """Return ``what`` and the accuracies, as headings."""
    return [what, *map(accuracy, LEVELS)]


def winners(result: SuiteResult) -> list[list[str]]:
    """Return, for every problem and accuracy, who is fastest: cells of `HEADS`."""
    rows = []
    for case in result.cases:
        autos = [entry for entry in case.entries if entry.method == "auto"]
        for level in LEVELS:
            best = case.best(level)
            auto = autos[0].reach(level) if autos else None
            winner = NOTHING if best is None else _named(best[0])
            time = NOTHING if auto is None else seconds(auto.seconds)
            bests = [_timed(case.best(level, ours)) for ours in (True, False)]
            rows.append([case.title, accuracy(level), winner, time, *bests])
    return rows


def score(result: SuiteResult) -> str:
    """Say how many problems this library and the others win."""
    best = [case.best(level) for case in result.cases for level in LEVELS]
    won = [pair[0].ours for pair in best if pair is not None]
    rivals = {e.method for case in result.cases for e in case.entries if not e.ours and e.traces}
    if not rivals:
        return f"{len(won)} of {len(best)} problems were solved; no other library took part."
    words = f"Of {len(best)} problems (a case and an accuracy each), a method of wolfpack is the "
    words += f"fastest for {sum(won)}, another library for {len(won) - sum(won)}"
    left = len(best) - len(won)
    return f"{words}; {left} had no solution in time." if left else f"{words}."


def cells(entry: Entry) -> list[str]:
    """Return a method and what it took to each accuracy."""
    found = ["failed" if entry.failure else _cell(entry.reach(level)) for level in LEVELS]
    return [_named(entry), *found]


def markdown(result: SuiteResult) -> str:
    """Return the results as a document, with date and machine."""
    how = dict(result.machine)
    where = f"{how.pop('processor')}, {how.pop('cores')} cores, {how.pop('system')}"
    versions = ", ".join(f"{name} {number}" for name, number in how.items())
    parts = [
        f"# Suite {result.suite}",
        f"{result.started[:10]}, {where}; {versions}. {repeats(result)}",
        score(result),
        _table(HEADS, winners(result)),
    ]
    for case in result.cases:
        rows = [cells(entry) for entry in case.entries]
        parts += [f"## {capital(case.title)}", _table(heads("method"), rows)]
        parts += [f"{entry.method}: {entry.failure}" for entry in case.entries if entry.failure]
    return "\n\n".join(parts) + "\n"


def repeats(result: SuiteResult) -> str:
    """Say how the runs were made."""
    times = "one run" if result.repeats == 1 else f"the median of {result.repeats} runs in turn"
    return f"Each number is {times} of at most {result.limit:g} s, with one BLAS thread."


def plain(result: SuiteResult) -> dict[str, Any]:
    """Return all numbers as plain data."""
    facts = ("suite", "started", "repeats", "limit", "machine", "complete")
    entries = [(case, entry) for case in result.cases for entry in case.entries]
    return {
        **{name: getattr(result, name) for name in facts},
        "levels": list(LEVELS),
        "rows": [row for case, entry in entries for row in _rows(case, entry)],
        "failures": [
            {"case": case.name, "method": entry.method, "error": entry.failure}
            for case, entry in entries
            if entry.failure
        ],
    }


def as_json(result: SuiteResult) -> str:
    """Return all numbers as JSON."""
    return json.dumps(plain(result), indent=1, allow_nan=False) + "\n"


def as_csv(result: SuiteResult) -> str:
    """Return all numbers as CSV, one line for each case, method and accuracy."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain(result)["rows"])
    return text.getvalue()


def accuracy(level: float) -> str:
    """Return an accuracy as people write it."""
    return f"{level:.0e}".replace("e-0", "e-")


def capital(words: str) -> str:
    """Return words with a capital first letter."""
    return words[0].upper() + words[1:]


def seconds(value: float) -> str:
    """Return a time with two or three digits."""
    return f"{1e3 * value:.2g} ms" if value < 0.1 else f"{value:.2g} s"


def _rows(case: CaseResult, entry: Entry) -> list[dict[str, Any]]:
    rows = []
    for level in LEVELS:
        reach = entry.reach(level)
        library = "wolfpack" if entry.ours else "outside"
        spent = (None,) * 4 if reach is None else astuple(reach)
        extent = entry.spread(level) or (None, None)
        values = (case.name, entry.method, library, level, *spent, *extent, len(entry.traces))
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def _named(entry: Entry) -> str:
    return entry.method if entry.ours else f"{entry.method} (other library)"


def _timed(found: tuple[Entry, float] | None) -> str:
    return NOTHING if found is None else f"{found[0].method}, {seconds(found[1])}"


def _cell(reach: Reach | None) -> str:
    if reach is None:
        return NOTHING
    counts = [f"{n:,}" for n in (reach.rounds, reach.calls, reach.gradients) if n is not None]
    return (f"{' / '.join(counts)} · " if counts else "") + seconds(reach.seconds)


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
