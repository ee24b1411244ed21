"""The loop: step, certify, record, stop."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Array, epsilon, is_foreign, read_only
from ..engines import EngineFailure
from ..problem import EndOfData, NonFiniteError, Problem, Solver
from ..smoothing import Oracles
from .checkpoint import Saver, Snapshot
from .history import History
from .progress import Progress
from .result import Result
from .status import Status
from .stopping import Limits

Callback = Callable[[Result], Any]

WATCHED = 100
"""Rounds that are all compared with what L and convexity promise; later the recorded ones are, and
so are all on another device, which would have to be waited for."""


class SmoothnessWarning(UserWarning):
    """The run has seen f grow faster than L allows."""


class ConvexityWarning(UserWarning):
    """The run has seen f below one of its tangents: f is not convex, no gap can be certified."""


@dataclass
class Tracker:
    """The best point, the best bound, the clock and the history of a run; its engine's log."""

    problem: Problem
    log: Any = None
    x: Array = None
    fun: float = math.inf
    lower_bound: float = -math.inf
    convex: bool = True
    contradicted: bool = False
    seconds: float = 0.0
    history: History = field(default_factory=History)

    @property
    def gap(self) -> float:
        """The certified gap: best value minus best lower bound, infinite without a bound."""
        if not self.convex or self.lower_bound == -math.inf:
            return math.inf
        return max(0.0, self.fun - self.lower_bound)

    def see(self, state: Any) -> None:
        """Keep the state's point if it is the best so far, or if no value is known (NaN)."""
        if state.at is not None and (self.x is None or not state.at.value >= self.fun):
            self.x, self.fun = state.x, state.at.value

    def record(self, state: Any, bound: float) -> None:
        """Take the round's lower bound and add a row to the history."""
        self.lower_bound = max(self.lower_bound, bound)
        # a slightly inexact oracle oversteps by little, a wrong one by much
        size = abs(self.fun) + abs(self.lower_bound)
        if self.convex and self.lower_bound - self.fun > 1e-3 * size + 64.0 * self.floor(state):
            self.convex, self.contradicted = False, True
        counts = self.problem.counts
        m = getattr(state, "m", 0)
        self.history.add(
            (
                state.k,
                self.seconds,
                state.at.value,
                bound,
                self.gap,
                counts.nfev,
                counts.njev,
                counts.nlmo,
                getattr(state, "alpha", math.nan),
                math.inf if m == "exact" else m,
            ),
            () if self.log is None else self.log.recorded(),
        )

    @property
    def rounding(self) -> float:
        """What the last bound left for rounding errors."""
        return self.problem.rounding

    @rounding.setter
    def rounding(self, value: float) -> None:
        self.problem.rounding = value

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
        return 2.0 * self.rounding + 8.0 * epsilon(state.x) * size

    def result(self, state: Any, status: Status | None, message: str) -> Result:
        """Return the result so far; ``status`` is None while the run goes on."""
        counts = self.problem.counts
        return Result(
            x=self.x,
            fun=self.fun,
            gap=self.gap,
            lower_bound=self.lower_bound if self.convex else -math.inf,
            success=status is Status.CONVERGED,
            status=status,
            message=message,
            nit=state.k,
            nfev=counts.nfev,
            njev=counts.njev,
            nlmo=counts.nlmo,
            seconds=self.seconds,
            history=self.history,
            state=state,
        )


def run(
    problem: Problem,
    solver: Solver,
    x0: Array,
    oracles: Oracles,
    limits: Limits,
    options: Options | None = None,
) -> Result:
    """Drive ``solver`` from ``x0`` until a tolerance or a limit is met.

    The clock runs while the solver steps and stands still while certificates, history, callbacks
    and progress are dealt with. Ctrl-C, a non-finite objective and an engine without workers end
    the run with the best point and bound so far; any other exception has them in its ``result``.
    """
    options = options or Options()
    watched = 0 if is_foreign(x0) else WATCHED
    log = getattr(oracles, "log", None)  # gradients of Algorithm 1 have none
    tracker, watch, saver = Tracker(problem, log), Watch(problem), options.saver
    progress = Progress(options.progress, limits.max_rounds)
    state: Any = None
    previous: Any = None
    try:
        if options.origin is None:
            began = time.perf_counter()
            state = solver.init(problem, x0, oracles)
            tracker.seconds = options.spent + time.perf_counter() - began
        else:
            state = options.origin.restore(tracker, watch)
        while True:
            due = _due(state, tracker, limits, options)
            if due or state.k < watched:
                watch.compare(previous, state, tracker)
            if saver is not None:
                saver.mark(state, tracker, watch)
            if due and state.at is None:
                # a solver whose steps do without f's value evaluates it off the clock
                state = solver.observe(problem, state)  # pyright: ignore
                watch.compare(previous, state, tracker)
            tracker.see(state)
            if due:
                status = _inspect(solver, state, oracles, tracker, limits, options)
                if status is not None:
                    break
            progress.update(state.k, tracker, limits.tol)
            began = time.perf_counter()
            state_next = solver.step(problem, state, oracles)
            tracker.seconds += time.perf_counter() - began
            previous, state = state, state_next
    except NonFiniteError:
        if tracker.x is None:
            raise ValueError("f is not finite at the starting point x0") from None
        status = Status.NONFINITE
    except KeyboardInterrupt:
        if tracker.x is None:
            raise
        status = Status.INTERRUPTED
    except EndOfData as end:
        if tracker.x is None:
            raise
        state = state if state.at is not None else solver.observe(problem, state)  # pyright: ignore
        tracker.see(state)
        status = Status.DATA_END
        watch.remarks.append(str(end))
    except EngineFailure as failure:
        if tracker.x is None:
            raise
        status = Status.ENGINE_FAILURE
        watch.remarks.append(str(failure))
    except Exception as error:
        if tracker.x is not None:
            _attach(error, tracker.result(state, Status.INTERRUPTED, ""), solver)
        raise
    finally:
        progress.close()
        if saver is not None:
            saver.write()
    if status is Status.STALLED:
        floor = max(tracker.floor(state), tracker.gap)
        watch.remarks.append(f"The floor is about {floor:.1e} here.")
    if tracker.contradicted:
        watch.remarks.append(
            "A lower bound rose above a value of f: the oracle's answers are not minimisers over "
            "K, or f is not convex, or its gradient is wrong. No gap can be certified."
        )
    message = " ".join([status.advice, *watch.remarks])
    return tracker.result(state, status, message)


def _attach(error: Exception, found: Result, solver: Solver) -> None:
    """Give an exception of f, the oracle or the callback what the run has found so far."""
    found.message = f"{type(error).__name__} ended the run in round {found.nit}: {error}"
    found.method, found.engine = getattr(solver, "name", ""), None
    with contextlib.suppress(AttributeError):  # of exceptions that take no more attributes
        error.result = found  # pyright: ignore[reportAttributeAccessIssue]
        error.add_note(
            f"The run was in round {found.nit}; the best point so far, with its certificate, is in "
            "this exception's attribute 'result'."
        )


@dataclass(frozen=True)
class Options:
    """How a run talks to its user.

    Parameters
    ----------
    callback : callable, optional
        Called with the intermediate result after each recorded round; may raise StopIteration.
    progress : bool, optional
        Show a progress line always, never, or (None) on a terminal when the run lasts.
    record_every : int
        Certify and record every so many rounds. Certificates of sampled methods cost one clean
        oracle call each.
    saver : Saver, optional
        What writes checkpoints.
    origin : Snapshot, optional
        What to continue from, instead of beginning.
    spent : float
        Seconds that preparing the run has taken; the clock begins with them.
    """

    callback: Callback | None = None
    progress: bool | None = None
    record_every: int = 1
    saver: Saver | None = None
    origin: Snapshot | None = None
    spent: float = 0.0

    def __post_init__(self) -> None:
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be callable, found {type(self.callback).__name__}")
        if not (self.progress is None or isinstance(self.progress, bool)):
            raise TypeError(f"progress must be True, False or None, found {self.progress!r}")
        every = self.record_every
        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise ValueError(f"record_every must be an integer >= 1, found {every!r}")


def _due(state: Any, tracker: Tracker, limits: Limits, options: Options) -> bool:
    """Tell whether the state is to be certified and recorded: every so often, and the last one."""
    if state.k % options.record_every == 0:
        return True
    return limits.exceeded(state.k, tracker.seconds, tracker.problem.counts.nlmo) is not None


def _inspect(
    solver: Solver,
    state: Any,
    oracles: Oracles,
    tracker: Tracker,
    limits: Limits,
    options: Options,
) -> Status | None:
    """Certify, record and call back; return the status if the run must end."""
    limit = limits.exceeded(state.k, tracker.seconds, tracker.problem.counts.nlmo)
    tracker.record(state, solver.lower_bound(tracker.problem, state, oracles))
    if options.callback is not None:
        try:
            now = tracker.result(state, None, "running")
            now.x = read_only(now.x)
            now.engine = tracker.log
            options.callback(now)
        except StopIteration:
            return Status.CALLBACK_STOP
    if limits.satisfied(tracker.fun, tracker.gap):
        return Status.CONVERGED
    if tracker.gap <= tracker.floor(state) or getattr(state, "stalled", False):
        return Status.STALLED
    return limit


@dataclass
class Watch:
    """Compares consecutive rounds with what L and convexity promise; warns once of each."""

    problem: Problem
    remarks: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def compare(self, state: Any, state_next: Any, tracker: Tracker) -> None:
        """Check the descent and convexity inequalities between two states."""
        if state is None or state.at is None or state_next.at is None:
            return
        found = self.problem.violates_descent(state.at, state.x, state_next.at, state_next.x)
        if not found or found in self.seen:
            return
        self.seen.add(found)
        if found != "convexity":
            text = (
                f"{found} = {self.problem.L:.6g} is too small: between rounds {state.k} and "
                f"{state_next.k} f grew more than {found} allows. The certificate holds, the rate "
                f"does not: pass a larger {found}."
            )
            warnings.warn(text, SmoothnessWarning, stacklevel=2)
        else:
            tracker.convex = False
            text = (
                f"f is not convex: between rounds {state.k} and {state_next.k} it fell below its "
                "tangent. No gap can be certified; the value and the point are still valid."
            )
            warnings.warn(text, ConvexityWarning, stacklevel=2)
        self.remarks.append(text)
