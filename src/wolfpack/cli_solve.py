"""The commands for problem files: `wolfpack solve`, `check`, `init` and `resume`."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .cli_common import AsJson, InputError, Unfinished, make_folder

if TYPE_CHECKING:
    from .loop import Result
    from .problem_file import Access, Cost, Task, Written

CHECKPOINT = "run.ckpt"
_OURS = ("run.json", CHECKPOINT, f"{CHECKPOINT}.1", "result.npz", "result.json", "history.csv")
_OURS += ("convergence.png", "convergence.svg", "report.html")

Problem = Annotated[Path, typer.Argument(help="A problem file; 'wolfpack init' writes one.")]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="auto, local, threads[:n], processes[:n], dask, ray, mpi."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
DataRoot = Annotated[
    Path | None, typer.Option(help="Folder that data may come from, besides the file's own.")
]
MaxData = Annotated[
    float, typer.Option(min=0.001, help="Gigabytes that an array, or a file, may have.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]


class Kind(StrEnum):
    """Starter files that `wolfpack init` knows."""

    LASSO = "lasso"
    LOW_RANK = "low-rank"
    PORTFOLIO = "portfolio"


def init(
    path: Annotated[Path, typer.Argument(help="The file to write.")] = Path("problem.toml"),
    kind: Annotated[Kind, typer.Option(help="What it is about.")] = Kind.LASSO,
    overwrite: Overwrite = False,
) -> None:
    """Write a commented problem file that runs as it is, with small data beside it."""
    from .problem_file import write_starter

    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    path = path if path.suffix else path.with_suffix(".toml")
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists; name another file, or pass --overwrite")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files = write_starter(path, kind.value)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    print(f"Wrote {' and '.join(map(str, files))}. Next: wolfpack solve {path}")


def check(
    problem: Problem,
    data_root: DataRoot = None,
    max_data: MaxData = 4.0,
    as_json: AsJson = False,
) -> None:
    """Check a problem file; say what would be done and, measured on a few calls, its cost."""
    from .problem_file import measure

    task = _read(problem, _access(data_root, max_data))
    with _bad_input(problem):
        cost = measure(task)
    choice = task.choice
    if as_json:
        plain: dict[str, Any] = {"title": task.title, "set": repr(task.set), **asdict(cost)}
        plain["options"] = choice.options if choice else {}
        plain["reason"] = choice.reason if choice else "named in the file"
        print(json.dumps(plain, indent=2))
        return
    console = Console(highlight=False)
    console.print(f"{problem} is good: {task.title}", soft_wrap=True, markup=False)
    said = str(choice) if choice else f"method {cost.method!r}, named in the file"
    console.print(said, markup=False)
    console.print(_cost_table(cost, task))


def solve(
    problem: Problem,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; '<file>-out' by default.")
    ] = None,
    engine: EngineName = None,
    data_root: DataRoot = None,
    max_data: MaxData = 4.0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Solve a problem file; exit with 0 if the tolerance was met, 1 if not."""
    from .minimize import minimize

    access = _access(data_root, max_data)
    task = _read(problem, access)
    folder = out or Path(task.output.folder or f"{problem.stem}-out")
    settings = dict(task.settings)
    if engine is not None:
        settings["engine"] = engine
    leads = _leads(settings.get("engine"))
    if leads:
        _prepare(folder, overwrite)
        _remember(folder, problem, access)
    if leads and task.output.checkpoint:
        settings["checkpoint"] = folder / CHECKPOINT
    silent = False if quiet or as_json else None
    command = ["wolfpack", "solve", str(problem), "--out", str(folder)]
    command += ["--engine", engine] if engine else []
    command += ["--data-root", str(data_root)] if data_root else []
    with _interruptible(folder):
        with _bad_input(problem):
            result = minimize(task.objective, task.set, progress=silent, **settings)
        if leads:
            voice = "json" if as_json else _voice(quiet)
            _finish(result, task, folder, shlex.join(command), voice)
    if not result.success:
        raise typer.Exit(1)


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
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run from its checkpoint, to the same bits as if it had never stopped."""
    from .problem_file.schema import STOP
    from .resume import resume

    checkpoint = file / CHECKPOINT if file.is_dir() else file
    if not checkpoint.is_file():
        raise InputError(f"there is no checkpoint {checkpoint}")
    problem, access = _recall(checkpoint.parent, problem)
    task = _read(problem, access)
    make_folder(checkpoint.parent)
    given = {"tol": tol, "max_rounds": max_rounds, "max_seconds": max_seconds, "max_lmo": max_lmo}
    limits = {key: value for key, value in task.settings.items() if key in STOP}
    limits |= {key: value for key, value in given.items() if value is not None}
    engine = engine or task.settings.get("engine")
    silent = False if quiet or as_json else None
    command = ["wolfpack", "resume", str(file)]
    for key, value in given.items():
        command += [f"--{key.replace('_', '-')}", str(value)] if value is not None else []
    with _interruptible(checkpoint.parent):
        with _bad_input(checkpoint):
            result = resume(
                checkpoint, task.objective, task.set, engine=engine, progress=silent, **limits
            )
        if _leads(engine):
            voice = "json" if as_json else _voice(quiet)
            _finish(result, task, checkpoint.parent, shlex.join(command), voice)
    if not result.success:
        raise typer.Exit(1)


commands: tuple[Callable[..., None], ...] = (solve, check, init, resume)
"""What `wolfpack.cli` registers."""


def _read(problem: Path, access: Access) -> Task:
    from .problem_file import ProblemError, read_problem

    try:
        return read_problem(problem, access)
    except ProblemError as error:
        raise InputError(str(error)) from None


def _access(root: Path | None, gigabytes: float) -> Access:
    from .problem_file import Access

    if root is not None and not root.is_dir():
        raise InputError(f"--data-root must be a folder, found {root}")
    return Access(root, int(gigabytes * 2**30))


def _prepare(folder: Path, overwrite: bool) -> None:
    """Make the folder; results of an earlier run are replaced only when asked."""
    make_folder(folder)
    found = [folder / name for name in _OURS if (folder / name).exists()]
    # a run that came to nothing leaves run.json alone, which is not worth keeping
    if any(path.name != "run.json" for path in found) and not overwrite:
        raise InputError(
            f"{folder} holds the results of an earlier run; choose another folder with --out, or "
            "pass --overwrite"
        )
    for path in found:
        try:
            path.unlink()
        except OSError as error:
            raise InputError(f"{path} cannot be replaced: {error.strerror or error}") from None


def _remember(folder: Path, problem: Path, access: Access) -> None:
    """Note which problem is run here, for `wolfpack resume`."""
    facts = {
        "problem": os.path.relpath(problem.resolve(), folder.resolve()),
        "data_root": str(access.root.resolve()) if access.root else None,
        "most_bytes": access.most_bytes,
    }
    with _writing(folder):
        (folder / "run.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _recall(folder: Path, problem: Path | None) -> tuple[Path, Access]:
    """Return the problem file of the run in ``folder`` and what it may read."""
    from .problem_file import Access

    try:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        root = facts["data_root"]
        access = Access(Path(root) if root else None, int(facts["most_bytes"]))
        return problem or folder / facts["problem"], access
    except (OSError, ValueError, KeyError, TypeError):
        if problem is None:
            raise InputError(
                f"{folder / 'run.json'} does not say which problem this is; name it with --problem"
            ) from None
        return problem, Access()


def _finish(result: Result, task: Task, folder: Path, command: str, voice: str) -> None:
    """Write the results and print what was asked for."""
    from .problem_file import write

    with _writing(folder):
        written = write(result, task, folder, _facts(command))
    if voice == "json":
        files = [str(path) for path in written.files]
        print(json.dumps({**written.summary, "files": files}, indent=2))
    elif voice == "words":
        _show(result, written, folder)


def _facts(command: str) -> dict[str, Any]:
    from importlib.metadata import version

    names = ("wolfpack", "numpy", "scipy")
    versions = {"python": platform.python_version(), **{name: version(name) for name in names}}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return {"versions": versions, "command": command, "finished": finished}


def _show(result: Result, written: Written, folder: Path) -> None:
    console = Console(highlight=False)
    console.print(f"{result.status}: {result.message}", markup=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name in ("fun", "lower_bound", "gap"):
        table.add_row(name.replace("_", " "), f"{result[name]:.9g}")
    table.add_row("rounds", f"{result.nit:,}")
    table.add_row("oracle calls", f"{result.nlmo:,}")
    table.add_row("seconds", f"{result.seconds:.3g}")
    console.print(table)
    for note in written.notes:
        console.print(note, markup=False)
    names = ", ".join(path.name for path in written.files)
    console.print(f"Wrote {names} in {folder}", soft_wrap=True, markup=False)


def _cost_table(cost: Cost, task: Task) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_row("dimension", f"{cost.dimension:,}")
    table.add_row("memory", f"{_size(cost.data_bytes)} of data, {_size(cost.x_bytes)} a point")
    table.add_row("one gradient", _time(cost.gradient_seconds))
    table.add_row("one oracle call", _time(cost.oracle_seconds))
    calls = f"{cost.round_oracles:.3g} oracle calls"
    table.add_row("one round", f"{_time(cost.round_seconds)}, {calls}, in this process")
    rounds = task.settings.get("max_rounds")
    if rounds:
        most = _time(rounds * cost.round_seconds)
        table.add_row("the whole run", f"{most} if it takes all {rounds:,} rounds at this pace")
    return table


def _time(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e6 * seconds:.3g} us"


def _size(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def _voice(quiet: bool) -> str:
    return "nothing" if quiet else "words"


def _leads(engine: str | None) -> bool:
    """Tell whether this process is the one that writes; with MPI every rank runs the command."""
    if engine != "mpi":
        return True
    from .engines import Mpi

    try:
        return not Mpi().follows
    except ImportError as error:
        raise InputError(str(error)) from None


@contextmanager
def _interruptible(folder: Path) -> Iterator[None]:
    """Say how to go on when Ctrl-C came after the last round and before the results."""
    try:
        yield
    except KeyboardInterrupt:
        if not (folder / CHECKPOINT).exists():
            raise
        raise Unfinished(
            f"interrupted before the results were written; wolfpack resume {folder} goes on"
        ) from None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unfinished(f"cannot write to {folder}: {error.strerror or error}") from None


@contextmanager
def _bad_input(source: Path) -> Iterator[None]:
    """Turn what the library refuses into one line, and its warnings into lines of their own."""
    from .engines import EngineFailure, OracleError

    def line(message: Any, *_: Any, **__: Any) -> None:
        print(f"wolfpack: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = line
        try:
            yield
        except (EngineFailure, OracleError) as error:
            raise Unfinished(f"{source}: {error}") from None
        except MemoryError:
            raise Unfinished(f"{source}: there is not enough memory") from None
        except (TypeError, ValueError, ImportError, OSError) as error:
            named = str(error).startswith(str(source))
            raise InputError(str(error) if named else f"{source}: {error}") from None
