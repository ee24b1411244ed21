"""Points of a run by another library, certified here with the clock stopped."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..problem import Problem
from .cases import Case


class Point(NamedTuple):
    """How far a run was, when, and the best certified gap so far."""

    rounds: int | None
    seconds: float
    gap: float


class Rival(NamedTuple):
    """A library's name and its run: (case, target gap, seconds) -> points."""

    name: str
    run: Callable[[Case, float, float], list[Point]]


class Enough(Exception):
    """Raised out of a library's callback when the target or the time limit is met."""


def gap(f: Any, K: Any, x: Any) -> float:
    """Return the certified gap at one point."""
    at = f.evaluate(x)
    return at.value - Problem(f, K).dual_bound(at.gradient, at.dual, K.lmo(at.gradient))


@dataclass
class Watcher:
    """Certifies the points of a run with the clock stopped."""

    case: Case
    target: float
    limit: float
    points: list[Point] = field(default_factory=list)
    fun: float = np.inf
    bound: float = -np.inf
    spent: float = 0.0
    _since: float = field(default_factory=time.perf_counter)

    def see(self, x: Any, rounds: int | None = 0) -> None:
        """Record a point; raise `Enough` when the run may end.

        ``rounds`` is how many it took; by default this is one more than before, None: not told.
        """
        self.spent += time.perf_counter() - self._since
        f, K = self.case.f, self.case.K
        x = np.asarray(x, dtype=float).reshape(K.shape)
        at = f.evaluate(x)
        # points outside K by more than rounding have no gap
        if K.violation(x) <= 1e-6 * max(1.0, K.radius):
            self.fun = min(self.fun, at.value)
        vertex = K.lmo(at.gradient)
        bound = Problem(f, K).dual_bound(at.gradient, at.dual, vertex)
        self.bound = max(self.bound, bound)
        count = len(self.points) + 1 if rounds == 0 else rounds
        self.points.append(Point(count, self.spent, self.fun - self.bound))
        if self.points[-1].gap <= self.target or self.spent >= self.limit:
            raise Enough
        self._since = time.perf_counter()

    def restart(self) -> None:
        """Set the clock to zero: for libraries that must run anew to go further."""
        self.spent, self._since = 0.0, time.perf_counter()

    def follow(self, run: Callable[[], Any]) -> list[Point]:
        """Return the points of a run that calls `see`."""
        self._since = time.perf_counter()
        with contextlib.suppress(Enough), contextlib.redirect_stdout(io.StringIO()):
            run()
        return self.points
