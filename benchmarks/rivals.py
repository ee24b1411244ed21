"""Rounds, oracle calls, gradients and seconds of every method to three accuracies.

    python benchmarks/rivals.py [--only CASE ...] [--repeats 3] [--limit SECONDS] [--out FOLDER]
    python benchmarks/rivals.py --only --page docs/benchmarks/rivals.md

An accuracy is a certified gap as a fraction of the first one, which is the Frank-Wolfe gap at the
starting point. Other libraries take part where they are installed (`wolfpack.bench.outside`,
``make install-bench``); the points that they report are certified here in the same way, with the
clock stopped. One BLAS thread; methods take turns, numbers are medians. Each case leaves one JSON
file in the folder; --page writes the tables of all of them into the documentation, where those of
other cases stay.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pages import insert, lines_below, table, where
from rich.console import Console
from rich.markdown import Markdown

from wolfpack.bench import CASES, LEVELS, run_suite
from wolfpack.bench.tables import NOTHING, accuracy, as_json, seconds

Rows = dict[str, dict[float, dict[str, Any]]]
"""By method and accuracy: what it took."""


def read(path: Path) -> tuple[Rows, dict[str, Any]]:
    """Return what a case's file holds: its numbers, and how they were measured."""
    content = json.loads(path.read_text(encoding="utf-8"))
    rows: Rows = {}
    for row in content.pop("rows"):
        rows.setdefault(row["method"], {})[row["accuracy"]] = row
    return rows, content


def methods_table(rows: Rows) -> str:
    """Return what every method took."""
    cells = [
        [method, *(_cell(by_level[level]) for level in LEVELS)] for method, by_level in rows.items()
    ]
    return table(["method", *map(accuracy, LEVELS)], cells)


def winners_table(found: dict[str, Rows]) -> str:
    """Return who is fastest on every problem."""
    heads = ["problem", "accuracy", "fastest here", "fastest elsewhere", "elsewhere / here"]
    cells = []
    for name, rows in found.items():
        for level in LEVELS:
            ours = min(_reached(rows, level, "wolfpack"), key=_seconds, default=None)
            other = min(_reached(rows, level, "outside"), key=_seconds, default=None)
            ratio = NOTHING
            if ours is not None and other is not None:
                times = _seconds(other) / _seconds(ours)
                ratio = f"{times:,.0f}" if times >= 10 else f"{times:.2g}"
            cells.append([name, accuracy(level), _timed(ours), _timed(other), ratio])
    return table(heads, cells)


def counts_table(found: dict[str, Rows]) -> str:
    """Return which oracle method takes the fewest rounds and oracle calls."""
    cells = []
    for name, rows in found.items():
        best = []
        for what in ("rounds", "calls"):
            for level in LEVELS[1:]:
                taking_part = [
                    row
                    for row in _reached(rows, level, "wolfpack")
                    if row["method"] not in ("auto", "projected")
                ]
                best.append(_counted(taking_part, what))
        cells.append([name, *best])
    names = ("rounds", "oracle calls")
    heads = [f"fewest {what} to {accuracy(level)}" for what in names for level in LEVELS[1:]]
    return table(["problem", *heads], cells)


def _reached(rows: Rows, level: float, library: str) -> list[dict[str, Any]]:
    found = (by[level] for by in rows.values())
    return [row for row in found if row["library"] == library and row["seconds"] is not None]


def _seconds(row: dict[str, Any]) -> float:
    return row["seconds"]


def _timed(row: dict[str, Any] | None) -> str:
    return NOTHING if row is None else f"{row['method']}, {seconds(row['seconds'])}"


def _counted(rows: list[dict[str, Any]], what: str) -> str:
    best = min(rows, key=lambda row: row[what], default=None)
    return NOTHING if best is None else f"{best['method']}, {best[what]:,}"


def _cell(row: dict[str, Any]) -> str:
    if row["seconds"] is None:
        return NOTHING
    counts = [f"{row[name]:,}" for name in ("rounds", "calls", "gradients") if row[name]]
    return " · ".join([*([" / ".join(counts)] if counts else []), seconds(row["seconds"])])


def write(folder: Path, page: Path) -> None:
    """Write all tables into the page."""
    files = {name: folder / f"{name}.json" for name in CASES}
    found = {name: read(path) for name, path in files.items() if path.exists()}
    numbers = {name: rows for name, (rows, _) in found.items()}
    fastest, fewest = (_joined(one(numbers), page) for one in (winners_table, counts_table))
    versions = [where(how["machine"]).split("; ")[-1] for _, how in found.values()]
    text = f"{fastest}\n\nOf the methods of linear oracles:\n\n{fewest}"
    insert(page, "winners", "\n\n".join([text, *(f"Two cores, {v}." for v in versions[-1:])]))
    for name, (rows, how) in found.items():
        failed = "".join(f"\n\n{one['method']}: {one['error']}" for one in how["failures"])
        facts = f"`python benchmarks/rivals.py --only {name} --repeats {how['repeats']} --limit "
        facts += f"{how['limit']:g}`, {how['started'][:10]}, on {how['machine']['processor']}."
        title = CASES[name]().title
        text = f"### {title[0].upper()}{title[1:]}\n\n{methods_table(rows)}{failed}\n\n{facts}"
        insert(page, name, text)


def _joined(new: str, page: Path) -> str:
    """Return a table with what the page holds of the cases that are not in it."""
    heading, rule, *lines = new.splitlines()
    measured = {_case(line) for line in lines}
    lines += [line for line in lines_below(page, heading) if _case(line) not in measured]
    order = list(CASES)
    return "\n".join([heading, rule, *sorted(lines, key=lambda line: order.index(_case(line)))])


def _case(line: str) -> str:
    """Return the first cell of a row."""
    return line.split(" | ")[0].removeprefix("| ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each method")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each run")
    parser.add_argument("--out", type=Path, default=Path("rivals-out"), help="folder of results")
    parser.add_argument("--page", type=Path, help="write all tables into this page")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        result = run_suite("all", options.repeats, options.limit, cases=[name])
        path = options.out / f"{name}.json"
        path.write_text(as_json(result), encoding="utf-8")
        Console(width=120).print(Markdown(f"# {name}\n\n{methods_table(read(path)[0])}"))
    if options.page is not None:
        write(options.out, options.page)


if __name__ == "__main__":
    main()
