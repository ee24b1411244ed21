"""What solvers see of a problem, and the protocols of everything that takes part in a run."""

from __future__ import annotations

from .composite import CompositeProblem
from .constrained import Problem
from .errors import CapabilityError, EndOfData, NonFiniteError
from .evaluation import CompositeEvaluation, Counts, Evaluation, Pending, Violation
from .protocols import (
    Finisher,
    MirrorMap,
    Objective,
    Observer,
    Region,
    SetDependent,
    SimpleTerm,
    Solver,
    State,
)
from .rounding import Minorant, accumulation, sum_unit, underflow, unit_of

__all__ = [
    "CapabilityError",
    "CompositeEvaluation",
    "CompositeProblem",
    "Counts",
    "EndOfData",
    "Evaluation",
    "Finisher",
    "Minorant",
    "MirrorMap",
    "NonFiniteError",
    "Objective",
    "Observer",
    "Pending",
    "Problem",
    "Region",
    "SetDependent",
    "SimpleTerm",
    "Solver",
    "State",
    "Violation",
    "accumulation",
    "sum_unit",
    "underflow",
    "unit_of",
]
