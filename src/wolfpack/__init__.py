"""Projection-free convex optimization that turns parallel linear oracles into fewer rounds."""

from __future__ import annotations

from . import arrays, noise, objectives, regularizers, sets, smoothing, solvers, theory
from .choose import explain
from .loop import Result, Status, load
from .minimize import ConvergenceError, minimize
from .minimize_composite import minimize_composite
from .problem import CapabilityError

__version__ = "0.1.0"

__all__ = [
    "CapabilityError",
    "ConvergenceError",
    "Result",
    "Status",
    "arrays",
    "explain",
    "load",
    "minimize",
    "minimize_composite",
    "noise",
    "objectives",
    "regularizers",
    "sets",
    "smoothing",
    "solvers",
    "theory",
]
