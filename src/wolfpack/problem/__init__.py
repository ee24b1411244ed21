"""What solvers see of a problem, and the protocols of everything that takes part in a run."""

from __future__ import annotations

from .budget import (
    LimitReached,
    affordable,
    counted,
    spend,
    spend_gradients,
    tick,
    time_left,
    under_way,
)
from .checks import is_own
from .composite import CompositeProblem
from .constrained import Problem
from .errors import CapabilityError, EndOfData, NonFiniteError
from .evaluation import CompositeEvaluation, Counts, Evaluation, Pending, Violation
from .pieces import Pieces
from .polyhedron import Polyhedron, QuadraticForm
from .protocols import (
    Finisher,
    MirrorMap,
    Objective,
    Observer,
    Priced,
    Region,
    SetDependent,
    SimpleTerm,
    Solver,
    State,
)
from .rational import Rational, is_rational_array
from .rounding import Minorant, Scatter, accumulation, sum_unit, underflow, unit_of
from .stacked import Stackable, Stacked, axes_of
from .steps import STEPS

__all__ = [
    "STEPS",
    "CapabilityError",
    "CompositeEvaluation",
    "CompositeProblem",
    "Counts",
    "EndOfData",
    "Evaluation",
    "Finisher",
    "LimitReached",
    "Minorant",
    "MirrorMap",
    "NonFiniteError",
    "Objective",
    "Observer",
    "Pending",
    "Pieces",
    "Polyhedron",
    "Priced",
    "Problem",
    "QuadraticForm",
    "Rational",
    "Region",
    "Scatter",
    "SetDependent",
    "SimpleTerm",
    "Solver",
    "Stackable",
    "Stacked",
    "State",
    "Violation",
    "accumulation",
    "affordable",
    "axes_of",
    "counted",
    "is_own",
    "is_rational_array",
    "spend",
    "spend_gradients",
    "sum_unit",
    "tick",
    "time_left",
    "under_way",
    "underflow",
    "unit_of",
]
