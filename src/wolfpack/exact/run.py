r"""The loop of exact methods: bounds, limits, history and the result, all in Fractions.

At every iterate x the answer v of the exact oracle proves

.. math:: f(x) - \langle \nabla f(x), x - v\rangle \le \min_K f,

without any rounding. The run ends where the difference to the best value is within the tolerance,
which may be 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..loop import Callback, History, Limits, Result, Status
from ..loop.stopping import DEFAULT_ROUNDS
from ..problem import STEPS, CapabilityError
from ..problem.checks import shown
from ..problem.rational import fractions
from .hull import Hull
from .methods import (
    ExactObjective,
    away,
    blended_pairwise,
    corrective,
    frank_wolfe,
    pairwise,
)
from .objectives import ExactFunction, ExactQuadratic, as_exact_objective
from .sets import ExactSet, as_exact_set, zeros

METHODS: dict[str, Callable[..., str] | None] = {
    "fw": None,
    "fw-ls": frank_wolfe,
    "away": away,
    "pairwise": pairwise,
    "bpcg": blended_pairwise,
    "corrective": corrective,
}
"""The exact methods; "fw" has open-loop steps and keeps no vertices."""

SHARE = Fraction(1, 10**6)
"""Gap, as a share of what could be gained at the start, at which methods without an end stop."""


class _Task(NamedTuple):
    """What does not change in a run; the goal None is a share of what the start could gain."""

    f: ExactObjective
    K: ExactSet
    method: str
    goal: Fraction | None
    limits: Limits
    callback: Callback | None = None


@dataclass
class _Run:
    """What a run has found: the best point, the best bound, and the counts."""

    x: Array
    fun: Fraction
    bound: Fraction
    began: float
    history: History = field(default_factory=History)
    rounds: int = 0
    nlmo: int = 0
    state: Hull | None = None

    @property
    def gap(self) -> Fraction:
        return self.fun - self.bound

    def result(self, method: str, status: Status | None, message: str) -> Result:
        """Return what is known now; a contradiction leaves no certificate."""
        proved = status is not Status.CONTRADICTION
        calls = self.rounds + 1
        seconds = time.perf_counter() - self.began
        return Result(
            x=self.x.copy(),
            fun=self.fun,
            lower_bound=self.bound if proved else -math.inf,
            gap=self.gap if proved else math.inf,
            success=status is Status.CONVERGED,
            status=status,
            message=message,
            method=method,
            nit=self.rounds,
            nfev=calls,
            njev=calls,
            nlmo=self.nlmo,
            seconds=seconds,
            solver_seconds=seconds,
            history=self.history.view(),
            state=self.state and self.state.copy(),
            engine=None,
        )


def minimize_exactly(
    f: Any,
    K: Any,
    x0: Any,
    method: Any,
    tol: Any,
    limits: Limits,
    callback: Callback | None,
    L: Any,
    began: float,
) -> Result:
    """Minimise a convex function over a polytope in Fractions; see `wolfpack.minimize`."""
    objective, region = as_exact_objective(f, L), as_exact_set(K)
    if objective.shape not in (None, region.shape):
        raise ValueError(f"f and K must have one shape, found {objective.shape} and {region.shape}")
    name = _method(method, objective)
    start, calls = _start(region, x0)
    goal = Fraction(0) if name == "corrective" else None
    task = _Task(objective, region, name, goal if tol is None else Fraction(tol), limits, callback)
    run, status = _carried_out(task, start, calls, began)
    message = status.advice
    if status is Status.CONVERGED and run.gap == 0:
        message = "The gap is exactly 0: the returned point is a minimiser."
    return run.result(name, status, message)


def _carried_out(task: _Task, x: Array, calls: int, began: float) -> tuple[_Run, Status]:
    """Make rounds until there is a reason to end; what f or the callback raises gets the result."""
    step, hull = METHODS[task.method], Hull(x)
    value, bound, g, v = _proved(task, x)
    run = _Run(x, value, bound, began, nlmo=calls + 1, state=step and hull)
    goal = SHARE * run.gap if task.goal is None else task.goal
    kind = "start"
    try:
        while True:
            _record(run, value, bound, kind)
            status = _ended(run, goal, task.limits)
            if status is not None:
                return run, status
            if task.callback is not None and _stops(
                task.callback, run.result(task.method, None, "")
            ):
                return run, Status.CALLBACK_STOP
            if step is None:
                kind, x = "fw", x + Fraction(2, run.rounds + 2) * (v - x)
            else:
                kind = step(task.f, hull, g, v)
                x = hull.point
            value, bound, g, v = _proved(task, x)
            run.rounds, run.nlmo = run.rounds + 1, run.nlmo + 1
            if value < run.fun:
                run.x, run.fun = x, value
            run.bound = max(run.bound, bound)
    except KeyboardInterrupt:
        return run, Status.INTERRUPTED
    except Exception as error:
        error.result = run.result(task.method, None, "")  # pyright: ignore[reportAttributeAccessIssue]
        raise


def _proved(task: _Task, x: Array) -> tuple[Fraction, Fraction, Array, Array]:
    """Return f(x), the bound that x proves, the gradient and the oracle's answer."""
    value, g = task.f(x)
    v = task.K.lmo(g)
    return value, value - (g * (x - v)).sum(), g, v


def _stops(callback: Callback, result: Result) -> bool:
    try:
        callback(result)
    except StopIteration:
        return True
    return False


def _ended(run: _Run, goal: Fraction, limits: Limits) -> Status | None:
    """Return why the run ends here, None if it goes on."""
    rounds = limits.max_rounds
    if rounds is None and limits.max_seconds is None:
        rounds = DEFAULT_ROUNDS
    if run.gap < 0:
        return Status.CONTRADICTION
    if run.gap <= goal:
        return Status.CONVERGED
    if rounds is not None and run.rounds >= rounds:
        return Status.MAX_ROUNDS
    if limits.max_seconds is not None and time.perf_counter() - run.began >= limits.max_seconds:
        return Status.MAX_SECONDS
    return None


def _record(run: _Run, value: Fraction, bound: Fraction, kind: str) -> None:
    """Add a row to the history, whose floats are rounded so that the bound stays one."""
    calls, hull = run.rounds + 1, run.state
    seconds = time.perf_counter() - run.began
    row = (run.rounds, seconds, _above(value), _below(bound), _above(run.gap))
    kept = (0, 0, 0) if hull is None else (len(hull.vertices), hull.added, hull.dropped)
    run.history.add((*row, calls, calls, run.nlmo, math.nan, 0), step=(STEPS.index(kind), *kept))


def _below(number: Fraction) -> float:
    """Return the largest float that is at most ``number``."""
    try:
        nearest = float(number)
    except OverflowError:
        return -math.inf if number < 0 else np.finfo(float).max
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)


def _above(number: Fraction) -> float:
    """Return the least float that is at least ``number``."""
    return 0.0 - _below(-number)


def _method(method: Any, f: ExactObjective) -> str:
    """Return the name of the method, which "auto" leaves to f."""
    name = method
    exact_steps = isinstance(f, ExactQuadratic) or f.L is not None
    if isinstance(method, str) and method == "auto":
        name = "corrective" if isinstance(f, ExactQuadratic) else "bpcg" if exact_steps else "fw"
    if not (isinstance(name, str) and name in METHODS):
        raise CapabilityError(
            f"method must be one of {', '.join(map(repr, ('auto', *METHODS)))} in exact problems, "
            f"found {shown(method)}"
        )
    if name == "corrective" and isinstance(f, ExactFunction):
        raise CapabilityError(
            "method 'corrective' needs a Quadratic or LeastSquares in exact problems, found a "
            "callable: use 'fw', or pass L and use 'bpcg'"
        )
    if name != "fw" and not exact_steps:
        raise CapabilityError(
            f"method {name!r} needs a step length, which a callable does not tell in exact "
            "problems: pass its smoothness constant L, or use method 'fw'"
        )
    return name


def _start(K: ExactSet, x0: Any) -> tuple[Array, int]:
    """Return the first iterate, a point of K, and the oracle calls that it took."""
    if isinstance(x0, Result):
        x0 = x0.x
    if x0 is None:
        return K.lmo(zeros(K.shape)), 1
    x = fractions(x0, "x0")
    if x.shape != K.shape:
        raise ValueError(f"x0 must have shape {K.shape}, found {x.shape}")
    calls = 0
    if K.contains is not None:
        inside = K.contains(x)
    else:
        distance = ExactQuadratic(Fraction(1), -x, (x * x).sum() / 2)
        task = _Task(distance, K, "corrective", Fraction(0), Limits())
        run, _ = _carried_out(task, K.lmo(zeros(K.shape)), 1, time.perf_counter())
        inside, calls = run.fun == 0, run.nlmo
    if not inside:
        raise ValueError("x0 must be a point of K, found one outside, in exact arithmetic")
    return x, calls
