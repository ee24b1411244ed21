"""What a run writes while it goes on, for `wolfpack watch` and for everybody who asks it.

A run with ``watch=FOLDER`` keeps the file ``progress.npz`` there: the result so far, which
`wolfpack.load` reads, and beside it ``facts`` as JSON: seconds left, how long the file may stay as
it is, and how the run ended. The file appears whole or not at all. It is written anew after a
second at the earliest, and so seldom that writing takes at most 2% of the time.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import LowRank
from ..files import replacing
from ..problem.warn import warn_user
from .forecast import GapForecast
from .result import Result
from .saved import as_columns
from .stopping import Limits
from .tracker import Tracker

NAME = "progress.npz"
MAX_ENTRIES = 1_000_000
"""The entries of larger answers are not written before the run ends."""

_LOOK, _PAUSE, _SHARE = 0.25, 1.0, 0.02
"""Seconds between two looks at the gap, and at least between two files; their share of the time."""


class LiveFile:
    """Writes the result so far into a folder, which is made if it does not exist."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / NAME
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)  # of an earlier run
        self._began = self._look = time.monotonic()
        self._due = self._began + _PAUSE
        self._last, self._longest = self._began, 0.0
        self._cost = 0.0
        self._pace = GapForecast()
        self._first: int | None = None
        self._left: tuple[float, float] | None = None

    def update(self, state: Any, name: str, tracker: Tracker, limits: Limits) -> None:
        """Note where a run of the method ``name`` is, and write it down if that is due."""
        now = time.monotonic()
        if self._first is None:
            self._first = state.k
        self._last, self._longest = now, max(self._longest, now - self._last)
        if now < self._look or tracker.x is None:
            return
        self._look = now + _LOOK
        wall = now - self._began
        self._pace.see(wall, tracker.gap)
        if now < self._due:
            return
        limited = self._limits(state.k, wall, tracker, limits)
        self._left = self._pace.until(tracker.goal(limits), limited)
        so_far = tracker.result(state, None, "")
        so_far.method, so_far.engine = name, tracker.log
        self._write(so_far)

    def finish(self, result: Result) -> None:
        """Write the result, which stands until the run's own files take its place."""
        self._left = None
        self._write(result)

    def fail(self, error: BaseException) -> None:
        """Say in the file, if there is one, that the run ended with an exception."""
        found = getattr(error, "result", None)
        if isinstance(found, Result):
            self._left = None
            self._write(found, ended=f"{type(error).__name__}: {error}".rstrip(": "))
        else:
            self.path.unlink(missing_ok=True)

    def _limits(self, k: int, wall: float, tracker: Tracker, limits: Limits) -> list[float]:
        """Return the seconds until each limit, at the pace of the run so far."""
        found, done = [], k - (self._first or 0)
        if limits.max_rounds is not None and done > 0:
            found.append(wall / done * (limits.max_rounds - k))
        if limits.max_seconds is not None:
            found.append(limits.max_seconds - tracker.seconds)
        calls = tracker.problem.counts.nlmo
        if limits.max_lmo is not None and calls:
            found.append(tracker.seconds / calls * (limits.max_lmo - calls))
        return found

    def _write(self, result: Result, ended: str = "") -> None:
        """Write a result; a disk that fails is a warning, not a lost run."""
        began = time.monotonic()
        shape = tuple(result.x.shape)
        if not isinstance(result.x, LowRank) and math.prod(shape) > MAX_ENTRIES:
            result = Result({**result, "x": np.zeros(0)})
        left = None if self._left is None else [s if s < math.inf else None for s in self._left]
        pause = self._longest + max(_PAUSE, self._cost / _SHARE)
        facts = {"left": left, "shape": shape, "pause": pause, "ended": ended}
        try:
            with replacing(self.path, durable=False) as file:
                np.savez(file, facts=np.array(json.dumps(facts)), **as_columns(result, state=False))
        except OSError as error:
            self._look = math.inf
            why = f"{self.path}: {error.strerror or error}"
            hint = "the run goes on, and cannot be watched; make room before the next one"
            warn_user(f"watch cannot be written: {why}; {hint}")
            return
        now = time.monotonic()
        self._cost = now - began
        self._due = now + max(_PAUSE, self._cost / _SHARE)
