"""Points of a run by another library, certified here with the clock stopped."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..objectives import Objective
from ..problem import Problem
from ..sets import Set
from .cases import Case


class Point(NamedTuple):
    """How far a run was, when, and the best certified gap so far."""

    rounds: int | None
    seconds: float
    gap: float


class Enough(Exception):
    """Raised out of a library's callback when the target or the time limit is met."""


def value_and_bound(f: Objective, K: Set, x: Array) -> tuple[float, float]:
    """Return f(x) and the lower bound on the minimum that the gradient at x proves."""
    at = f.evaluate(x)
    return at.value, Problem(f, K).dual_bound(at.gradient, at.dual, K.lmo(at.gradient))


def gap(f: Objective, K: Set, x: Array) -> float:
    """Return the certified gap at one point."""
    value, bound = value_and_bound(f, K, x)
    return value - bound


@dataclass
class Referee:
    """Certifies the points of a rival's run and stops the clock meanwhile."""

    case: Case
    target: float
    limit: float
    points: list[Point] = field(default_factory=list)
    fun: float = np.inf
    bound: float = -np.inf
    spent: float = 0.0
    _since: float = field(default_factory=time.perf_counter)

    def see(self, x: Array, rounds: int | None = 0) -> None:
        """Record a point; raise `Enough` when the run may end.

        ``rounds`` counts the rounds so far. 0 means one more than before, None means unknown.
        """
        self.spent += time.perf_counter() - self._since
        f, K = self.case.f, self.case.K
        x = np.asarray(x, dtype=float).reshape(K.shape)
        value, bound = value_and_bound(f, K, x)
        # points outside K by more than rounding have no gap
        if K.violation(x) <= 1e-6 * max(1.0, K.radius):
            self.fun = min(self.fun, value)
        self.bound = max(self.bound, bound)
        count = len(self.points) + 1 if rounds == 0 else rounds
        self.points.append(Point(count, self.spent, self.fun - self.bound))
        if self.points[-1].gap <= self.target or self.spent >= self.limit:
            raise Enough
        self._since = time.perf_counter()

    def start_clock(self) -> None:
        """Set the clock to zero: after preparations, or when a library starts all over again."""
        self.spent, self._since = 0.0, time.perf_counter()

    def follow(self, run: Callable[[Referee], None]) -> list[Point]:
        """Return the points of a run that calls `see`."""
        self.start_clock()
        with contextlib.suppress(Enough), contextlib.redirect_stdout(io.StringIO()):
            run(self)
        return self.points


class Rival(NamedTuple):
    """A library's name, and its run on the case of a referee."""

    name: str
    run: Callable[[Referee], None]
