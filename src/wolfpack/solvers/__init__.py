"""Methods: hyperparameters and one pure step each."""

from __future__ import annotations

from .anytime import Anytime
from .away import AwayStep
from .blended_pairwise import BlendedPairwise
from .composite import ConvergingComposite, NewtonComposite, SearchedComposite, StochasticComposite
from .conic import Conic
from .conjugate import Conjugate
from .corrective import Corrective
from .descending import Descending
from .frank_wolfe import FrankWolfe
from .fully_corrective import FullyCorrective
from .lazy import LazyFrankWolfe
from .low_rank import LowRankCorrective
from .momentum import Momentum
from .pairwise import Pairwise
from .parallel_fw import ParallelFrankWolfe
from .parts.step_rules import Backtracking, LineSearch, OpenLoop, Secant, ShortStep
from .projected import Projected
from .restarted import RestartedParallelFrankWolfe
from .sliding import Sliding

__all__ = [
    "Anytime",
    "AwayStep",
    "Backtracking",
    "BlendedPairwise",
    "Conic",
    "Conjugate",
    "ConvergingComposite",
    "Corrective",
    "Descending",
    "FrankWolfe",
    "FullyCorrective",
    "LazyFrankWolfe",
    "LineSearch",
    "LowRankCorrective",
    "Momentum",
    "NewtonComposite",
    "OpenLoop",
    "Pairwise",
    "ParallelFrankWolfe",
    "Projected",
    "RestartedParallelFrankWolfe",
    "SearchedComposite",
    "Secant",
    "ShortStep",
    "Sliding",
    "StochasticComposite",
]
