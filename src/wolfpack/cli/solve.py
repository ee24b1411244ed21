"""The commands that run problem files: `wolfpack solve` and `wolfpack resume`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..files import write_text
from ..loop.live_file import NAME as PROGRESS
from .common import (
    AsJson,
    DataRoot,
    InputError,
    Interrupted,
    MaxData,
    Overwrite,
    ProblemFile,
    Quiet,
    access_of,
    bad_input,
    input_errors,
    make_folder,
    only_run,
    plain_table,
    read_task,
    writing,
)
from .live import Display

if TYPE_CHECKING:
    from ..loop import Result
    from ..problem_file import Access, EarlierFiles, Task, Written

CHECKPOINT = "run.ckpt"

EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="auto, local, threads[:n], processes[:n], dask, ray, mpi."),
]


class Liftable(StrEnum):
    """Limits that `resume` can lift."""

    MAX_ROUNDS = "max_rounds"
    MAX_SECONDS = "max_seconds"
    MAX_LMO = "max_lmo"


Log = Annotated[Path | None, typer.Option(help="File to add a line to every few seconds.")]


def solve(
    problem: ProblemFile,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; '<file>-out' by default.")
    ] = None,
    engine: EngineName = None,
    data_root: DataRoot = None,
    max_data: MaxData = 4.0,
    overwrite: Overwrite = False,
    log: Log = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Solve a problem file.

    Exits with 0 if the certified gap is within the tolerance, 1 if not (the results are written in
    both cases), 2 if the input is bad, 3 if the run could not be carried out or written, 130 if
    Ctrl-C came before the results.
    """
    from ..front.integer import minimize_integer
    from ..front.minimize import minimize

    access = access_of(data_root, max_data)
    task = read_task(problem, access)
    folder = out or Path(task.output.folder or f"{problem.stem}-out")
    solver = minimize if task.integer is None else minimize_integer
    settings = dict(task.settings if task.integer is None else task.integer)
    settings["engine"] = _engine(engine or settings.get("engine"))
    command = ["wolfpack", "solve", str(problem), "--out", str(folder)]
    command += ["--engine", engine] if engine else []
    command += ["--data-root", str(data_root)] if data_root else []
    with ExitStack() as held:
        earlier = None
        with _first_rank(settings["engine"]) as leads:
            if leads:
                make_folder(folder)
                held.enter_context(only_run(folder))
                earlier = _earlier(folder, overwrite)
                _remember(folder, problem, access)
        if leads and task.output.checkpoint:
            settings["checkpoint"] = folder / CHECKPOINT
        job = _Job(solver, problem, task, settings, folder, shlex.join(command), leads, earlier)
        job.run(log, as_json, quiet)


def resume(
    file: Annotated[Path, typer.Argument(help="A checkpoint, or the folder of results it is in.")],
    problem: Annotated[
        Path | None, typer.Option(help="The problem file, if it has moved since the run.")
    ] = None,
    engine: EngineName = None,
    tol: Annotated[float | None, typer.Option(min=0.0, help="New tolerance.")] = None,
    max_rounds: Annotated[int | None, typer.Option(min=0, help="New limit.")] = None,
    max_seconds: Annotated[float | None, typer.Option(min=0.0, help="New limit.")] = None,
    max_lmo: Annotated[int | None, typer.Option(min=0, help="New limit.")] = None,
    lift: Annotated[
        list[Liftable] | None,
        typer.Option(help="Lift this limit of the run before; give it again for another one."),
    ] = None,
    log: Log = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run from its checkpoint.

    The result has the same bits as if the run had never stopped. Exit codes are those of solve.
    """
    from ..front.resume import resume
    from ..problem_file.schema import STOP

    checkpoint = file / CHECKPOINT if file.is_dir() else file
    if not checkpoint.is_file():
        raise InputError(f"there is no checkpoint {checkpoint}")
    problem, access = _recall(checkpoint.parent, problem)
    task = read_task(problem, access)
    make_folder(checkpoint.parent)
    given = {"tol": tol, "max_rounds": max_rounds, "max_seconds": max_seconds, "max_lmo": max_lmo}
    limits = {key: value for key, value in task.settings.items() if key in STOP}
    if task.integer is not None and "max_nodes" in task.integer:
        limits["max_rounds"] = task.integer["max_nodes"]
    limits |= {key: value for key, value in given.items() if value is not None}
    lifted = [limit.value for limit in lift or []]
    for name in lifted:
        if given[name] is not None:
            raise InputError(f"--lift {name} and a new value of it were given: leave one out")
        limits[name] = None
    engine = _engine(engine or task.settings.get("engine"))
    command = ["wolfpack", "resume", str(file)]
    for key, value in given.items():
        command += [f"--{key.replace('_', '-')}", str(value)] if value is not None else []
    for name in lifted:
        command += ["--lift", name]
    with ExitStack() as held:
        with _first_rank(engine) as leads:
            if leads:
                held.enter_context(only_run(checkpoint.parent))
        call, settings = partial(resume, checkpoint), {"engine": engine, **limits}
        job = _Job(call, checkpoint, task, settings, checkpoint.parent, shlex.join(command), leads)
        job.run(log, as_json, quiet)


@dataclass
class _Job:
    """A run of ``solver(objective, set, **settings)`` whose results go into ``folder``.

    Messages name ``source``. ``leads`` says whether this process is the one that writes. Its files
    replace the ``earlier`` ones.
    """

    solver: Callable[..., Result]
    source: Path
    task: Task
    settings: dict[str, Any]
    folder: Path
    command: str
    leads: bool
    earlier: EarlierFiles | None = None

    def run(self, log: Path | None, as_json: bool, quiet: bool) -> None:
        """Run it, show it meanwhile, write the results and print what was asked for."""
        console = Console(stderr=True, highlight=False)
        shown = console.is_terminal and not (as_json or quiet)
        display = Display(self.settings, console if shown else None, log)
        with _interruptible(self.folder):
            with bad_input(self.source), display:
                result = self.solver(
                    self.task.objective,
                    self.task.set,
                    progress=False,
                    callback=display.callback,
                    watch=self.folder if self.leads else None,
                    **self.settings,
                )
                display.finish(result)
            if self.leads:
                written = self._write(result)
                if as_json:
                    files = [str(path) for path in written.files]
                    print(json.dumps({**written.summary, "files": files}, indent=2))
                elif not quiet:
                    _show(result, written, self.folder)
                    self._tell_how_to_go_on(result)
        if not result.success:
            raise typer.Exit(1)

    def _tell_how_to_go_on(self, result: Result) -> None:
        if result.status == "interrupted" and (self.folder / CHECKPOINT).exists():
            words = shlex.join(["wolfpack", "resume", str(self.folder)])
            Console(highlight=False).print(f"To go on: {words}", soft_wrap=True, markup=False)

    def _write(self, result: Result) -> Written:
        from ..problem_file import write
        from ..report.machine import versions

        facts = {
            "versions": versions(("wolfpack", "numpy", "scipy")),
            "command": self.command,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with writing(self.folder):
            written = write(result, self.task, self.folder, facts, self.earlier)
            (self.folder / PROGRESS).unlink(missing_ok=True)
            return written


def _earlier(folder: Path, overwrite: bool) -> EarlierFiles:
    """Return the files of an earlier run, which are replaced only when asked, and at the end."""
    from ..problem_file import EarlierFiles

    found = EarlierFiles(folder)
    # A run that failed early leaves nothing but run.json, which is not worth keeping.
    if any(name != "run.json" for name in found.names) and not overwrite:
        hint = "to solve again, pass --overwrite, or name another folder with --out"
        raise InputError(f"{folder} holds the results of an earlier run; {hint}")
    return found


def _remember(folder: Path, problem: Path, access: Access) -> None:
    """Write down which problem is run here, for `wolfpack resume`."""
    facts = {
        "problem": os.path.relpath(problem.resolve(), folder.resolve()),
        "data_root": str(access.root.resolve()) if access.root else None,
        "most_bytes": access.most_bytes,
    }
    with writing(folder):
        write_text(folder / "run.json", json.dumps(facts, indent=2) + "\n")


def _recall(folder: Path, problem: Path | None) -> tuple[Path, Access]:
    """Return the problem file of the run in ``folder`` and what it may read."""
    from ..problem_file import Access

    try:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        root = facts["data_root"]
        access = Access(Path(root) if root else None, int(facts["most_bytes"]))
        return problem or folder / facts["problem"], access
    except (OSError, ValueError, KeyError, TypeError):
        if problem is not None:
            return problem, Access()
        missing = f"{folder / 'run.json'} does not say which problem this is"
        raise InputError(f"{missing}; name it with --problem") from None


def _show(result: Result, written: Written, folder: Path) -> None:
    console = Console(highlight=False)
    console.print(f"{result.status}: {result.message}", markup=False)
    rows = [
        ("fun", f"{result.fun:.9g}"),
        ("lower bound", f"{result.lower_bound:.9g}"),
        ("gap", f"{result.gap:.9g}"),
        ("nodes" if "nodes" in result else "rounds", f"{result.nit:,}"),
        ("oracle calls", f"{result.nlmo:,}"),
        ("seconds", f"{result.seconds:.3g}"),
    ]
    console.print(plain_table(rows))
    for note in written.notes:
        console.print(note, markup=False)
    names = ", ".join(path.name for path in written.files)
    console.print(f"Wrote {names} in {folder}", soft_wrap=True, markup=False)


def _engine(engine: str | None) -> str | None:
    """Return where the oracles run: on the ranks, if the command was started on several."""
    from ..engines.mpi_ import ranks

    if ranks() == 1 or engine == "mpi":
        return engine
    if engine is not None:
        raise InputError(
            f"{ranks()} ranks were started, each of which would solve the problem by itself on "
            f"engine {engine}: use --engine mpi, or leave mpiexec out"
        )
    return "mpi"


@contextmanager
def _first_rank(engine: str | None) -> Iterator[bool]:
    """Tell whether this process is the one that writes; others wait for it, and end if it fails."""
    if engine != "mpi":
        yield True
        return
    from ..engines import Mpi

    with input_errors(ImportError):
        team = Mpi()
    try:
        yield not team.follows
    except BaseException:
        team.agreed(False)
        raise
    if not team.agreed(True):
        raise typer.Exit(2)


@contextmanager
def _interruptible(folder: Path) -> Iterator[None]:
    """Say how to continue when Ctrl-C comes after the last round and before the results."""
    try:
        yield
    except KeyboardInterrupt:
        if not (folder / CHECKPOINT).exists():
            raise
        hint = f"{shlex.join(['wolfpack', 'resume', str(folder)])} goes on"
        raise Interrupted(f"interrupted before the results were written; {hint}") from None
