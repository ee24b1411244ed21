"""A progress line for runs that last."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from .stopping import Limits


class Progress:
    """Shows round, gap and time once a run has lasted ``delay`` seconds.

    On a terminal this is one line that changes in place; elsewhere, and only when asked for, a new
    line every few seconds. ``mode`` True shows it always, False never, None only on a terminal.
    ``total`` is the round limit, for the bar.
    """

    def __init__(self, mode: bool | None, total: int | None, delay: float = 2.0) -> None:
        self._terminal = sys.stderr.isatty()
        self._enabled = self._terminal if mode is None else mode
        self._next = time.monotonic() + (0.0 if mode else delay)
        self._total = total
        self._bar: Any = None
        self._task: Any = None

    def update(self, k: int, tracker: Any, limits: Limits) -> None:
        """Refresh the line, if it is time."""
        if not self._enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + (0.25 if self._terminal else 5.0)
        gap, target = tracker.gap, tracker.goal(limits)
        goal = f", tol {target:.1e}" if target > 0 else ""
        text = f"round {k}  " + (f"gap {gap:.2e}{goal}" if math.isfinite(gap) else "no gap yet")
        if not self._terminal:
            print(text, file=sys.stderr, flush=True)
            return
        if self._bar is None:
            self._bar = self._open()
        self._bar.update(self._task, completed=k, description=text)

    def close(self) -> None:
        """Remove the line."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _open(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = [TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
        if self._total is not None:
            columns.append(TimeRemainingColumn())
        bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = bar.add_task("", total=self._total)
        bar.start()
        return bar
