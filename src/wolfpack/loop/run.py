"""The loop: step, certify, record, stop."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..arrays import Array, is_foreign, read_only
from ..engines import EngineFailure
from ..gradients import Gradients
from ..problem import (
    CompositeProblem,
    EndOfData,
    NonFiniteError,
    Problem,
    Solver,
)
from ..problem.checks import check_count, flag, function, optional
from ..problem.errors import named_point
from ..smoothing import Oracles
from .checkpoint import Saver, Snapshot
from .monitor import Monitor
from .progress import Progress
from .result import Callback, Result
from .status import Status
from .stopping import Limits
from .tracker import Tracker

COMPARED_ROUNDS = 100
"""The first rounds are all compared with what L and convexity promise, later only the recorded
ones. On another device a comparison would have to be waited for, so that only recorded rounds are
compared there."""

_ENDED_BY_LIMIT = (Status.MAX_ROUNDS, Status.MAX_SECONDS, Status.STALLED)


@dataclass(frozen=True)
class Options:
    """What the user wants to see of a run, and where it begins.

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
    search : callable, optional
        Returns another start than x0, and a remark, where f is not finite at x0. None for an x0
        that the user has chosen.
    """

    callback: Callback | None = None
    progress: bool | None = None
    record_every: int = 1
    saver: Saver | None = None
    origin: Snapshot | None = None
    spent: float = 0.0
    search: Callable[[], tuple[Array, str]] | None = None

    def __post_init__(self) -> None:
        optional(function)(self.callback, "callback")
        optional(flag)(self.progress, "progress")
        check_count("record_every", self.record_every)


def run(
    problem: Problem | CompositeProblem,
    solver: Solver[Any],
    x0: Array,
    oracles: Oracles | Gradients,
    limits: Limits,
    options: Options | None = None,
) -> Result:
    """Drive ``solver`` from ``x0`` until a tolerance or a limit is met.

    The clock runs while the solver steps and stands still while certificates, history, callbacks
    and progress are dealt with. Ctrl-C, a non-finite objective and an engine without workers end
    the run with the best point and bound so far; any other exception has them in its ``result``.
    """
    options = options or Options()
    tracker = Tracker(problem, oracles.log)
    course = Course(problem, solver, oracles, limits, options, tracker, Monitor(tracker))
    try:
        status = course.follow(x0)
    except NonFiniteError as error:
        if tracker.x is None:
            raise ValueError(_outside(error)) from None
        course.monitor.remarks.append(f"What was found: {error}.")
        status = Status.NONFINITE
    except KeyboardInterrupt:
        if tracker.x is None:
            raise
        status = Status.INTERRUPTED
    except (EndOfData, EngineFailure) as end:
        if tracker.x is None:
            raise
        course.monitor.remarks.append(str(end))
        status = Status.ENGINE_FAILURE
        if isinstance(end, EndOfData):
            course.observe()
            status = Status.DATA_END
    except Exception as error:
        if tracker.x is not None:
            _attach(error, tracker.result(course.state, Status.INTERRUPTED, ""), solver)
        raise
    finally:
        course.progress.close()
        if options.saver is not None:
            options.saver.write()
    finish = getattr(solver, "finish", None)
    if finish is not None:
        x, fun = finish(problem, course.state, tracker.x, tracker.fun)
        tracker.improve(x, fun)
        if status in _ENDED_BY_LIMIT and limits.satisfied(tracker.fun, tracker.gap):
            status = Status.CONVERGED
    message = _message(status, course.state, tracker, course.monitor)
    return tracker.result(course.state, status, message)


@dataclass
class Course:
    """The rounds of a run; ``state`` and ``previous`` are what the last two of them left."""

    problem: Problem | CompositeProblem
    solver: Solver[Any]
    oracles: Oracles | Gradients
    limits: Limits
    options: Options
    tracker: Tracker
    monitor: Monitor
    state: Any = None
    previous: Any = None

    def __post_init__(self) -> None:
        self.progress = Progress(self.options.progress, self.limits.max_rounds)
        self._observe = getattr(self.solver, "observe", None)

    def follow(self, x0: Array) -> Status:
        """Make rounds until the run must end, and return why."""
        problem, solver, oracles, tracker = self.problem, self.solver, self.oracles, self.tracker
        limits, every, saver = self.limits, self.options.record_every, self.options.saver
        compared = 0 if is_foreign(x0) else COMPARED_ROUNDS
        self._begin(x0)
        while True:
            k = self.state.k
            limit = limits.exceeded(k, tracker.seconds, problem.counts.nlmo)
            due = limit is not None or k % every == 0
            if self.previous is not None and self.state.at is not None and (due or k < compared):
                self.monitor.compare(self.previous, self.state)
            if saver is not None:
                saver.mark(self.state, tracker, self.monitor)
            if due and self.state.at is None:
                self.observe()
            else:
                tracker.see(self.state)
            if due:
                bound = solver.lower_bound(problem, self.state, oracles)
                callback = self.options.callback
                status = _record(self.state, bound, limit, tracker, limits, callback)
                if status is not None:
                    return status
            self.progress.update(k, tracker, limits.tol)
            began = time.perf_counter()
            following = solver.step(problem, self.state, oracles)
            tracker.seconds += time.perf_counter() - began
            self.previous, self.state = self.state, following

    def observe(self) -> None:
        """Evaluate f at the iterate, off the clock, for a solver whose steps do without."""
        if self.state.at is None and self._observe is not None:
            self.state = self._observe(self.problem, self.state)
            if self.previous is not None:
                self.monitor.compare(self.previous, self.state)
        self.tracker.see(self.state)

    def _begin(self, x0: Array) -> None:
        """Make the first state, or take the one that the run is continued from."""
        if self.options.origin is not None:
            self.state = self.options.origin.restore(self.tracker, self.monitor)
            return
        began = time.perf_counter()
        try:
            self.state = self.solver.init(self.problem, x0, self.oracles)
        except NonFiniteError:
            if self.options.search is None:
                raise
            x0, remark = self.options.search()
            self.monitor.remarks.append(remark)
            self.state = self.solver.init(self.problem, x0, self.oracles)
        self.tracker.seconds = self.options.spent + time.perf_counter() - began


def _message(status: Status, state: Any, tracker: Tracker, monitor: Monitor) -> str:
    """Return why the run ended, and what was remarked along the way."""
    remarks = [status.advice, *monitor.remarks]
    if status is Status.STALLED:
        remarks.append(f"The floor is about {max(tracker.floor(), tracker.gap):.1e} here.")
    if tracker.contradicted:
        remarks.append(
            "A lower bound rose above a value of f: the oracle's answers are not minimisers over "
            "K, or f is not convex, or its gradient is wrong. No gap can be certified."
        )
    return " ".join(remarks)


def _outside(error: NonFiniteError) -> str:
    """Return what to say of a start at which f is not finite."""
    where = "" if error.x is None else f" = {named_point(error.x)}"
    return (
        f"f is not finite at the starting point x0{where}: choose a point of its domain, or leave "
        "x0 out and one is searched for"
    )


def _attach(error: Exception, found: Result, solver: Solver[Any]) -> None:
    """Give an exception of f, the oracle or the callback what the run has found so far."""
    found.message = f"{type(error).__name__} ended the run in round {found.nit}: {error}"
    found.method, found.engine = solver.name, None
    with contextlib.suppress(AttributeError):  # of exceptions that take no more attributes
        error.result = found  # pyright: ignore[reportAttributeAccessIssue]
        error.add_note(
            f"The run was in round {found.nit}; the best point so far, with its certificate, is in "
            "this exception's attribute 'result'."
        )


def _record(
    state: Any,
    bound: float,
    limit: Status | None,
    tracker: Tracker,
    limits: Limits,
    callback: Callback | None,
) -> Status | None:
    """Record a round and call back; return the status if the run must end."""
    gap, floor = tracker.record(state, bound)
    if callback is not None:
        try:
            now = tracker.result(state, None, "running")
            now.x = read_only(now.x)
            now.engine = tracker.log
            callback(now)
        except StopIteration:
            return Status.CALLBACK_STOP
    if tracker.contradicted:
        return Status.CONTRADICTION
    goal = limits.goal(tracker.fun)
    if gap <= goal:
        return Status.CONVERGED
    # a goal must exceed the floor by a little to be worth waiting for
    at_floor = gap <= 2.0 * floor and goal < 1.0625 * floor
    if at_floor or getattr(state, "stalled", False):
        return Status.STALLED
    return limit
