"""Projection-free convex optimization that turns parallel linear oracles into fewer rounds."""

from __future__ import annotations

from . import noise, objectives, sets, solvers, theory
from .loop import Result, Status, load
from .minimize import ConvergenceError, minimize

__version__ = "0.1.0"

__all__ = [
    "ConvergenceError",
    "Result",
    "Status",
    "load",
    "minimize",
    "noise",
    "objectives",
    "sets",
    "solvers",
    "theory",
]
