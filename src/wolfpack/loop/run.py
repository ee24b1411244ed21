"""The loop: step, certify, record, stop."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, inner, is_foreign, keep_freed_memory
from ..engines import EngineFailure
from ..gradients import Gradients
from ..problem import (
    CompositeProblem,
    EndOfData,
    Evaluation,
    LimitReached,
    NonFiniteError,
    Problem,
    Solver,
    counted,
)
from ..problem.checks import as_path, flag, function, optional
from ..problem.errors import named_point
from ..smoothing import Oracles
from .checkpoint import Saver, Snapshot
from .guard import guarded
from .live_file import LiveFile
from .monitor import Monitor
from .progress import Progress, RoundTable
from .result import Callback, Result
from .schedule import CLOSED_FORM_CALLS, NEAR, Schedule, expected, near, spare
from .status import Status
from .stopping import Limits
from .tracker import Tracker

COMPARED_ROUNDS = 100
"""The first rounds are all compared with what L and convexity promise, later only the recorded
ones. On another device a comparison would have to be waited for, so that only recorded rounds are
compared there."""

_LOOK_EVERY = 8  # recorded rounds between two looks for a noise floor
_LASTING = 0.5  # share of the gap that three quarters of the rounds leave where noise rules
_HOPELESS = math.log(100.0) / math.log(4.0)  # a hundred times as many rounds, in factors of four

NOISE = (
    "The run has reached the noise floor of its gradients: in the last three quarters of its "
    "rounds the gap has hardly shrunk, and a hundred times as many would not meet the tolerance. "
    "Pass variance_reduction=True, a larger batch, method='converging', or no batch for exact "
    "gradients."
)
"""What to say of a run at its noise floor."""

COMPARED_EVERY = 16
"""Of later rounds, all recorded ones are compared if f is the user's own, else one in so many."""

LOOKS_IN_A_PASS = 4
"""Rounds of a pass over the data in which a table of slopes is asked what it may prove."""

LARGE = 2**13
"""Entries of x from which the memory of freed arrays is kept."""

IDLE_ROUNDS = 20
"""Rounds without a lower value after which a run on a function that is not convex has stalled."""

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
    schedule : Schedule
        Which rounds to certify and record.
    saver : Saver, optional
        What writes checkpoints.
    origin : Snapshot, optional
        What to continue from, instead of beginning.
    began : float
        When the user's call began, by `time.perf_counter`.
    search : callable, optional
        Returns another start than x0, and a remark, where f is not finite at x0. None for an x0
        that the user has chosen.
    checks : bool
        Whether f and K are checked, where they are not the library's own.
    verbose : bool
        Print a table of rounds instead of a progress line.
    begin : callable, optional
        Changes the solver's first state, of which it is given the problem and the state.
    watch : str or Path, optional
        Folder in which `wolfpack watch` finds the result so far.
    live : LiveFile, optional
        What writes into that folder.
    """

    callback: Callback | None = None
    progress: bool | None = None
    schedule: Schedule = Schedule()
    saver: Saver | None = None
    origin: Snapshot | None = None
    began: float = field(default_factory=time.perf_counter)
    search: Callable[[], tuple[Array, str]] | None = None
    checks: bool = True
    verbose: bool = False
    begin: Callable[[Problem, Any, Oracles], Any] | None = None
    watch: str | PathLike[str] | None = None
    live: LiveFile | None = None

    def __post_init__(self) -> None:
        optional(function)(self.callback, "callback")
        optional(flag)(self.progress, "progress")
        optional(as_path)(self.watch, "watch")


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
    if type(x0) is np.ndarray and x0.size >= LARGE:
        keep_freed_memory()
    tracker = Tracker(problem, oracles.log, began=options.began)
    tracker.reads = isinstance(oracles, Oracles) and oracles.gradients is not None
    course = Course(problem, solver, oracles, limits, options, tracker, Monitor(tracker))
    with counted(problem.counts):
        status = _status(course, x0)
        finish = getattr(solver, "finish", None)
        if finish is not None and not (status is Status.MAX_SECONDS and _is_dear(course)):
            x, fun = finish(problem, course.state, tracker.x, tracker.fun)
            tracker.improve(x, fun)
            if status in _ENDED_BY_LIMIT and tracker.gap <= tracker.goal(limits):
                status = Status.CONVERGED
    message = _message(status, course, tracker, course.monitor)
    return tracker.result(course.state, status, message)


def _status(course: Course, x0: Array) -> Status:
    """Follow a course to its end and return why it ended; write the last checkpoint."""
    tracker = course.tracker
    try:
        return course.follow(x0)
    except NonFiniteError as error:
        if tracker.x is None:
            raise ValueError(_outside(error)) from None
        course.monitor.remarks.append(f"What was found: {error}.")
        return Status.NONFINITE
    except KeyboardInterrupt:
        if tracker.x is None:
            raise
        return Status.INTERRUPTED
    except (EndOfData, EngineFailure) as end:
        if tracker.x is None:
            raise
        course.monitor.remarks.append(str(end))
        if isinstance(end, EngineFailure):
            return Status.ENGINE_FAILURE
        course.problem.counts.allow(math.inf, math.inf)
        course.observe()
        return Status.DATA_END
    except Exception as error:
        if tracker.x is not None:
            found = tracker.result(course.state, Status.INTERRUPTED, "")
            _attach(error, found, course.solver)
        raise
    finally:
        course.progress.close()
        if course.options.saver is not None:
            course.options.saver.write()


def _is_dear(course: Course) -> bool:
    """Tell whether two more evaluations would overrun the time by more than a twentieth."""
    counts, seconds = course.problem.counts, course.limits.max_seconds
    share = 2.0 * course.tracker.seconds / max(1, counts.nfev + counts.njev)
    return seconds is not None and share > 0.05 * seconds


class FirstPoint(NamedTuple):
    """The state of a run that a limit has ended before its solver's first state was complete."""

    k: int
    x: Array
    at: Evaluation


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
        limits = self.limits
        self.progress: Progress | RoundTable
        if self.options.verbose:
            self.progress = RoundTable()
        else:
            self.progress = Progress(self.options.progress, limits.max_rounds)
        self._observe = getattr(self.solver, "observe", None)
        foresees = self.options.schedule.patient and self.options.schedule.every == "auto"
        self._foresee = getattr(self.solver, "foresee", None) if foresees else None
        self._promise = getattr(self.solver, "promise", None) if foresees else None
        self._rounds_to_floor = getattr(self.solver, "rounds_to_floor", None)
        self._calls: int = getattr(self.solver, "certificate_calls", 0)
        proofs: int = getattr(self.solver, "certificate_proofs", 0)
        region = getattr(self.problem, "set", None)
        self._proof_calls = proofs * getattr(region, "proof_calls", 0)
        self._max_lmo = math.inf if limits.max_lmo is None else limits.max_lmo
        # A certificate of `anytime` may take a second call.
        self._reserve = 2 * self._calls
        self._recorded = -1
        self.noisy = False
        self._expected: tuple[int, ...] = ()
        self._near = 0

    def follow(self, x0: Array) -> Status:
        """Make rounds until the run must end, and return why."""
        try:
            self.monitor.watch(self.oracles, self.options.checks)
            self._begin(x0)
            return self._rounds(0 if is_foreign(x0) else COMPARED_ROUNDS)
        except LimitReached as reached:
            if reached.limit == "max_passes":
                text = f"The limit is max_passes = {self.limits.max_passes}."
                self.monitor.remarks.append(text)
                return self._close(Status.MAX_ROUNDS, x0)
            status = self._close(Status(reached.limit), x0)
            if reached.limit == "max_seconds":  # nothing more is paid for
                self.monitor.skip()
                return status
            return self.monitor.verdict(status, self.state)

    def _rounds(self, compared: int) -> Status:
        problem, solver, oracles, tracker = self.problem, self.solver, self.oracles, self.tracker
        schedule, saver, counts = self.options.schedule, self.options.saver, problem.counts
        live = self.options.live
        limits, timed = self.limits, self.limits.max_seconds is not None
        always, tested = self._is_free(), problem.objective.tested
        while True:
            k = self.state.k
            seconds = tracker.seconds if timed else 0.0
            limit = limits.exceeded(k, seconds, counts.nlmo + self._reserve)
            planned = always or schedule.due(k, self._price())
            due = planned or limit is not None or k in self._expected
            if not due and self._is_promising():
                due = True
            seldom = tested and self._recorded // COMPARED_EVERY == k // COMPARED_EVERY
            if k < compared or (due and not seldom):
                self._compare()
            if saver is not None:
                saver.mark(self.state, tracker, self.monitor)
            if limit is Status.MAX_SECONDS:
                raise LimitReached(limit)
            if due and self.state.at is None:
                self.observe()
            else:
                tracker.see(self.state)
            if due:
                bound = self._bound()
                if k == 0:
                    self.monitor.begin(self.state)
                self.monitor.note(self.state)
                status = self._record(bound, limit)
                if status is not None:
                    return self.monitor.verdict(status, self.state)
                if planned and not always:
                    self._expect(k)
            self.progress.update(k, tracker, limits)
            if live is not None:
                live.update(self.state, solver.name, tracker, limits)
            self.previous = None  # its arrays are not needed while the next ones are made
            began = time.perf_counter()
            following = solver.step(problem, self.state, oracles)
            tracker.solver_seconds += time.perf_counter() - began
            self.previous, self.state = self.state, following

    def _expect(self, k: int) -> None:
        """Note where the run may end, by the gaps of round k and of a power of two before it."""
        schedule, tracker = self.options.schedule, self.tracker
        if self._promise is not None and getattr(self.state, "slopes", None) is not None:
            return  # its table tells where
        turn, rest = divmod(k, schedule.unit)
        if schedule.every == "auto" and schedule.patient and turn > 1 and not rest:
            before = schedule.unit << (turn.bit_length() - 2)
            gap, gap0 = tracker.history.gap_at(k), tracker.history.gap_at(before)
            goal = tracker.goal(self.limits)
            if self._foresee is not None:
                self._near = near(k, gap, before, gap0, goal)
            else:
                self._expected = expected(k, gap, before, gap0, goal)

    def _expect_again(self) -> None:
        """Expect the end where the run that is continued expected it."""
        rows, price = self.tracker.history.rows.table(), self._price()
        planned = (int(k) for k in rows[::-1, 0] if self.options.schedule.due(int(k), price))
        for k in planned:
            return self._expect(k)

    def observe(self) -> None:
        """Evaluate f at the iterate, for a solver whose steps do without."""
        if self.state.at is None and self._observe is not None:
            self.state = self._observe(self.problem, self.state)
            self._compare()
        self.tracker.see(self.state)

    def _compare(self) -> None:
        """Compare the last two states with what L and convexity promise, where f is known."""
        previous, state = self.previous, self.state
        if previous is not None and state.at is not None:
            if previous.at is None:  # the round itself has seen the function at another point
                previous = getattr(state, "query", None) or previous
            self.monitor.compare(previous, state)

    def _measure_stationarity(self) -> float:
        """Measure the Frank-Wolfe gap at x where f is not convex; there is no lower bound."""
        state, oracles = self.state, self.oracles
        assert isinstance(self.problem, Problem)
        assert isinstance(oracles, Oracles)
        g, known = state.at.gradient, oracles.last
        vertex = known[1] if known is not None and known[0] is g else oracles.lmo(g)
        slack = inner(g, state.x) - self.problem.set.certify(g, vertex)
        self.tracker.stationarity = max(0.0, slack)
        return -math.inf

    def _certify(self) -> float:
        """Return what the solver proves of the state."""
        if self.tracker.stationarity is not None:
            return self._measure_stationarity()
        if isinstance(self.state, FirstPoint):
            return self._first_bound(self.state.at)
        return self.solver.lower_bound(self.problem, self.state, self.oracles)

    def _begin(self, x0: Array) -> None:
        """Make the first state, or take the one that the run is continued from."""
        origin, tracker, counts = self.options.origin, self.tracker, self.problem.counts
        if origin is not None:
            self.state = origin.restore(tracker, self.monitor)
            self._expect_again()
        deadline = math.inf
        if self.limits.max_seconds is not None:
            deadline = tracker.began + self.limits.max_seconds - tracker.spent
        # Composite runs make their first state from one gradient at most, which is not cut.
        if not isinstance(self.oracles, Gradients):
            counts.allow(deadline, self._max_lmo - self._reserve)
        if origin is None:
            began = time.perf_counter()
            self.state = self._first_state(x0)
            tracker.solver_seconds = time.perf_counter() - began
        if isinstance(self.oracles, Gradients):
            counts.allow(deadline, self._max_lmo)
        source = _source(self.oracles)
        if source is not None and self.limits.max_passes is not None:
            counts.max_rows = self.limits.max_passes * source.per_pass

    def _first_state(self, x0: Array) -> Any:
        """Return the solver's first state; from another start where f is not finite at x0."""
        begin = self.options.begin
        try:
            state = self.solver.init(self.problem, x0, self.oracles)
            if begin is None:
                return state
            assert isinstance(self.problem, Problem)
            assert isinstance(self.oracles, Oracles)
            return begin(self.problem, state, self.oracles)
        except NonFiniteError:
            if self.options.search is None:
                raise
            x0, remark = self.options.search()
            self.monitor.remarks.append(remark)
            return self.solver.init(self.problem, x0, self.oracles)

    def _is_free(self) -> bool:
        """Tell whether every round is certified, because no state costs anything to certify."""
        costs = self._calls + self._proof_calls > 0 or self._observe is not None
        return self.options.schedule.every == "auto" and not costs

    def _is_promising(self) -> bool:
        """Tell whether the oracle's answer to the state's gradient would end the run, if proved.

        Where a proof costs much and the answer is known, proofs are spaced, and answers are looked
        at in every round.
        """
        state, oracles = self.state, self.oracles
        if self._promise is not None:
            return self._is_promised()
        if self._foresee is not None and (state.at is None or self._proof_calls):
            return self._is_foreseen()
        if self._calls or not self._proof_calls or state.at is None:
            return False
        if not isinstance(oracles, Oracles) or self.options.schedule.every != "auto":
            return False
        tracker, at, known = self.tracker, state.at, oracles.last
        if known is None or known[0] is not at.gradient:
            return False
        slack = inner(at.gradient, state.x) - float(known[1].dot(at.gradient))
        best = min(tracker.fun, at.value)
        return slack - (at.value - best) <= tracker.goal(self.limits)

    def _is_foreseen(self) -> bool:
        """Tell whether the tangent at the last gradient lets the iterate's gap be small enough."""
        tracker, k = self.tracker, self.state.k
        if getattr(self.state, "leapt", False):
            return True
        if k < self._near and not self._proof_calls:
            return False
        assert self._foresee is not None
        value, bound = self._foresee(self.problem, self.state)
        # a certificate that may fail is worth its price where it raises the bound that is proved
        raises = not self._proof_calls or bound > tracker.best_bound
        bound = max(tracker.best_bound, bound)
        if not self._proof_calls:
            tracker.best_bound = bound
        gap, goal = min(tracker.fun, value) - bound, tracker.goal(self.limits)
        if gap <= goal:
            return True
        return raises and gap <= NEAR * goal and spare(k, len(tracker.history.rows))

    def _is_promised(self) -> bool:
        """Tell whether a table of slopes lets the gap be small enough, at some rounds of a pass.

        A certificate takes up to two passes, so that as many lie between two of them.
        """
        assert self._promise is not None
        tracker, unit = self.tracker, self.options.schedule.unit
        k, rows = self.state.k, self.tracker.history.rows
        last = int(rows[-1][0]) if len(rows) else 0
        if k % max(1, unit // LOOKS_IN_A_PASS) or k < last + 2 * unit:
            return False
        found = self._promise(self.problem, self.state, self.oracles)
        if found is None:
            return False
        value, bound = found
        gap = min(tracker.fun, value) - max(tracker.best_bound, bound)
        return gap <= tracker.goal(self.limits)

    def _price(self) -> float:
        """Return the declared cost of certifying the state, in rounds."""
        if isinstance(self.problem, CompositeProblem):
            return float(self.problem.objective.has_values)
        state = self.state
        # a state may know better than its solver, where methods take turns
        calls = getattr(state, "certificate_calls", self._calls + self._proof_calls)
        calls += state.at is None
        if calls == 0:
            return 0.0
        m = getattr(state, "m", None) or getattr(state, "round_calls", None)
        m = m or getattr(self.solver, "round_calls", 1)
        return calls / (1 + (m if isinstance(m, int) else CLOSED_FORM_CALLS))

    def _bound(self) -> float:
        """Return the state's lower bound, for which oracle calls were kept in reserve."""
        counts = self.problem.counts
        if self._max_lmo == math.inf and not isinstance(self.state, FirstPoint):
            return self._certify()
        before, counts.max_lmo = counts.max_lmo, self._max_lmo
        try:
            return self._certify()
        finally:
            counts.max_lmo = before

    def _first_bound(self, at: Evaluation) -> float:
        assert isinstance(self.problem, Problem)
        assert isinstance(self.oracles, Oracles)
        return self.problem.dual_bound(at.gradient, at.dual, self.oracles.lmo(at.gradient))

    def _close(self, limit: Status, x0: Array) -> Status:
        """End a run that a limit has cut, with the last complete state, and return its status.

        After the deadline nothing is paid for but f at a point that was not evaluated yet.
        """
        problem, counts = self.problem, self.problem.counts
        counts.allow(math.inf, self._max_lmo)
        if self.state is None:
            assert isinstance(problem, Problem)  # no limit cuts the first state of a composite run
            x, at = counts.latest or (None, None)
            self.state = FirstPoint(
                0, x0, problem.evaluate(x0) if at is None or x is not x0 else at
            )
        if self.state.k == self._recorded or (limit is Status.MAX_SECONDS and self._is_recent()):
            return limit
        self.observe()
        bound = -math.inf
        paid = self._calls > 0 or isinstance(self.state, FirstPoint)
        # only passes over the data end a run here with the status "max_rounds"
        if limit in (Status.MAX_LMO, Status.MAX_ROUNDS) or not paid:
            with contextlib.suppress(LimitReached):
                bound = self._bound()
        return self._record(bound, limit) or limit

    def _is_recent(self) -> bool:
        """Tell whether the last evaluated point is too recent to pay for the current one."""
        k, last = self.state.k, self._recorded
        return self.state.at is None and last >= 0 and k - last <= max(8, k // 20)

    def _record(self, bound: float, limit: Status | None) -> Status | None:
        """Record a round and call back; return the status if the run must end."""
        tracker, state, callback = self.tracker, self.state, self.options.callback
        gap, floor = tracker.record(state, bound)
        self._recorded, goal = state.k, tracker.goal(self.limits)
        small = gap <= goal or gap <= 2.0 * floor or tracker.contradicted
        if small and self.monitor.measure(state):
            gap, floor = tracker.reconsider()
            goal = tracker.goal(self.limits)
        if callback is not None:
            now = tracker.result(guarded(state), None, "running")
            now.x, now.history = guarded(now.x), now.history.view()
            now.method, now.engine = self.solver.name, tracker.log
            try:
                with counted(None):
                    callback(now)
            except StopIteration:
                return Status.CALLBACK_STOP
        if tracker.contradicted:
            return Status.CONTRADICTION
        if gap <= goal:
            return Status.CONVERGED
        if tracker.stationarity is not None:
            if tracker.stationarity <= goal:
                return Status.STATIONARY
            return Status.STALLED if tracker.idle >= IDLE_ROUNDS else limit
        # a goal must exceed the floor by a little to be worth waiting for
        at_floor = gap <= 2.0 * floor and goal < 1.0625 * floor
        if at_floor or getattr(state, "stalled", False):
            return Status.STALLED
        self.noisy = self._is_at_noise_floor(gap)
        return Status.STALLED if self.noisy else limit

    def _is_at_noise_floor(self, gap: float) -> bool:
        """Tell whether random gradients have kept a run from its goal for three of four rounds."""
        least = self._rounds_to_floor
        if least is None or len(self.tracker.history.rows) % _LOOK_EVERY:
            return False
        goal = self.tracker.goal(self.limits)
        if not 0.0 < goal < gap < math.inf:
            return False
        assert isinstance(self.problem, CompositeProblem)
        k = self.state.k
        if k < least(self.problem, self.oracles):
            return False
        table = self.tracker.history
        past = int(np.searchsorted(table["round"], 0.25 * k, side="right")) - 1
        left = gap / table["gap"][past]
        return left > _LASTING and goal < gap * left**_HOPELESS


def _source(oracles: Oracles | Gradients) -> Gradients | None:
    """Return where the random gradients of a run come from, None for exact ones."""
    return oracles if isinstance(oracles, Gradients) else oracles.gradients


def _message(status: Status, course: Course, tracker: Tracker, monitor: Monitor) -> str:
    """Return why the run ended, and what was remarked along the way."""
    noisy = status is Status.STALLED and course.noisy
    composite = isinstance(tracker.problem, CompositeProblem)
    advice = NOISE if noisy else status.advice
    if status is Status.CONTRADICTION and composite:  # `check` is for f and K
        advice = _COMPOSITE_CONTRADICTION
    remarks = [advice, *monitor.remarks]
    if status is Status.STALLED and not noisy:
        floor, gap = tracker.floor(), tracker.gap
        if tracker.stationarity is None and math.isfinite(gap) and gap > _FAR_ABOVE * floor:
            remarks[0] = _STUCK.format(floor)
        else:
            floor = max(floor, gap) if tracker.stationarity is None else tracker.stationarity
            remarks.append(f"The floor is about {floor:.1e} here.")
    if tracker.contradicted and monitor.found is None:
        remarks.append(_CONTRADICTION["G" if composite else "f"])
    return " ".join(remarks)


_FAR_ABOVE = 1e3
"""Beyond so many times the rounding errors, they are not what ends a run."""

_STUCK = (
    "The method makes no more progress, and the gap is far above the rounding errors, which are "
    "about {:.1e} here. If f has kinks, smooth it; if the oracle is inexact, its error is part of "
    "the gap; else another method, 'anytime' for instance, may come further."
)

_COMPOSITE_CONTRADICTION = (
    "The gradients and values of this run contradict each other, so no gap can be certified."
)
_CONTRADICTION = {
    "f": (
        "A lower bound rose above a value of f: the oracle's answers are not minimisers over K, or "
        "f is not convex, or random, or its gradient is wrong. No gap can be certified. A random f "
        "is passed as a callable (x, rng) -> gradient."
    ),
    "G": (
        "A lower bound rose above a value of F: G is not convex, or its gradient is wrong, or "
        "the minimisation step of H is. No gap can be certified."
    ),
}


def _outside(error: NonFiniteError) -> str:
    """Return what to say of a start at which f is not finite."""
    where = "" if error.x is None else f" = {named_point(error.x)}"
    part = f" in {error.part}" if error.part else ""
    return (
        f"f is not finite{part} at the starting point x0{where}: choose a point of its domain, or "
        "leave x0 out and one is searched for"
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
