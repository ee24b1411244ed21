"""How many threads BLAS may use in a run.

Threads pay for large matrices. For small ones they only wait for each other: beside another busy
program a product of a hundred rows then takes a hundred times as long. A run whose matrices are
small therefore uses one, and has the same bits whatever the number of threads was. Functions and
oracles of a user may multiply matrices of any size: their runs are left alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..arrays import is_foreign, one_thread
from ..problem import CompositeProblem, Problem, is_own

LARGE = 2**20
"""Entries of a matrix from which products with a vector pay on several threads."""

LARGE_SPECTRUM = 2**16
"""The same for matrices x that are decomposed: 256 x 256."""

_RANK = 100  # of the factors of x, roughly


def few_threads(problem: Problem | CompositeProblem, start: Any) -> AbstractContextManager[object]:
    """Hold BLAS to one thread until the context is left, if all matrices of a run are small."""
    return one_thread() if is_small(problem, start) else nullcontext()


def is_small(problem: Problem | CompositeProblem, start: Any) -> bool:
    """Tell whether a run of the library's own parts multiplies small matrices only."""
    f, whole = problem.objective, problem.objective.tested
    if is_foreign(start) or start is None or _largest(f) > LARGE:
        return False
    if isinstance(problem, CompositeProblem):
        return whole and is_own(problem.regularizer) and start.size <= _most(start.ndim == 2)
    K: Any = problem.set
    if not (whole and K.tested) or _largest(K) > LARGE:
        return False
    if getattr(f, "factored", False) and K.has("core"):
        return sum(K.shape) * _RANK <= LARGE
    return K.dimension <= _most(len(K.shape) == 2 and not K.polytope)


def _most(decomposed: bool) -> int:
    """Return the most entries of an x that counts as small."""
    return LARGE_SPECTRUM if decomposed else LARGE


def _largest(part: object) -> int:
    """Return the size of the largest array that an objective or a set keeps."""
    return max((v.size for v in vars(part).values() if isinstance(v, np.ndarray)), default=0)
