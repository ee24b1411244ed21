"""What a run keeps along the way: the best point, the best bound, the clock and the history."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Array
from ..engines import EngineLog
from ..problem import CompositeProblem, Problem
from .history import History, step_row
from .result import Result
from .status import Status
from .stopping import Limits


@dataclass
class Tracker:
    """The best point, the best bound, the clock and the history of a run; its engine's log.

    ``stationarity`` is the Frank-Wolfe gap at the best point where f is not convex, None where it
    is; ``idle`` counts the rounds since the best point was found. ``reads`` tells whether gradients
    are random, so that what they read is recorded.
    """

    problem: Problem | CompositeProblem
    log: EngineLog | None = None
    x: Array = None
    at: Any = None
    fun: float = math.inf
    best_bound: float = -math.inf
    value_error: float | None = None
    convex: bool = True
    contradicted: bool = False
    began: float = field(default_factory=time.perf_counter)  # when the user's call began
    spent: float = 0.0  # seconds of the runs that this one continues
    solver_seconds: float = 0.0
    history: History = field(default_factory=History)
    stationarity: float | None = None
    idle: int = 0
    reads: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.problem, Problem) and self.problem.convex is False:
            self.convex, self.stationarity = False, math.inf

    @property
    def seconds(self) -> float:
        """The user's clock: seconds since the call, and those of the runs before."""
        return self.spent + time.perf_counter() - self.began

    @seconds.setter
    def seconds(self, value: float) -> None:
        self.spent = value

    @property
    def gap(self) -> float:
        """The certified gap, the best value minus the `lower_bound`; infinite without a bound."""
        return self._gap(self.lower_bound)

    @property
    def lower_bound(self) -> float:
        """A number that is proved to be at most min f (Theorem E1 of docs/theory/rounding.md).

        It is the best lower bound less the rounding error of the best value, and so far below that
        value that their difference, the gap, is at least the `floor`.
        """
        error = self.error_of_value()
        return self._lower_bound(error, error + self.problem.counts.rounding)

    def _gap(self, bound: float) -> float:
        return math.inf if bound == -math.inf else self.fun - bound

    def _lower_bound(self, error: float, floor: float) -> float:
        """Return `lower_bound` from the rounding error of the best value and the floor."""
        if not self.convex or self.best_bound == -math.inf:
            return -math.inf
        low = min(self.best_bound - error, self.fun - floor)
        # rounded downwards, so that the difference of the two numbers is a valid gap
        return math.nextafter(low, -math.inf)

    def see(self, state: Any) -> None:
        """Keep the state's point if it is the best so far, or if no value is known (NaN)."""
        at = state.at
        if at is not None and (self.x is None or not at.value >= self.fun):
            self.x, self.at, self.fun, self.value_error = state.x, at, at.value, None
            self.idle = 0
        else:
            self.idle += 1
            if self.stationarity is not None and at is not None and at.value == self.fun:
                self.x, self.at = state.x, at  # the point at which stationarity is measured

    def improve(self, x: Array, fun: float) -> None:
        """Take a better point that a solver has made of the best one after the run."""
        if x is not self.x:
            self.x, self.at, self.fun, self.value_error = x, None, fun, None

    def goal(self, limits: Limits) -> float:
        """Return the gap at which a run with these limits has converged."""
        if not limits.relative:
            return limits.goal(self.fun, 0.0, 0.0)
        rows = self.history.rows
        gain = (rows[0][2] if len(rows) else self.fun) - self.lower_bound
        return limits.goal(self.fun, gain, self.floor())

    def error_of_value(self) -> float:
        """Return a bound on the rounding error of the best value."""
        if self.value_error is None:
            self.value_error = self.problem.value_error(self.x, self.fun, self.at)
        return self.value_error

    def floor(self) -> float:
        """Return the smallest gap that can be claimed: the rounding errors of value and bound."""
        return self.error_of_value() + self.problem.counts.rounding

    def record(self, state: Any, bound: float) -> tuple[float, float]:
        """Take the round's lower bound and add a row to the history; return gap and floor."""
        counts = self.problem.counts
        self.best_bound = max(self.best_bound, bound)
        if counts.owed:
            self._settle()
        error = self.error_of_value()
        floor = error + counts.rounding
        # The bound is proved up to rounding errors, which it and the value allow for already.
        excess = self.best_bound - self.fun - error
        if self.convex and excess > floor and excess > self.problem.outside(self.x, self.at):
            self.convex, self.contradicted = False, True
        gap = self._gap(self._lower_bound(error, floor))
        alpha, m = getattr(state, "alpha", math.nan), getattr(state, "m", 0)
        row = (
            state.k,
            self.seconds,
            state.at.value,
            bound,
            gap,
            counts.nfev,
            counts.njev,
            counts.nlmo,
            alpha,
            math.inf if m == "exact" else m,
        )
        left = getattr(state, "open_nodes", None)
        tree = () if left is None else (left,)
        engine = () if self.log is None else self.log.recorded()
        read = (counts.passes, counts.rows) if self.reads else ()
        self.history.add(row, engine, tree, step_row(state), read)
        return gap, floor

    def reconsider(self) -> tuple[float, float]:
        """Allow for errors of f that were measured after the last record; return gap and floor.

        A contradiction that they explain is withdrawn.
        """
        self._settle()
        error = self.error_of_value()
        floor = error + self.problem.counts.rounding
        if self.contradicted and self.best_bound - self.fun - error <= floor:
            self.convex, self.contradicted = True, False
        self.amend()
        return self.gap, floor

    def _settle(self) -> None:
        """Lower the best bound by what has been measured of the errors of f since it was proved."""
        counts = self.problem.counts
        self.best_bound -= counts.owed
        self.value_error, counts.owed = None, 0.0

    def amend(self) -> None:
        """Bring the last row of the history up to what the last checks have counted and found."""
        rows, counts = self.history.rows, self.problem.counts
        if rows:
            row = list(rows[-1])
            row[4:8] = self.gap, counts.nfev, counts.njev, counts.nlmo
            if self.reads:
                row[10:12] = counts.passes, counts.rows
            self.history.rows = rows.view(len(rows) - 1)
            self.history.rows.append(row)

    @property
    def unrecorded(self) -> tuple[float, ...]:
        """What the engine did since the last row of the history."""
        return () if self.log is None else self.log.unrecorded

    @unrecorded.setter
    def unrecorded(self, value: tuple[float, ...]) -> None:
        if self.log is not None and value:
            self.log.unrecorded = tuple(value)

    def result(self, state: Any, status: Status | None, message: str) -> Result:
        """Return the result so far; ``status`` is None while the run goes on."""
        counts = self.problem.counts
        found = {} if self.stationarity is None else {"stationarity": self.stationarity}
        found |= {"passes": counts.passes} if self.reads else {}
        return Result(
            x=self.x,
            fun=self.fun,
            gap=self.gap,
            lower_bound=self.lower_bound,
            success=status in (Status.CONVERGED, Status.STATIONARY),
            status=status,
            message=message,
            nit=state.k,
            nfev=counts.nfev,
            njev=counts.njev,
            nlmo=counts.nlmo,
            seconds=self.seconds,
            solver_seconds=self.solver_seconds,
            history=self.history,
            state=state,
            **found,
        )
