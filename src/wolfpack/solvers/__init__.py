"""Methods: hyperparameters and one pure step each."""

from __future__ import annotations

from .anytime import Anytime
from .composite import ConvergingComposite, StochasticComposite
from .frank_wolfe import FrankWolfe
from .parallel_fw import ParallelFrankWolfe
from .restarted import RestartedParallelFrankWolfe
from .step_rules import LineSearch, OpenLoop, ShortStep

__all__ = [
    "Anytime",
    "ConvergingComposite",
    "FrankWolfe",
    "LineSearch",
    "OpenLoop",
    "ParallelFrankWolfe",
    "RestartedParallelFrankWolfe",
    "ShortStep",
    "StochasticComposite",
]
