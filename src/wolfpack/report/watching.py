"""The page of a run that is still going on, served on this machine alone.

`Watched` looks into the folder of a run. While there is a ``progress.npz`` it shows that, else the
page or the result that the run has left. `PageServer` serves what it shows.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files import LOCK
from ..loop import load
from ..loop.forecast import left_words
from ..loop.live_file import NAME
from .page import Page, watch_script
from .run_page import run_page

_PATIENCE = 10.0
"""Seconds beyond three times the run's own pace after which it may have been killed."""

_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
_POLICY += "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'"


class State(NamedTuple):
    """What there is to see: ``kind`` is "waiting", "running", "silent" or "ended".

    ``path`` is the file that shows it, ``stamp`` changes with the page, ``words`` say how the run
    is.
    """

    kind: str
    path: Path | None
    stamp: str
    words: str


class Watched:
    """The folder of a run, whose page ``facts`` belong to (see `run_page`)."""

    def __init__(self, folder: Path, facts: Callable[[], Mapping[str, Any]] = dict) -> None:
        self.folder, self._facts = folder, facts
        self._headers: tuple[str, dict[str, Any]] = "", {}
        self._page: tuple[str, str] = "", ""
        self._lock = threading.Lock()

    def state(self) -> State:
        """Look at the folder; costs hardly more than the status of a few files."""
        for name in (NAME, "report.html", "result.npz"):
            path = self.folder / name
            try:
                found = path.stat()
                facts: Mapping[str, Any] = self._header(path, found) if name == NAME else {}
            except (OSError, ValueError, KeyError):
                continue  # it has just gone, or is no file of ours
            mark = f"{name} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
            if name != NAME and self._has_begun(found.st_mtime):
                return self._waiting()
            if name != NAME:
                return State("ended", path, mark, "The run has ended.")
            age, pause = time.time() - found.st_mtime, facts["pause"]
            return _state_of(path, mark, facts, age > 3.0 * pause + _PATIENCE)
        return self._waiting()

    def _has_begun(self, since: float) -> bool:
        """Tell whether a run has locked the folder after that time."""
        try:
            return (self.folder / LOCK).stat().st_mtime > since
        except OSError:
            return False

    def _waiting(self) -> State:
        if self._has_begun(0.0):
            words = f"A run in {self.folder} has begun, and has no numbers yet."
            return State("waiting", None, "begun", words)
        return State("waiting", None, "waiting", f"There is no run in {self.folder} yet.")

    def page(self) -> tuple[State, str]:
        """Return what there is to see, and the page that shows it."""
        with self._lock:
            state = self.state()
            if self._page[0] != state.stamp:
                self._page = state.stamp, self._made(state)
            return state, self._page[1]

    def _header(self, path: Path, found: os.stat_result) -> dict[str, Any]:
        """Return the facts in a ``progress.npz``, read once for each version of it."""
        mark = f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
        if self._headers[0] != mark:
            with np.load(path, allow_pickle=False) as data:
                facts = json.loads(str(data["facts"])) | {
                    "status": json.loads(str(data["header"]))["status"]
                }
            self._headers = mark, facts
        return self._headers[1]

    def _made(self, state: State) -> str:
        if state.path is None:
            hint = "It is shown here when it has lasted a second and finished a round."
            return Page(
                "Waiting for a run", f"{state.words} {hint}", [], live=True, watched=True
            ).html()
        if state.path.suffix == ".html":
            text = state.path.read_text(encoding="utf-8")
            before, mark, after = text.rpartition("</body>")
            return f"{before}{watch_script()}{mark}{after}"
        facts = dict(self._facts())
        if state.path.name == NAME:
            facts |= {"shape": self._headers[1]["shape"]}
        if state.kind != "ended":
            facts["news"] = state.words
        return run_page(load(state.path), None, facts, watched=True)


def _state_of(path: Path, mark: str, facts: Mapping[str, Any], silent: bool) -> State:
    """Return the state of a run that has written ``progress.npz``."""
    if facts["ended"]:
        return State("ended", path, mark, f"The run ended with an error: {facts['ended']}")
    if facts["status"] is not None:
        return State("ended", path, mark, f"The run has ended: {facts['status']}.")
    if silent:
        words = (
            "Nothing was written for long: the run waits for something, or was killed. If it has "
            f"a checkpoint, `wolfpack resume {path.parent}` continues it."
        )
        return State("silent", path, f"{mark} silent", words)
    low, high = (math.inf if s is None else float(s) for s in facts["left"] or (None, None))
    words = left_words((low, high)).strip() if facts["left"] else ""
    words = f"The run goes on: {words}." if words else "The run goes on."
    return State("running", path, mark, words)


class PageServer(ThreadingHTTPServer):
    """Serves the page of a watched folder at the loopback address, and nothing else.

    ``tell`` is called with each new kind of state.
    """

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # there two servers could share a port

    def __init__(self, watched: Watched, port: int, tell: Callable[[State], None]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.watched, self._tell, self._told = watched, tell, ""

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://127.0.0.1:{self.server_port}/"

    def service_actions(self) -> None:
        """Look at the folder now and then, whether somebody asks for the page or not."""
        state = self.watched.state()
        if state.kind != self._told:
            self._told = state.kind
            self._tell(state)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that close connections."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version, sys_version = "wolfpack", ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        # A page of another site could ask a name of its own that leads to this machine.
        port = self.server.server_port
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return self.send_error(HTTPStatus.FORBIDDEN)
        if self.path.partition("?")[0] != "/":
            return self.send_error(HTTPStatus.NOT_FOUND)
        try:
            state, page = self.server.watched.page()
        except (OSError, ValueError) as error:  # the file changed while it was read
            return self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=str(error))
        tag = f'"{hashlib.sha256(state.stamp.encode()).hexdigest()[:20]}"'
        body = page.encode()
        same = self.headers.get("If-None-Match") == tag
        self.send_response(HTTPStatus.NOT_MODIFIED if same else HTTPStatus.OK)
        headers = {
            "ETag": tag,
            "X-Run": state.kind if state.kind in ("running", "waiting") else state.words,
            "Cache-Control": "no-cache",
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
        }
        if not same:
            headers |= {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(body)),
            }
        for name, value in headers.items():
            self.send_header(name, " ".join(value.encode("ascii", "replace").decode().split()))
        self.end_headers()
        if with_body and not same:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print no line for each request."""
