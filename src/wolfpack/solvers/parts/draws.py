"""Random gradients as solvers of constrained problems ask for them, and what tables prove."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from ...arrays import Array, inner
from ...atoms import Atoms
from ...gradients import Slopes
from ...problem import Evaluation, Problem
from ...smoothing import Oracles

VARIANCE_DRAWS = 32
"""Random gradients from which a variance is estimated."""


def drawn(problem: Problem, draws: Any, x: Array, k: int) -> Array:
    """Return the random gradient of round ``k`` at x."""
    problem.counts.read(draws.read(draws.batch, False))
    return draws.at(x, k, draws.batch).mean


def rounds_of_pass(draws: Any) -> int:
    """Return how many rounds read all rows once."""
    return -(-draws.per_pass // draws.batch)


def steepness(problem: Problem, draws: Any, x: Array) -> float:
    """Return L: the user's, what f declares, or an estimate from differences of gradients."""
    if problem.L is not None:
        return problem.L
    if draws.declared_smoothness is not None:
        return draws.declared_smoothness
    before = problem.counts.njev
    found = draws.smoothness(x, draws.batch)
    _count_rows(problem, draws, before)
    return found if found > 0.0 else 1.0


def variance(problem: Problem, draws: Any, x: Array) -> float:
    """Return the variance of a round's gradient: what f declares, or an estimate at x."""
    declared = problem.objective.variance
    if declared is not None:
        return declared / draws.batch
    before = problem.counts.njev
    found = draws.variance(x, draws.batch, "l2", VARIANCE_DRAWS)
    _count_rows(problem, draws, before)
    return found if math.isfinite(found) else 0.0


def certified(
    problem: Problem,
    at: Evaluation | None,
    slopes: Slopes | None,
    weight: float,
    oracles: Oracles,
) -> float:
    """Return the best dual value at hand: that of the gradient at x, of the table or its average.

    A table is proved, which takes a pass over the rows, where it promises more than what is known.
    ``weight`` is the sum of the weights with which tables were averaged.
    """
    bound = -math.inf
    if at is not None and at.gradient is not None:
        bound = problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))
    if slopes is None or weight <= 1.0:  # a table of the first round proves next to nothing
        return bound
    best, y, theta, vertex = max(_claims(problem, slopes, weight, oracles), key=itemgetter(0))
    if not best > max(bound, problem.counts.bound):
        return bound
    problem.counts.reread()
    return max(bound, problem.dual_bound(y, theta, vertex, averaged=True))


def promised(
    problem: Problem, slopes: Slopes, weight: float, x: Array, oracles: Oracles
) -> tuple[float, float]:
    """Return a number that f(x) is not below, and the best bound of the tables, without a proof.

    Neither reads any data: f(x) is at least <A' theta, x> less the conjugate of the loss at theta.
    """
    claims = list(_claims(problem, slopes, weight, oracles))
    _, y, theta, _ = claims[-1]
    return inner(y, x) - problem.objective.conjugate_bound(theta), max(claim[0] for claim in claims)


def _claims(
    problem: Problem, slopes: Slopes, weight: float, oracles: Oracles
) -> Iterator[tuple[float, Array, Array, Atoms]]:
    """Yield what the averaged table and the table itself claim to be a lower bound."""
    for theta, y in (slopes.average(weight), (slopes.current.values, slopes.gradient)):
        vertex = oracles.lmo(y)
        yield float(vertex.dot(y)) - problem.objective.conjugate_bound(theta), y, theta, vertex


def _count_rows(problem: Problem, draws: Any, before: int) -> None:
    """Count the observations of gradients that were drawn for an estimate."""
    counts = problem.counts
    counts.rows += (counts.njev - before) * draws.read(draws.batch, False)
