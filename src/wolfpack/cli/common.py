"""What the commands share: options, kinds of failure, folders, tables."""

from __future__ import annotations

import errno
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.table import Table

if TYPE_CHECKING:
    from ..problem_file import Access, Task

AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
ProblemFile = Annotated[Path, typer.Argument(help="A problem file; 'wolfpack init' writes one.")]
DataRoot = Annotated[
    Path | None, typer.Option(help="Folder that data may come from, besides the file's own.")
]
MaxData = Annotated[
    float, typer.Option(min=0.001, help="Gigabytes that an array, or a file, may have.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]


_EXHAUSTED = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EAGAIN, errno.EMFILE)
"""Errors of a machine that is short of something, whatever the input."""


class Failure(Exception):
    """A command ends early; the message says why, in one line, and ``code`` is its exit code."""

    code: ClassVar[int]


class Unfinished(Failure):
    """The work was not finished; what there is of it is written."""

    code = 1


class InputError(Failure):
    """The user asked for something that cannot be done."""

    code = 2


class NotCarriedOut(Failure):
    """The input is good, but the work could not be done here, or its results not be written."""

    code = 3


class Interrupted(Failure):
    """Ctrl-C came before the results were written."""

    code = 130


def plain_table(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and values in two columns, without a heading."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in rows:
        table.add_row(name, value)
    return table


@contextmanager
def input_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Turn these exceptions, whose messages the user can act on, into an `InputError`."""
    try:
        yield
    except kinds as error:
        raise InputError(str(error)) from None


@contextmanager
def file_errors(failure: str) -> Iterator[None]:
    """Turn an error of the file system into an `InputError` that begins with ``failure``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{failure}: {error.strerror or error}") from None


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Say where files could not be written."""
    try:
        yield
    except OSError as error:
        raise NotCarriedOut(
            f"cannot write to {folder}: {error.strerror or error}; no file is left half written, "
            "and earlier ones that have no new version are as they were"
        ) from None
    except MemoryError:
        raise NotCarriedOut(f"cannot write to {folder}: there is not enough memory") from None


def make_folder(out: Path) -> None:
    """Make ``out`` and check that files can be written there."""
    with file_errors(f"--out cannot be written: {out}"):
        if out.exists() and not out.is_dir():
            raise InputError(f"--out must be a folder, found a file: {out}")
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Keep other runs out of the folder."""
    from ..files import FolderInUse, locked

    with ExitStack() as held:
        try:
            held.enter_context(locked(folder))
        except FolderInUse as error:
            raise InputError(f"{error}: wait for it, or choose another folder with --out") from None
        except OSError as error:
            raise InputError(f"{folder} cannot be locked: {error.strerror or error}") from None
        yield


def read_task(problem: Path, access: Access) -> Task:
    """Read a problem file; an error in it is an `InputError`."""
    from ..problem_file import ProblemError, read_problem

    with input_errors(ProblemError):
        return read_problem(problem, access)


def access_of(root: Path | None, gigabytes: float) -> Access:
    """Return what ``--data-root`` and ``--max-data`` allow to be read."""
    from ..problem_file import Access

    if root is not None and not root.is_dir():
        raise InputError(f"--data-root must be a folder, found {root}")
    return Access(root, int(gigabytes * 2**30))


@contextmanager
def bad_input(source: Path) -> Iterator[None]:
    """Turn what the library refuses into one line, and its warnings into lines of their own."""
    from ..engines import EngineFailure, OracleError

    def line(message: Warning | str, *_: object, **__: object) -> None:
        print(f"wolfpack: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = line
        try:
            yield
        except (EngineFailure, OracleError) as error:
            raise NotCarriedOut(f"{source}: {error}") from None
        except MemoryError:
            raise NotCarriedOut(f"{source}: there is not enough memory") from None
        except (TypeError, ValueError, ImportError, OSError) as error:
            if isinstance(error, OSError) and error.errno in _EXHAUSTED:
                raise NotCarriedOut(f"{source}: {error}") from None
            named = str(error).startswith(str(source))
            raise InputError(str(error) if named else f"{source}: {error}") from None
