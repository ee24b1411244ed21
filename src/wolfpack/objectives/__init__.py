"""Smooth convex objectives."""

from __future__ import annotations

from typing import Any

from ._base import Objective
from .autodiff import from_jax, from_torch
from .batches import Batches
from .bpr import BPR
from .function import Function
from .huber import Huber
from .least_squares import LeastSquares
from .logistic import Logistic
from .matrix_completion import MatrixCompletion
from .multinomial import Multinomial
from .poisson import Poisson
from .quadratic import Quadratic
from .quantile import Quantile
from .squared_hinge import SquaredHinge
from .stochastic import Stochastic
from .weighted import Weighted

__all__ = [
    "BPR",
    "Batches",
    "Function",
    "Huber",
    "LeastSquares",
    "Logistic",
    "MatrixCompletion",
    "Multinomial",
    "Objective",
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


def as_objective(f: Any) -> Objective:
    """Return ``f`` as an objective: an `Objective` as it is, a callable wrapped in `Function`."""
    if isinstance(f, Stochastic) or not getattr(f, "has_values", True):
        raise TypeError("f has random gradients alone: use minimize_composite, or an exact f")
    if isinstance(f, Objective):
        return f
    if callable(f):
        fun: Any = f
        return Function(fun)
    raise TypeError(
        "f must be an objective (wolfpack.objectives) or a callable x -> (value, gradient), "
        f"found {type(f).__name__}"
    )
