"""What the commands share: two kinds of failure, and folders to write into."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


class InputError(Exception):
    """The user asked for something that cannot be done; the message says what, in one line."""


class Unfinished(Exception):
    """The work began and did not come to its end."""


def make_folder(out: Path) -> None:
    """Make ``out`` and see that files can be written there."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out must be a folder, found a file: {out}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out cannot be written: {out}: {error.strerror or error}") from None
