"""What solvers see of a problem, and the protocols of everything that takes part in a run."""

from __future__ import annotations

from .composite import CompositeEvaluation, CompositeProblem
from .constrained import Problem
from .errors import CapabilityError, EndOfData, NonFiniteError
from .evaluation import Counts, Evaluation, Pending, underflow
from .protocols import Objective, Region, Solver

__all__ = [
    "CapabilityError",
    "CompositeEvaluation",
    "CompositeProblem",
    "Counts",
    "EndOfData",
    "Evaluation",
    "NonFiniteError",
    "Objective",
    "Pending",
    "Problem",
    "Region",
    "Solver",
    "underflow",
]
