"""The command `wolfpack watch`: the page of a run that is still going on."""

from __future__ import annotations

import errno
import json
import tomllib
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .common import InputError, Quiet

if TYPE_CHECKING:
    from ..report.watching import PageServer, State

PORT = 8765
"""The port that is tried first; where it is taken, the system chooses another one."""


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder that a run writes into.")],
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help=f"Port; {PORT} by default, or a free one if taken."),
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option(help="Open the page in a browser; by default only from a terminal."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Show the page of a run that is still going on, and keep it up to date.

    The page is served at 127.0.0.1, to this machine alone, until Ctrl-C, which ends the command
    with exit code 0 and does not touch the run. A folder without a run is waited for.
    """
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        hint = (
            f"'wolfpack solve FILE --out {folder}' makes it, and so does minimize(..., watch=...)"
        )
        raise InputError(f"the folder {folder} {what}: {hint}")
    console = Console(highlight=False)
    server = _server(folder, port, console, quiet)
    with server:
        if not quiet:
            console.print(f"Watching {folder} at {server.address}", soft_wrap=True, markup=False)
            console.print("Ctrl-C ends this command; the run goes on.", soft_wrap=True)
        if browser or (browser is None and console.is_terminal and not quiet):
            webbrowser.open(server.address)
        with suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.5)


def _server(folder: Path, port: int | None, console: Console, quiet: bool) -> PageServer:
    """Return the server, on the port that was asked for or on a free one."""
    from ..report.watching import PageServer, Watched

    def tell(state: State) -> None:
        if not quiet:
            console.print(state.words.replace("`", "'"), soft_wrap=True, markup=False)

    watched = Watched(folder, lambda: _facts(folder))
    for number in [PORT, 0] if port is None else [port]:
        try:
            return PageServer(watched, number, tell)
        except OSError as error:
            if port is None and error.errno == errno.EADDRINUSE:
                continue
            why = error.strerror or error
            hint = "choose another one, or leave --port out"
            raise InputError(f"--port {number} cannot be used: {why}; {hint}") from None
    raise InputError("no port of this machine is free")


def _facts(folder: Path) -> dict[str, Any]:
    """Return the title and the settings of the problem file, where the folder tells of one."""
    title: dict[str, Any] = {"title": f"The run in {folder.name or folder.resolve().name}"}
    try:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        table = tomllib.loads((folder / facts["problem"]).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return title
    named = {"title": table["title"]} if isinstance(table.get("title"), str) else {}
    return title | named | {"problem": table}
