"""What a run keeps along the way: the best point, the best bound, the clock and the history."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Array, epsilon
from ..engines import EngineLog
from ..problem import CompositeProblem, Problem
from .history import History
from .result import Result
from .status import Status


@dataclass
class Tracker:
    """The best point, the best bound, the clock and the history of a run; its engine's log.

    ``stationarity`` is the Frank-Wolfe gap at the best point where f is not convex, None where it
    is; ``idle`` counts the rounds since the best point was found.
    """

    problem: Problem | CompositeProblem
    log: EngineLog | None = None
    x: Array = None
    fun: float = math.inf
    lower_bound: float = -math.inf
    convex: bool = True
    contradicted: bool = False
    seconds: float = 0.0
    history: History = field(default_factory=History)
    stationarity: float | None = None
    idle: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.problem, Problem) and self.problem.convex is False:
            self.convex, self.stationarity = False, math.inf

    @property
    def gap(self) -> float:
        """The certified gap: best value minus best lower bound, infinite without a bound."""
        if not self.convex or self.lower_bound == -math.inf:
            return math.inf
        return max(0.0, self.fun - self.lower_bound)

    def see(self, state: Any) -> None:
        """Keep the state's point if it is the best so far, or if no value is known (NaN)."""
        at = state.at
        if at is not None and (self.x is None or not at.value >= self.fun):
            self.x, self.fun, self.idle = state.x, at.value, 0
        else:
            self.idle += 1
            if self.stationarity is not None and at is not None and at.value == self.fun:
                self.x = state.x  # the point at which stationarity is measured

    def record(self, state: Any, bound: float) -> tuple[float, float]:
        """Take the round's lower bound and add a row to the history; return gap and floor."""
        self.lower_bound = max(self.lower_bound, bound)
        # A slightly inexact oracle makes the bound exceed f by little, a wrong one by much.
        size, floor = abs(self.fun) + abs(self.lower_bound), self.floor(state)
        if self.convex and self.lower_bound - self.fun > 1e-3 * size + 64.0 * floor:
            self.convex, self.contradicted = False, True
        gap = self.gap
        counts = self.problem.counts
        alpha, m = getattr(state, "alpha", math.nan), getattr(state, "m", 0)
        row = (state.k, self.seconds, state.at.value, bound, gap)
        row += (counts.nfev, counts.njev, counts.nlmo, alpha, math.inf if m == "exact" else m)
        self.history.add(row, () if self.log is None else self.log.recorded())
        return gap, floor

    @property
    def unrecorded(self) -> tuple[float, ...]:
        """What the engine did since the last row of the history."""
        return () if self.log is None else self.log.unrecorded

    @unrecorded.setter
    def unrecorded(self, value: tuple[float, ...]) -> None:
        if self.log is not None and value:
            self.log.unrecorded = tuple(value)

    def floor(self, state: Any) -> float:
        """Return the gap below which rounding errors hide progress."""
        size = abs(self.fun) + abs(self.lower_bound)
        if not math.isfinite(size):
            return -math.inf
        return 2.0 * self.problem.counts.rounding + 8.0 * epsilon(state.x) * size

    def result(self, state: Any, status: Status | None, message: str) -> Result:
        """Return the result so far; ``status`` is None while the run goes on."""
        counts = self.problem.counts
        found = {} if self.stationarity is None else {"stationarity": self.stationarity}
        return Result(
            x=self.x,
            fun=self.fun,
            gap=self.gap,
            lower_bound=self.lower_bound if self.convex else -math.inf,
            success=status in (Status.CONVERGED, Status.STATIONARY),
            status=status,
            message=message,
            nit=state.k,
            nfev=counts.nfev,
            njev=counts.njev,
            nlmo=counts.nlmo,
            seconds=self.seconds,
            history=self.history,
            state=state,
            **found,
        )
