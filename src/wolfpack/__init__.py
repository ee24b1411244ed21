"""Projection-free convex optimization that turns parallel linear oracles into fewer rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import (
    arrays,
    engines,
    estimators,
    layers,
    noise,
    objectives,
    regularizers,
    sets,
    smoothing,
    solvers,
    theory,
)
from .front.between import between
from .front.check import check
from .front.choose import explain
from .front.composite import minimize_composite
from .front.difference import minimize_difference
from .front.execute import ConvergenceError
from .front.integer import minimize_integer
from .front.many import minimize_many
from .front.minimize import minimize
from .front.path import path
from .front.resume import resume
from .loop import Result, Status, load
from .loop.checkpoint import Checkpoint
from .loop.many_result import ManyResult
from .loop.path_result import PathResult
from .problem import CapabilityError

if TYPE_CHECKING:
    from .report.curves import plot

__version__ = "0.1.0"

__all__ = [
    "CapabilityError",
    "Checkpoint",
    "ConvergenceError",
    "ManyResult",
    "PathResult",
    "Result",
    "Status",
    "arrays",
    "between",
    "check",
    "engines",
    "estimators",
    "explain",
    "layers",
    "load",
    "minimize",
    "minimize_composite",
    "minimize_difference",
    "minimize_integer",
    "minimize_many",
    "noise",
    "objectives",
    "path",
    "plot",
    "regularizers",
    "resume",
    "sets",
    "smoothing",
    "solvers",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Import what draws when it is first used, so that importing the library stays fast."""
    if name == "plot":
        from .report.curves import plot

        return plot
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
