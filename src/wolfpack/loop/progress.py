"""A progress line for runs that last."""

from __future__ import annotations

import itertools
import math
import sys
import time
from typing import Any

from .stopping import Limits


class RoundTable:
    """Prints a row for round 0, 1, 2, 5, 10, 20, 50 and so on, every five seconds, and the last."""

    def __init__(self) -> None:
        self._next, self._factors = 0, itertools.cycle((2.0, 2.5, 2.0))
        self._due = time.monotonic() + 5.0
        self._tracker: Any = None
        self._printed = -1
        print(f"{'round':>8}  {'f':>13}  {'lower bound':>13}  {'gap':>9}  {'oracles':>9}  {'s':>7}")

    def update(self, k: int, tracker: Any, limits: Limits) -> None:
        """Print a row, if one is due."""
        self._tracker = tracker
        if k < self._next and time.monotonic() < self._due:
            return
        while self._next <= k:
            self._next = 1 if self._next == 0 else round(self._next * next(self._factors))
        self._print(k, tracker)

    def close(self) -> None:
        """Print the last recorded round, if it was not printed."""
        if self._tracker is not None and len(self._tracker.history.rows):
            k = int(self._tracker.history["round"][-1])
            if k > self._printed:
                self._print(k, self._tracker)

    def _print(self, k: int, tracker: Any) -> None:
        self._due, self._printed = time.monotonic() + 5.0, k
        bound, calls = tracker.lower_bound, tracker.problem.counts.nlmo
        numbers = f"{tracker.fun:13.6e}  {bound:13.6e}  {tracker.gap:9.2e}"
        line = f"{k:8,}  {numbers}  {calls:9,}  {tracker.seconds:7.2f}"
        print(line + _last_step(k, tracker.history), flush=True)


def _last_step(k: int, history: Any) -> str:
    """Return what round k has done, for methods with several kinds of steps."""
    if "step" not in history or not len(history.rows) or history["round"][-1] != k:
        return ""
    step, active = history["step"][-1], history["active"][-1]
    return f"  {step}" + (f", {active:,} active" if active else "")


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
        if not self._due():
            return
        gap, target = tracker.gap, tracker.goal(limits)
        goal = f", tol {target:.1e}" if target > 0 else ""
        text = f"round {k}  " + (f"gap {gap:.2e}{goal}" if math.isfinite(gap) else "no gap yet")
        self._show(text, k)

    def share(self, solved: int, count: int, k: int | None = None) -> None:
        """Refresh the line of a batch, of which some problems are solved, if it is time."""
        if self._due():
            after = "" if k is None else f"round {k}  "
            self._show(f"{after}{solved} of {count} solved", solved)

    def _due(self) -> bool:
        if not self._enabled or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + (0.25 if self._terminal else 5.0)
        return True

    def _show(self, text: str, k: int) -> None:
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
