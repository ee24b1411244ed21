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
from .choose import explain
from .loop import Result, Status, load
from .loop.checkpoint import Checkpoint
from .minimize import ConvergenceError, minimize
from .minimize_composite import minimize_composite
from .problem import CapabilityError
from .resume import resume

__version__ = "0.1.0"

__all__ = [
    "CapabilityError",
    "Checkpoint",
    "ConvergenceError",
    "Result",
    "Status",
    "arrays",
    "engines",
    "estimators",
    "explain",
    "load",
    "minimize",
    "minimize_composite",
    "noise",
    "objectives",
    "regularizers",
    "resume",
    "sets",
    "smoothing",
    "solvers",
    "theory",
]
