"""Results of earlier runs, read back from their ``results.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cases import CASES
from .measure import COUNTS, LEVELS, Trace
from .suites import CaseResult, Entry, SuiteResult


def load(paths: Sequence[Path]) -> SuiteResult:
    """Return the results of several runs on one machine as if they had been one.

    The files, written by `wolfpack bench`, hold the medians at the accuracies and nothing between
    them. If several files hold a case, the last one counts. A `ValueError` says that a file is not
    such a result, or that the machines differ.
    """
    found = [_read(path) for path in paths]
    first = found[0]
    cases: dict[str, CaseResult] = {}
    for path, content in zip(paths, found, strict=True):
        other = {k for k in first["machine"] if content["machine"].get(k) != first["machine"][k]}
        if other:
            raise ValueError(
                f"{path} and {paths[0]} come from different machines or versions "
                f"({', '.join(sorted(other))}): their times cannot be compared"
            )
        names = dict.fromkeys(row["case"] for row in content["rows"])
        cases |= {name: _case(name, content) for name in names}
    suites = list(dict.fromkeys(content["suite"] for content in found))
    return SuiteResult(
        suites[0] if len(suites) == 1 else "several",
        list(cases.values()),
        min(content["repeats"] for content in found),
        max(content["limit"] for content in found),
        min(content["started"] for content in found),
        first["machine"],
        all(content["complete"] for content in found),
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        keys = ("suite", "started", "repeats", "limit", "machine", "complete", "rows", "failures")
        missing = [key for key in keys if key not in content]
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if missing or content.get("levels") != list(LEVELS):
        raise ValueError(f"{path} is not a result of this version of 'wolfpack bench'")
    return content


def _case(name: str, content: dict[str, Any]) -> CaseResult:
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in content["rows"]:
        if row["case"] == name:
            by_method.setdefault(row["method"], []).append(row)
    failures = {f["method"]: f["error"] for f in content["failures"] if f["case"] == name}
    entries = [
        Entry(method, rows[0]["library"] == "wolfpack", _trace(rows), failures.get(method, ""))
        for method, rows in by_method.items()
    ]
    return CaseResult(name, CASES[name]().title if name in CASES else name, entries)


def _trace(rows: list[dict[str, Any]]) -> list[Trace]:
    """Return a run that reaches the accuracies when the medians say."""
    reached = [row for row in rows if row["seconds"] is not None]
    if not reached:
        return []
    counts = {
        name: np.array([row[name] for row in reached])
        for name in COUNTS
        if all(row[name] is not None for row in reached)
    }
    seconds = np.array([row["seconds"] for row in reached])
    return [Trace(seconds, np.array([row["accuracy"] for row in reached]), counts)]
