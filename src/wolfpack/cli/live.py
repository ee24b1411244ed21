"""What commands show while they run, on a terminal and in a log file."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.progress import TimeRemainingColumn as TimeLeftColumn
from rich.text import Text

from ..loop.forecast import GapForecast, clock, left_words
from ..loop.stopping import SHARE
from .common import InputError

if TYPE_CHECKING:
    from ..loop import Result

_REFRESH, _LOG_EVERY = 0.25, 5.0
"""Seconds between two updates of the line, and between two lines of the log."""


class Display:
    """A callback of `wolfpack.minimize` that shows and logs the run; use it in a ``with``.

    ``settings`` hold ``tol``, ``rtol``, ``max_rounds`` and ``max_seconds`` of the run, or ``gap``
    and ``max_nodes`` in place of the first and the third for integer points. On ``terminal`` one
    line changes in place. To the file ``log`` lines are added.
    """

    def __init__(
        self, settings: Mapping[str, Any], terminal: Console | None, log: Path | None
    ) -> None:
        self._settings, self._terminal, self._path = settings, terminal, log
        self._pace = GapForecast()
        self._live: Live | None = None
        self._log: IO[str] | None = None

    @property
    def callback(self) -> Callable[[Result], None] | None:
        """What to pass to `minimize`: None when nothing is shown or logged."""
        return None if self._terminal is None and self._path is None else self._update

    def __enter__(self) -> Display:
        self._began = self._updated = self._logged = time.monotonic()
        self._first: int | None = None
        if self._path is not None:
            try:
                self._log = self._path.open("a", encoding="utf-8", errors="backslashreplace")
                self._add("began")
            except OSError as error:
                self._close_log()
                hint = "name another file, or leave --log out"
                raise InputError(f"{self._no_log(error)}; {hint}") from None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._close_line()
        if self._log is not None:
            if error is not None:
                self._write(f"ended by {type(error).__name__}: {error}".rstrip(": "))
            self._close_log()

    def finish(self, result: Result) -> None:
        """Remove the line and log how the run ended."""
        self._close_line()
        if self._log is not None:
            self._write(f"{result.status}  {describe(result)}  {result.message}")

    def _update(self, now: Result) -> None:
        wall = time.monotonic()
        if self._first is None:
            self._first = now.nit
        if wall - self._updated < _REFRESH:
            return
        self._updated = wall
        self._pace.see(wall - self._began, now.gap)
        text = describe(now) + left_words(self._left(now, wall - self._began))
        if self._log is not None and wall - self._logged >= _LOG_EVERY:
            self._logged = wall
            self._write(text)
        if self._terminal is not None:
            if self._live is None:
                self._live = Live(console=self._terminal, transient=True, auto_refresh=False)
                self._live.start()
            self._live.update(Text(text), refresh=True)

    def _left(self, now: Result, wall: float) -> tuple[float, float] | None:
        """Return the seconds until the tolerance or a limit, whichever is expected first."""
        settings = self._settings
        # by default the first value and the bound tell what is small enough
        tol = settings.get("tol", settings.get("gap"))
        tol = SHARE * (now.history["fun"][0] - now.lower_bound) if tol is None else tol
        target = max(tol, (settings.get("rtol") or 0.0) * abs(now.fun))
        limits = []
        done = now.nit - (self._first or 0)
        most = settings.get("max_rounds", settings.get("max_nodes"))
        if most is not None and done > 0:
            limits.append(wall / done * (most - now.nit))
        if settings.get("max_seconds") is not None:
            limits.append(settings["max_seconds"] - now.seconds)
        return self._pace.until(target, limits)

    def _write(self, text: str) -> None:
        """Add a line to the log; a disk that fails is a warning, not a lost run."""
        try:
            self._add(text)
        except OSError as error:
            self._close_log()
            hint = "the run goes on without it; make room before the next one"
            warnings.warn(f"{self._no_log(error)}; {hint}", stacklevel=2)

    def _add(self, text: str) -> None:
        assert self._log is not None
        stamp = datetime.now(UTC).isoformat(timespec="seconds")
        self._log.write(f"{stamp}  {' '.join(text.split())}\n")
        self._log.flush()

    def _no_log(self, error: OSError) -> str:
        return f"--log cannot be written: {self._path}: {error.strerror or error}"

    def _close_log(self) -> None:
        if self._log is not None:
            with suppress(OSError):  # of lines that did not fit
                self._log.close()
            self._log = None

    def _close_line(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def describe(now: Result) -> str:
    """Return where a run is, in a line."""
    gap = f"gap {now.gap:.2e}" if math.isfinite(now.gap) else "no gap yet"
    bound = f"  bound {now.lower_bound:.6g}" if math.isfinite(now.lower_bound) else ""
    calls = f"oracle calls {now.nlmo:,}"
    log = now.get("engine")
    workers = "" if log is None else f"  workers {log.alive}"
    nodes = getattr(now.state, "open", None)
    if nodes is not None:
        best = f"best {now.fun:.6g}{bound}  {gap}"
        return f"nodes {now.nit:,}  open {len(nodes):,}  {best}{workers}  {clock(now.seconds)}"
    return f"round {now.nit:,}  {gap}{bound}  {calls}{workers}  {clock(now.seconds)}"


@contextmanager
def fraction_bar(silent: bool) -> Iterator[Callable[[float, str], None]]:
    """Give a function of (share done, words) that moves a bar, on a terminal; else does nothing."""
    console = Console(stderr=True)
    if silent or not console.is_terminal:
        yield lambda share, words: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    times = (TimeElapsedColumn(), TextColumn("left"), TimeLeftColumn(compact=True))
    with Bar(*columns, *times, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda share, words: bar.update(task, completed=share, description=words)
