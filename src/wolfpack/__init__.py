"""Projection-free convex optimization that turns parallel linear oracles into fewer rounds."""

from __future__ import annotations

from . import (
    arrays,
    engines,
    estimators,
    noise,
    objectives,
    regularizers,
    sets,
    smoothing,
    solvers,
    theory,
)
from .front.check import check
from .front.choose import explain
from .front.composite import minimize_composite
from .front.execute import ConvergenceError
from .front.integer import minimize_integer
from .front.minimize import minimize
from .front.resume import resume
from .loop import Result, Status, load
from .loop.checkpoint import Checkpoint
from .problem import CapabilityError
from .report.curves import plot

__version__ = "0.1.0"

__all__ = [
    "CapabilityError",
    "Checkpoint",
    "ConvergenceError",
    "Result",
    "Status",
    "arrays",
    "check",
    "engines",
    "estimators",
    "explain",
    "load",
    "minimize",
    "minimize_composite",
    "minimize_integer",
    "noise",
    "objectives",
    "plot",
    "regularizers",
    "resume",
    "sets",
    "smoothing",
    "solvers",
    "theory",
]
