"""Rounds, oracle calls, gradients and seconds of every method to three accuracies.

    python benchmarks/rivals.py [--only CASE ...] [--limit SECONDS] [--json FILE] [--markdown FILE]

An accuracy is a certified gap as a fraction of the first one, which is the Frank-Wolfe gap at the
starting point. Other libraries take part where they are installed (`outside.py`); the points that
they report are certified here in the same way, with the clock stopped. One BLAS thread.
The tables of docs/benchmarks/rivals.md come from this script.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import outside
from rich.console import Console
from rich.table import Table
from rival_cases import CASES, Case
from threadpoolctl import threadpool_limits

import wolfpack as wp

LEVELS = (1e-2, 1e-4, 1e-6)


@dataclass
class Reach:
    """What it took to reach an accuracy; None where a library does not tell."""

    rounds: int | None
    calls: int | None
    gradients: int | None
    seconds: float

    def __str__(self) -> str:
        counts = [n for n in (self.rounds, self.calls, self.gradients) if n is not None]
        seconds = f"{self.seconds:.3f}" if self.seconds < 0.1 else f"{self.seconds:.2g}"
        return " · ".join([*([" / ".join(map(str, counts))] if counts else []), f"{seconds} s"])


@dataclass
class Row:
    """A method on a case: what it took to reach each level, None where it did not."""

    case: str
    method: str
    reached: list[Reach | None]


def methods(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and settings of all methods that apply."""
    K = case.K
    if K.has("project"):
        yield "projected", {"method": "projected"}
    for m in (1, 16):
        yield f"corrective m={m}", {"method": "corrective", "m": m}
    if K.closed_forms:
        yield "anytime exact", {"method": "anytime", "m": "exact"}
    yield "anytime m=16", {"method": "anytime", "m": 16}
    yield "r-pfw m=16", {"method": "r-pfw", "m": 16}
    yield "bpcg lazy", {"method": "bpcg", "lazy": True}
    names = "fcfw bpcg pairwise away lazy momentum cgs conjugate biconjugate fw-ls fw-short fw"
    for name in names.split():
        yield name, {"method": name}


def measure(case: Case, name: str, settings: dict[str, Any], limit: float) -> Row:
    """Return what a method of this library takes."""
    f, K = case.f, case.K
    x0 = K.start()
    first = outside.gap(f, K, x0)
    run = {"tol": LEVELS[-1] * first, "max_seconds": limit, "max_rounds": 200_000} | settings
    history = wp.minimize(f, K, x0, **run).history
    reached: list[Reach | None] = []
    for level in LEVELS:
        hits = np.flatnonzero(history["gap"] <= level * first)
        if not hits.size:
            reached.append(None)
            continue
        at = hits[0]
        counts = (int(history[column][at]) for column in ("round", "nlmo", "njev"))
        reached.append(Reach(*counts, float(history["seconds"][at])))
    return Row(case.title, name, reached)


def measure_outside(case: Case, rival: outside.Rival, limit: float) -> Row | None:
    """Return what another library takes, from the points that it reports; None if it fails."""
    first = outside.gap(case.f, case.K, case.K.start())
    try:
        trace = rival.run(case, LEVELS[-1] * first, limit)
    except Exception as error:
        print(f"{case.title}, {rival.name}: {type(error).__name__}: {error}")
        return None
    reached: list[Reach | None] = []
    for level in LEVELS:
        hits = [i for i, point in enumerate(trace) if point.gap <= level * first]
        found = trace[hits[0]] if hits else None
        reached.append(None if found is None else Reach(found.rounds, None, None, found.seconds))
    return Row(case.title, rival.name, reached)


def show(case: Case, rows: list[Row]) -> None:
    table = Table(title=f"{case.title}: rounds / oracle calls / gradients · seconds")
    for heading in ("method", *(f"{level:g}" for level in LEVELS)):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.method, *("-" if r is None else str(r) for r in row.reached))
    Console(width=120).print(table)


def markdown(rows: list[Row]) -> str:
    """Return the tables for the documentation."""
    out: list[str] = []
    for title in dict.fromkeys(row.case for row in rows):
        heads = "".join(f" {level:g} |" for level in LEVELS)
        out += [f"### {title[0].upper()}{title[1:]}", "", f"| method |{heads}", "|---|---|---|---|"]
        for row in rows:
            if row.case == title:
                cells = "".join(f" {'-' if r is None else r} |" for r in row.reached)
                out.append(f"| {row.method} |{cells}")
        out.append("")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each run")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    parser.add_argument(
        "--markdown", type=Path, help="also write tables for the documentation here"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    with threadpool_limits(1):
        for name in options.only:
            case = CASES[name]()
            found = [measure(case, *method, options.limit) for method in methods(case)]
            others = (measure_outside(case, rival, options.limit) for rival in outside.rivals(case))
            found += [row for row in others if row is not None]
            show(case, found)
            rows += found
    if options.json is not None:
        system = {"machine": platform.machine(), "python": platform.python_version()}
        content = {"system": system, "levels": LEVELS, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(content, indent=1))
    if options.markdown is not None:
        options.markdown.write_text(markdown(rows))


if __name__ == "__main__":
    main()
