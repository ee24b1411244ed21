"""The command that compares methods and libraries: `wolfpack bench`."""

from __future__ import annotations

import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from .common import (
    AsJson,
    InputError,
    Quiet,
    Unfinished,
    input_errors,
    make_folder,
    only_run,
    plain_table,
    writing,
)
from .live import fraction_bar

if TYPE_CHECKING:
    from ..bench import SuiteResult


SuiteName = StrEnum("SuiteName", "paper simplex spectral flows all")
"""The suites of `wolfpack.bench`, named here so that `--help` does not import them."""


def bench(
    suite: Annotated[SuiteName, typer.Option(help="What to run.")] = SuiteName.paper,
    out: Annotated[
        Path, typer.Option(help="Folder to write into; made if it does not exist.")
    ] = Path("bench"),
    repeats: Annotated[int | None, typer.Option(min=1, help="Runs of each; 3 by default.")] = None,
    limit: Annotated[
        float | None, typer.Option(min=0.01, help="Seconds for each run; 10 by default.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One run of each, of one second at most.")
    ] = False,
    earlier: Annotated[
        list[Path] | None,
        typer.Option("--from", help="A results.json to show again, with others; runs nothing."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show suites and libraries; run nothing.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare the methods with each other and with other libraries: tables, profiles, a page."""
    from ..bench import load, write
    from ..bench.tables import plain

    if show_list:
        _list(as_json)
        return
    if quick and (repeats is not None or limit is not None):
        raise InputError("--quick means --repeats 1 --limit 1: give it or them, not both")
    make_folder(out)
    repeats, limit = (1, 1.0) if quick else (repeats or 3, limit or 10.0)
    with only_run(out):
        if earlier:
            command = ["wolfpack", "bench", *(f"--from={path}" for path in earlier)]
            with input_errors(ValueError):
                result = load(earlier)
        else:
            result = _run(suite, repeats, limit, quiet or as_json)
            command = ["wolfpack", "bench", "--suite", suite]
            command += ["--repeats", str(repeats), "--limit", f"{limit:g}"]
        with writing(out):
            written, notes = write(result, out, shlex.join([*command, "--out", str(out)]))
    if as_json:
        print(json.dumps({**plain(result), "files": [str(path) for path in written]}, indent=2))
    elif not quiet:
        _show(result, written, notes)
    if not (result.complete or earlier):
        raise Unfinished(f"interrupted: {out} holds the {len(result.cases)} cases that were done")


def _run(suite: str, repeats: int, limit: float, silent: bool) -> SuiteResult:
    from ..bench import run_suite

    if not silent:
        _say_missing(Console(stderr=True, highlight=False))
    with fraction_bar(silent) as watch:
        result = run_suite(suite, repeats, limit, lambda now, k, n: watch(k / n, now))
    if not (result.complete or result.cases):
        raise KeyboardInterrupt
    return result


def _list(as_json: bool) -> None:
    from ..bench import LIBRARIES, SUITES, missing

    absent = missing()
    if as_json:
        suites = {name: list(cases) for name, (_, cases) in SUITES.items()}
        found = {name: name not in absent for name in LIBRARIES}
        print(json.dumps({"suites": suites, "libraries": found}, indent=2))
        return
    console = Console(highlight=False)
    about = {name: f"{words}: {', '.join(cases)}" for name, (words, cases) in SUITES.items()}
    console.print(plain_table((about | {"all": SUITES["all"][0]}).items()))
    here = [name for name in LIBRARIES if name not in absent]
    console.print(f"Libraries to compare with: SciPy{''.join(f', {name}' for name in here)}")
    _say_missing(console)


def _say_missing(console: Console) -> None:
    from ..bench import missing

    if absent := missing():
        how = "make install-bench, or pip install 'wolfpack[bench]'"
        words = f"Not installed, hence left out: {', '.join(absent)}. To add them: {how}"
        console.print(words, markup=False)


def _show(result: SuiteResult, written: list[Path], notes: list[str]) -> None:
    from ..bench.tables import HEADS, score, winners

    console = Console(highlight=False)
    table = Table(*(head.strip("`") for head in HEADS), box=None, padding=(0, 2, 0, 0))
    for row in winners(result):
        table.add_row(*row)
    console.print(table)
    console.print(score(result))
    for note in notes:
        console.print(note, markup=False)
    console.print(f"Wrote {len(written)} files. Open {written[-1]}", soft_wrap=True, markup=False)
