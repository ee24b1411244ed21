"""The results of a suite as tables: Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
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
            rows.append(
                [
                    case.title,
                    accuracy(level),
                    NOTHING if best is None else _named(best[0]),
                    NOTHING if auto is None else seconds(auto.seconds),
                    _timed(case.best(level, ours=True)),
                    _timed(case.best(level, ours=False)),
                ]
            )
    return rows


def score(result: SuiteResult) -> str:
    """Say how many problems this library and the others win."""
    best = [case.best(level) for case in result.cases for level in LEVELS]
    won = [pair[0].ours for pair in best if pair is not None]
    rivals = {e.method for case in result.cases for e in case.entries if not e.ours and e.traces}
    if not rivals:
        return f"{len(won)} of {len(best)} problems were solved; no other library took part."
    others = len(won) - sum(won)
    words = f"Of {len(best)} problems (a case and an accuracy each), a method of wolfpack is the "
    words += f"fastest for {sum(won)}, another library for {others}"
    left = len(best) - len(won)
    return f"{words}; {left} had no solution in time." if left else f"{words}."


def cells(entry: Entry) -> list[str]:
    """Return a method and what it took to each accuracy."""
    if entry.failure:
        return [_named(entry), *(["failed"] * len(LEVELS))]
    return [_named(entry), *(_cell(entry.reach(level)) for level in LEVELS)]


def markdown(result: SuiteResult) -> str:
    """Return the results as a document, with date and machine."""
    how = result.machine
    where = f"{how['processor']}, {how['cores']} cores, {how['system']}"
    versions = ", ".join(
        f"{name} {number}"
        for name, number in how.items()
        if name not in ("processor", "cores", "system")
    )
    out = [
        f"# Suite {result.suite}",
        "",
        f"{result.started[:10]}, {where}; {versions}. {repeats(result)}",
        "",
        score(result),
        "",
        *_table(HEADS, winners(result)),
    ]
    for case in result.cases:
        rows = [cells(entry) for entry in case.entries]
        out += [
            "",
            f"## {case.title[0].upper()}{case.title[1:]}",
            "",
            *_table(heads("method"), rows),
        ]
        out += [f"\n{entry.method}: {entry.failure}" for entry in case.entries if entry.failure]
    return "\n".join(out) + "\n"


def repeats(result: SuiteResult) -> str:
    """Say how the runs were made."""
    times = "one run" if result.repeats == 1 else f"the median of {result.repeats} runs in turn"
    return f"Each number is {times} of at most {result.limit:g} s, with one BLAS thread."


def plain(result: SuiteResult) -> dict[str, Any]:
    """Return all numbers as plain data."""
    facts = ("suite", "started", "repeats", "limit", "machine", "complete")
    return {
        **{name: getattr(result, name) for name in facts},
        "levels": list(LEVELS),
        "rows": [
            row for case in result.cases for entry in case.entries for row in _rows(case, entry)
        ],
        "failures": [
            {"case": case.name, "method": entry.method, "error": entry.failure}
            for case in result.cases
            for entry in case.entries
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


def seconds(value: float) -> str:
    """Return a time with two or three digits."""
    return f"{1e3 * value:.2g} ms" if value < 0.1 else f"{value:.2g} s"


def _rows(case: CaseResult, entry: Entry) -> list[dict[str, Any]]:
    rows = []
    for level in LEVELS:
        reach, spread = entry.reach(level), entry.spread(level)
        spent: dict[str, Any] = dict.fromkeys(COLUMNS[4:8])
        if reach is not None:
            spent = asdict(reach)
        fastest, slowest = spread or (None, None)
        rows.append(
            {
                "case": case.name,
                "method": entry.method,
                "library": "wolfpack" if entry.ours else "outside",
                "accuracy": level,
                **spent,
                "fastest": fastest,
                "slowest": slowest,
                "runs": len(entry.traces),
            }
        )
    return rows


def _named(entry: Entry) -> str:
    return entry.method if entry.ours else f"{entry.method} (other library)"


def _timed(found: tuple[Entry, float] | None) -> str:
    return NOTHING if found is None else f"{found[0].method}, {seconds(found[1])}"


def _cell(reach: Reach | None) -> str:
    if reach is None:
        return NOTHING
    counts = [f"{n:,}" for n in (reach.rounds, reach.calls, reach.gradients) if n is not None]
    return " · ".join([*([" / ".join(counts)] if counts else []), seconds(reach.seconds)])


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [headers, ["---"] * len(headers), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
