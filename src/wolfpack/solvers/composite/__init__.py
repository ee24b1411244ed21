"""Algorithm 1 for composite problems: as printed, converging, and with a searched beta."""

from __future__ import annotations

from .accelerated import StochasticComposite
from .converging import ConvergingComposite
from .newton import NewtonComposite
from .policies import BetaSearch, DriftRestart, Policies, StepBound
from .searched import SearchedComposite

__all__ = [
    "BetaSearch",
    "ConvergingComposite",
    "DriftRestart",
    "NewtonComposite",
    "Policies",
    "SearchedComposite",
    "StepBound",
    "StochasticComposite",
]
