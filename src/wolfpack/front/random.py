"""Random gradients in `minimize`: which methods take them, and what is said of their runs."""

from __future__ import annotations

import contextlib
import math
from typing import Any

from ..gradients import Gradients, InTurn, random_gradients
from ..loop import Limits, Result
from ..loop.schedule import Schedule
from ..objectives import Batches, Objective
from ..objectives.finite_sum import FiniteSum
from ..problem import LimitReached, Problem, Solver
from ..smoothing import Oracles
from ..solvers.parts.draws import VARIANCE_DRAWS, variance

CONFIDENCE = 0.95
"""Probability with which ``res.probable_gap`` holds, where nobody has chosen one."""

_FIRST_PASSES = 4
"""Passes before the first certificate after that of the start; one costs up to two passes."""

_OTHER_STREAMS = 1 << 127
"""The bit of the seed that tells the streams of gradients from those of perturbed oracles."""


def is_random(solver: object) -> bool:
    """Tell whether a solver of constrained problems reads random gradients."""
    return getattr(solver, "random", False)


def for_gradients(
    name: str, solver: Solver[Any], f: Objective, convex: bool | None, limits: Limits
) -> Solver[Any]:
    """Return the solver with what it leaves open chosen for f; refuse what it cannot take."""
    if not is_random(solver):
        if not f.has_gradients:
            raise TypeError(
                f"method {name!r} needs whole gradients, and {type(f).__name__} has only random "
                "ones: pass method='auto', 'stochastic' or 'stochastic-anytime', or an f that "
                "returns its value and its gradient"
            )
        if limits.max_passes is not None:
            raise TypeError(
                f"max_passes limits methods that read random gradients, and method {name!r} reads "
                "whole ones: pass max_rounds, or f with batch=..."
            )
        return solver
    if convex is False:
        raise TypeError(
            f"convex=False needs whole gradients, in which f decreases in every round, found "
            f"method {name!r}: choose another method, and leave batch out of f"
        )
    for_rows = getattr(solver, "for_rows", None)
    return solver if for_rows is None else for_rows(isinstance(f, FiniteSum))


def attach_gradients(
    oracles: Oracles, solver: Any, f: Objective, seed: int, limits: Limits
) -> None:
    """Let the oracles of a run draw random gradients, and its problem count what they read."""
    if isinstance(f, Batches):
        f.count()
    draws = random_gradients(f, solver.batch, solver.rows, seed ^ _OTHER_STREAMS)
    known = isinstance(f, FiniteSum) or (isinstance(f, Batches) and f.counted)
    if limits.max_passes is not None and not known:
        raise TypeError(
            f"max_passes needs data whose size is known, found {type(f).__name__}: pass max_rounds"
        )
    oracles.gradients = draws
    oracles.problem.counts.per_pass = draws.per_pass if known else 0


def schedule_of(oracles: Oracles, every: int | str | None) -> Schedule:
    """Return which rounds are certified: with random gradients, whole passes."""
    draws = oracles.gradients
    if draws is None or every not in (None, "auto"):
        return Schedule("auto" if every is None else every)
    unit = max(1, -(-draws.per_pass // int(draws.batch)))
    return Schedule("auto", unit, begins=_FIRST_PASSES if unit > 1 else 0)


def conclude_random(result: Result, problem: Problem, draws: Any, confidence: float) -> None:
    """Add what random gradients prove in expectation and with a probability, and say so."""
    if result.status in ("max_rounds", "max_lmo", "max_seconds") and math.isfinite(result.gap):
        result.message += (
            " Random gradients come near the minimum fast and then slowly: leave batch out of f "
            "for smaller gaps."
        )
    regret = getattr(result.state, "regret", None)
    if regret is None or result.state.slopes is not None:  # a table has proved a gap
        return
    result.expected_gap = result.probable_gap = math.inf
    result.confidence = confidence
    if result.state.at is None:  # x is an earlier point
        return
    with contextlib.suppress(LimitReached):
        problem.counts.ask()
        vertex = problem.set.lmo(regret.slope)
        result.expected_gap = regret.gap(problem.set.certify(regret.slope, vertex))
        result.sigma2 = variance(problem, draws, result.state.x)
        more = regret.deviation(problem.set.diameter, result.sigma2, confidence)
        result.probable_gap = result.expected_gap + more
    result.nlmo, result.njev, result.passes = (
        problem.counts.nlmo,
        problem.counts.njev,
        problem.counts.passes,
    )
    result.message += _words(result, problem, draws)


def _words(result: Result, problem: Problem, draws: Gradients) -> str:
    """Return what the bounds in expectation and with a probability rest on."""
    text = (
        f" Without proof for this run: in the mean f(x) is at most {result.expected_gap:.3g} above "
        f"the minimum, and with probability {result.confidence:g} at most "
        f"{result.probable_gap:.3g}"
    )
    if problem.objective.variance is None:
        text += f", if the variance estimated from {VARIANCE_DRAWS} random gradients is right"
    if isinstance(draws, InTurn):
        text += ", if the source's minibatches are drawn independently"
    return text + "."


def unused_batch(name: str, f: Objective) -> str:
    """Return what to say of a run with whole gradients of an f that offers random ones."""
    if not f.random:
        return ""
    found = f"batch={f.batch}" if isinstance(f, FiniteSum) else "minibatches"
    return (
        f" f has {found}, which method {name!r} does not use: each of its gradients reads all "
        "data. method='stochastic' reads minibatches."
    )
