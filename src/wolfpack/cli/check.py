"""The commands around problem files: `wolfpack init` and `wolfpack check`."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..loop.forecast import in_units
from .common import (
    AsJson,
    DataRoot,
    InputError,
    MaxData,
    Overwrite,
    ProblemFile,
    access_of,
    bad_input,
    file_errors,
    plain_table,
    read_task,
)

if TYPE_CHECKING:
    from ..problem_file import Cost, Task


Kind = StrEnum("Kind", {"LASSO": "lasso", "LOW_RANK": "low-rank", "PORTFOLIO": "portfolio"})
"""Starter files that `wolfpack init` knows."""


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("problem.toml"),
    kind: Annotated[Kind, typer.Option(help="What it is about.")] = Kind.LASSO,
    overwrite: Overwrite = False,
) -> None:
    """Write a commented problem file to begin with.

    It runs as it is, with small data beside it.
    """
    from ..problem_file import write_starter

    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    path = path if path.suffix else path.with_suffix(".toml")
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; name another file, or pass --overwrite")
    with file_errors(f"{path} cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        files = write_starter(path, kind)
    print(f"Wrote {' and '.join(map(str, files))}. Next: wolfpack solve {path}")


def check(
    problem: ProblemFile,
    data_root: DataRoot = None,
    max_data: MaxData = 4.0,
    as_json: AsJson = False,
) -> None:
    """Check a problem file, and say what it will do and cost.

    Gradient, oracle and convexity are tested as by wolfpack.check. Nothing is written. Times are
    measured on a few calls and a short trial, of nodes where the file asks for integer points.
    Exits with 0 if all is well, 1 if a test found something wrong, 2 if the file is bad.
    """
    from ..front.check import check as examine
    from ..problem_file import measure

    task = read_task(problem, access_of(data_root, max_data))
    with bad_input(problem):
        cost = measure(task)
        report = examine(task.objective, task.set, quiet=True)
    choice = task.choice
    if as_json:
        plain: dict[str, Any] = {"title": task.title, "set": repr(task.set), **asdict(cost)}
        plain["options"] = choice.options if choice else {}
        plain["reason"] = choice.reason if choice else _named(task)
        plain["ok"] = report.ok
        plain["findings"] = [found._asdict() for found in report.findings]
        print(json.dumps(plain, indent=2))
    else:
        console = Console(highlight=False)
        console.print(f"{problem} is good: {task.title}", soft_wrap=True, markup=False)
        said = str(choice) if choice else f"method {cost.method!r}, {_named(task)}"
        console.print(said, markup=False)
        console.print(_cost_table(cost, task))
        console.print(str(report), markup=False)
    if not report.ok:
        raise typer.Exit(1)


def _named(task: Task) -> str:
    """Return why a method is used that nothing has chosen."""
    return "named in the file" if task.integer is None else "for integer = true in the file"


def _cost_table(cost: Cost, task: Task) -> Table:
    calls = f"{cost.round_oracles:.3g} oracle calls"
    unit, limits = "round", task.settings
    if task.integer is not None:
        unit, limits = "node", {"max_rounds": task.integer.get("max_nodes")}
    rows = [
        ("dimension", f"{cost.dimension:,}"),
        ("memory", f"{_size(cost.data_bytes)} of data, {_size(cost.x_bytes)} a point"),
        ("one gradient", _time(cost.gradient_seconds)),
        ("one oracle call", _time(cost.oracle_seconds)),
        (f"one {unit}", f"{_time(cost.round_seconds)}, {calls}, in this process"),
    ]
    if cost.blocks:
        largest = f"{cost.blocks:,} of data, the largest of {_size(cost.block_bytes)}"
        rows.insert(2, ("blocks", largest))
    if cost.workers > 1:
        share = _time(cost.gradient_seconds / cost.workers)
        sent = f"{_size(cost.sent_bytes)} to each and {_size(cost.sent_bytes)} back"
        rows.append((f"on {cost.workers} workers", f"{share} a gradient, after sending {sent}"))
    if task.integer is not None:
        rows.insert(1, ("integer entries", f"{cost.integers:,}"))
    if rounds := limits.get("max_rounds"):
        longest = _time(rounds * cost.round_seconds)
        text = f"{longest} if it takes all {rounds:,} {unit}s at this pace"
        rows.append(("the whole run", text))
    return plain_table(rows)


def _time(seconds: float) -> str:
    units = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3}
    return in_units(seconds, units) or f"{1e6 * seconds:.3g} us"


def _size(count: int) -> str:
    return in_units(count, {"GB": 2**30, "MB": 2**20, "kB": 2**10}) or f"{count} bytes"
