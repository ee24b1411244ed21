"""Rounds of `anytime` that a device runs as a whole, from the same code as all others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array, Compiled, is_foreign, namespace
from ...problem import CapabilityError, Evaluation, Pending, Problem
from ...smoothing import Oracles
from .tuner import Step

if TYPE_CHECKING:
    from ..anytime import Anytime, State


def need_compilable(problem: Problem, oracles: Oracles, x0: Array, m: int | str) -> None:
    """Raise unless whole rounds of this problem can be recorded, and say what is missing."""
    missing = None
    if not is_foreign(x0):
        missing = "arrays of PyTorch or JAX, and x0 is NumPy's"
    elif not problem.objective.traceable:
        missing = f"a linear model, and {type(problem.objective).__name__} is none"
    elif not getattr(problem.set, "traceable", False):
        missing = f"a simplex or an l1 ball, and {problem.set} is none"
    elif m != "exact" and not (isinstance(m, int) and oracles.draws_directly(m)):
        missing = "a closed form or, for a number m, a set that draws answers directly"
    if missing is not None:
        raise CapabilityError(f"compile=True needs {missing}")


def replay(
    solver: Anytime, problem: Problem, state: State, oracles: Oracles, tau: float, alpha: float
) -> Step:
    """Return the step that ``solver.propose`` takes, computed in one launch."""
    m, counts = state.m, problem.counts
    compiled = oracles.compiled
    if compiled is None:
        compiled = oracles.compiled = Compiled(_round(solver, problem, state, oracles))
    counts.nfev += 1
    counts.njev += 1
    counts.nlmo += m if isinstance(m, int) else 1
    scalars = tau, alpha
    given = (
        np.concatenate([scalars, oracles.uniforms(m, state.k)]) if isinstance(m, int) else scalars
    )
    arrays = state.x, state.at.gradient, state.y, state.dual
    (x, gradient, y, dual, theta), (value, product, *numbers) = compiled(given, arrays)
    at, _ = problem.settle(Evaluation(Pending(value, product), gradient, theta), x)
    return Step(None, None, x, y, dual, at, alpha, math.nan, numbers)


def _round(
    solver: Anytime, problem: Problem, first: State, oracles: Oracles
) -> Callable[..., tuple[Array, ...]]:
    """Return a round as a function of arrays alone."""

    def run(numbers: Array, x: Array, gradient: Array, y: Array, dual: Array) -> tuple[Array, ...]:
        space = namespace(x)
        tau, alpha = space.astype(numbers[0], x.dtype), space.astype(numbers[1], x.dtype)
        state = first._replace(x=x, at=Evaluation(math.nan, gradient, dual), y=y, dual=dual)
        counts = problem.counts
        before = counts.nfev, counts.njev, counts.nlmo
        with oracles.drawing(numbers[2:]):
            step = solver.propose(problem, state, oracles, tau, alpha)
        # recording a round is not counted as one
        counts.nfev, counts.njev, counts.nlmo = before
        found = [*step.at.value, *step.numbers]
        results = space.stack([space.astype(z, numbers.dtype) for z in found])
        return step.x, step.at.gradient, step.y, step.dual, step.at.dual, results

    return run
