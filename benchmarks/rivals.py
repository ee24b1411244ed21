"""Rounds, oracle calls, gradients and seconds of every method to three accuracies.

    python benchmarks/rivals.py [--only CASE ...] [--limit SECONDS] [--json FILE] [--markdown FILE]

An accuracy is a certified gap as a fraction of the first one, which is the Frank-Wolfe gap at the
starting point. Other libraries take part where they are installed (`wolfpack.bench.outside`); the
points that they report are certified here in the same way, with the clock stopped. One BLAS thread.
The tables of docs/benchmarks/rivals.md come from this script.
"""

from __future__ import annotations

import argparse
import json
import platform
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from wolfpack.bench import CASES, LEVELS, Case, Row, contestants, measure


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
            runs = (measure(case, one, options.limit) for one in contestants(case))
            found = [row for row in runs if row is not None]
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
