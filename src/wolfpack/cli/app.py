"""The command line: `wolfpack solve`, `check`, `init`, `resume`, `watch`, `bench`,
`reproduce`, `info`.

Exit codes: 0 done; 1 the results are written, but the goal is not reached; 2 bad input (one line
says what); 3 the work could not be carried out, or its results not be written; 130 interrupted from
the keyboard before there were results.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer
from rich.console import Console
from rich.table import Table

import wolfpack

from .bench import bench
from .check import check, init
from .common import (
    AsJson,
    Failure,
    InputError,
    NotCarriedOut,
    Quiet,
    Unfinished,
    input_errors,
    make_folder,
    only_run,
    plain_table,
    writing,
)
from .live import fraction_bar
from .solve import resume, solve
from .watch import watch

if TYPE_CHECKING:
    from ..paper.experiments import RunsProgress
    from ..paper.reproduce import Outcome

# The base class of all usage errors, in Typer's own copy of Click or in the installed one.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

EXTRAS = {"plots": "matplotlib", "parquet": "pyarrow", "torch": "torch", "jax": "jax"}
EXTRAS |= {"dask": "dask", "ray": "ray", "mpi": "mpi4py"}
ENGINES = dict.fromkeys(("local", "threads", "processes"))
ENGINES |= {"dask": "distributed", "ray": "ray", "mpi": "mpi4py"}
"""Extras and engines, and the package that each needs."""

ABSTRACT = ("Objective", "as_objective")

app = typer.Typer(name="wolfpack", pretty_exceptions_enable=False, rich_markup_mode=None)
for command in (solve, check, init, resume, watch, bench):
    app.command()(command)


Selection = StrEnum("Selection", "figure1 figure2 figure3 all")
"""What `wolfpack reproduce` can be asked for."""


@app.callback(invoke_without_command=True)
def wolfpack_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Projection-free convex optimization with parallel linear oracles."""
    if version:
        print(f"wolfpack {wolfpack.__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def reproduce(
    figures: Annotated[Selection, typer.Argument(help="What to run.")] = Selection.all,
    out: Annotated[
        Path, typer.Option(help="Folder to write into; made if it does not exist.")
    ] = Path("figures"),
    quick: Annotated[
        bool, typer.Option("--quick", help="2,000 iterations a run instead of 100,000.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(min=10, help="Iterations a run.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; one for each core by default.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce the figures of the paper: PNG, SVG, CSV and a page that explains them."""
    from ..paper.reproduce import reproduce
    from ..paper.series import FIGURES, FULL_ROUNDS, QUICK_ROUNDS
    from ..report import need_matplotlib

    if quick and rounds is not None:
        raise InputError("--quick and --rounds exclude each other: --quick means --rounds 2000")
    with input_errors(ImportError):
        need_matplotlib()
    make_folder(out)
    chosen = [f for name, f in FIGURES.items() if figures in (name, "all")]
    length = rounds or (QUICK_ROUNDS if quick else FULL_ROUNDS)
    command = ["wolfpack", "reproduce", figures, "--out", str(out)]
    command += ["--quick"] if quick else ["--rounds", str(rounds)] if rounds else []
    with only_run(out), fraction_bar(quiet or as_json) as move, writing(out):

        def watch(now: RunsProgress) -> None:
            move(now.fraction, f"{now.finished}/{now.total} runs")

        try:
            outcome = reproduce(chosen, out, length, jobs, shlex.join(command), watch)
        except BrokenProcessPool:
            raise NotCarriedOut("a worker process died; it may have run out of memory") from None
    if as_json:
        print(json.dumps(_summary(outcome), indent=2))
    elif not quiet:
        _show(outcome, out)
    if not outcome.complete:
        records = outcome.results.records.items()
        ended = [f"{run.name} ({r.status})" for run, r in records if r.status != "max_rounds"]
        raise Unfinished(f"not every run reached its last iteration: {', '.join(ended)}")


@app.command()
def info(as_json: AsJson = False) -> None:
    """Show versions, methods, sets, objectives, engines, devices and optional packages found."""
    from ..arrays import devices
    from ..engines._choose import cores
    from ..front.methods import METHODS
    from ..report.machine import SYSTEM, versions

    facts: dict[str, Any] = {
        "wolfpack": wolfpack.__version__,
        **versions(("numpy", "scipy")),
        "platform": SYSTEM,
        "cores": cores(),
        "devices": devices(),
        "methods": list(METHODS),
        "sets": [name for name in wolfpack.sets.__all__ if name != "Set"],
        "objectives": [n for n in wolfpack.objectives.__all__ if n not in ABSTRACT],
        "noise": list(wolfpack.noise.LAWS),
        "engines": {name: m is None or find_spec(m) is not None for name, m in ENGINES.items()},
        "extras": {name: find_spec(module) is not None for name, module in EXTRAS.items()},
    }
    if as_json:
        print(json.dumps(facts, indent=2))
        return
    for key in ("engines", "extras"):
        found = facts[key].items()
        facts[key] = [name if here else f"{name} (missing)" for name, here in found]
    places = facts["devices"].items()
    facts["devices"] = "\n".join(f"{name}: {', '.join(found)}" for name, found in places)
    texts = (", ".join(v) if isinstance(v, list) else str(v) for v in facts.values())
    Console(highlight=False).print(plain_table(zip(facts, texts, strict=True)))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; return its exit code."""
    _prepare_streams()
    try:
        code = app(args=arguments, prog_name="wolfpack", standalone_mode=False)
        sys.stdout.flush()
        # some versions of Typer turn Ctrl-C into this code, others into an exception
        return _fail("interrupted", code) if code == 130 else code or 0
    except UsageError as error:
        message = cast(typer.BadParameter, error).format_message()
        return _fail(message.replace("Value error, ", ""), 2)
    except Failure as error:
        return _fail(str(error), error.code)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    except BrokenPipeError:
        _abandon(sys.stdout)  # the reader of our output left
        return NotCarriedOut.code
    except OSError as error:
        _abandon(sys.stdout)
        what = f"cannot write to the standard output: {error.strerror or error}"
        return _fail(what if error.filename is None else str(error), NotCarriedOut.code)
    except Exception:
        with contextlib.suppress(OSError):
            traceback.print_exc()
        what = "this is a mistake of wolfpack's own: please report it with the lines above"
        return _fail(what, NotCarriedOut.code)


def _fail(message: str, code: int) -> int:
    try:
        print(f"wolfpack: {' '.join(message.split())}", file=sys.stderr)
        sys.stderr.flush()
    except OSError:  # a full disk, or a reader that left: the exit code is all that can be said
        _abandon(sys.stderr)
    return code


def _prepare_streams() -> None:
    """Give closed streams a place to write to, and other characters than the locale's a form."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # this also keeps files that are opened later from becoming the standard output
            setattr(sys, name, open(os.devnull, "w", errors="replace", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _abandon(stream: TextIO) -> None:
    """Send what is still to be written nowhere; Python would complain when it closes the stream."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _summary(outcome: Outcome) -> dict[str, Any]:
    """Return the results as plain data."""
    results = outcome.results
    return {
        "rounds": results.rounds,
        "seconds": round(outcome.seconds, 3),
        "files": [str(path) for path in outcome.files],
        "series": [
            {
                "figure": figure.name,
                "panel": panel.letter,
                "series": curve.series,
                "status": results.records[curve.run].status,
                "gap": {str(k): results.value(curve, k) for k in results.milestones},
            }
            for figure in results.figures
            for panel, curve in figure.curves
            if curve.bound is None
        ],
        "references": [
            {**vars(reference), "measured": measured}
            for reference, _, measured in results.references()
        ],
    }


def _show(outcome: Outcome, out: Path) -> None:
    """Print where the files are, and the gaps that have a reference value."""
    from ..paper.explain import gap_text, panel_name, plain

    console = Console(highlight=False)
    table = Table("Panel", "Series", title="Best gap", title_justify="left", box=None)
    for name in ("Iteration", "Measured", "Reference"):
        table.add_column(name, justify="right")
    for reference, panel, measured in outcome.results.references():
        gaps = (gap_text(measured), gap_text(reference.gap))
        table.add_row(panel_name(panel), plain(reference.series), f"{reference.round:,}", *gaps)
    if table.rows:
        console.print(table)
    done = f"Wrote {len(outcome.files)} files in {outcome.seconds:.0f} s."
    console.print(f"{done} Open {out / 'index.html'}", soft_wrap=True)
