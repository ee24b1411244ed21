"""Smooth convex objectives."""

from __future__ import annotations

from collections.abc import Callable

from ..arrays import Array
from ..problem import Stacked
from ..problem.checks import shown
from ._base import Objective
from .autodiff import from_jax, from_torch
from .batches import Batches
from .bpr import BPR
from .classification import Logistic, Multinomial, SquaredHinge
from .design import AOptimal, DOptimal
from .difference import Difference
from .function import Function, Stochastic
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


def as_objective(f: Objective | Callable[[Array], tuple[float, Array]]) -> Objective:
    """Return ``f`` as an objective: an `Objective` as it is, a callable wrapped in `Function`."""
    if isinstance(f, Stochastic) or (isinstance(f, Objective) and not f.has_values):
        raise TypeError(
            "f has only random gradients, and minimize needs exact ones: use minimize_composite, "
            "or pass an f that returns its value and its gradient"
        )
    if isinstance(f, Objective):
        return f
    if isinstance(f, Stacked):
        raise TypeError(
            f"f must be one objective, found the data of {len(f)}: pass it to minimize_many"
        )
    if callable(f) and not (isinstance(f, type) and issubclass(f, Objective)):
        return Function(f)
    raise TypeError(
        "f must be an objective (wolfpack.objectives) or a callable x -> (value, gradient), "
        f"found {shown(f)}"
    )
