"""Smooth convex objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..problem import Rational, Stacked
from ..problem.checks import shown
from ._base import Objective
from .autodiff import from_jax, from_torch
from .batches import Batches
from .bpr import BPR
from .classification import Logistic, Multinomial, SquaredHinge
from .design import AOptimal, DOptimal
from .difference import Difference
from .function import Function, Stochastic, arguments_of
from .matrix_completion import MatrixCompletion
from .partitioned import Partitioned
from .quadratic import Quadratic
from .regression import Huber, LeastSquares, Poisson, Quantile
from .utility import LogUtility
from .weighted import Weighted

__all__ = [
    "BPR",
    "AOptimal",
    "Batches",
    "DOptimal",
    "Difference",
    "Function",
    "Huber",
    "LeastSquares",
    "LogUtility",
    "Logistic",
    "MatrixCompletion",
    "Multinomial",
    "Objective",
    "Partitioned",
    "Poisson",
    "Quadratic",
    "Quantile",
    "SquaredHinge",
    "Stochastic",
    "Weighted",
    "as_objective",
    "from_jax",
    "from_torch",
]


def as_objective(f: Objective | Callable[..., Any], random: bool = False) -> Objective:
    """Return ``f`` as an objective: an `Objective` as it is, a callable wrapped.

    A callable of one argument becomes a `Function`, one of two arguments, x and a random generator,
    a `Stochastic`. Random gradients are refused unless ``random`` is true.
    """
    if isinstance(f, Objective):
        objective = f
    elif arguments_of(f) == 2:
        objective = Stochastic(f)
    else:
        objective = None
    if objective is not None:
        if not (random or objective.has_gradients):
            raise TypeError(
                "f has only random gradients, and whole ones are needed here: pass an f that "
                "returns its value and its gradient. minimize and minimize_composite take random "
                "gradients"
            )
        return objective
    if isinstance(f, Stacked):
        raise TypeError(
            f"f must be one objective, found the data of {len(f)}: pass it to minimize_many"
        )
    if isinstance(f, Rational):
        raise TypeError(f"f must be a function of floats here, found a {f}: pass it to minimize")
    if callable(f) and not (isinstance(f, type) and issubclass(f, Objective)):
        return Function(f)
    raise TypeError(
        "f must be an objective (wolfpack.objectives), a callable x -> (value, gradient) or a "
        f"callable (x, rng) -> random gradient, found {shown(f)}"
    )
