"""Methods: hyperparameters and one pure step each."""

from __future__ import annotations

from .alternating_projections import AlternatingProjections
from .anytime import Anytime
from .away import AwayStep
from .blended_pairwise import BlendedPairwise
from .block import BlockCoordinate
from .composite import ConvergingComposite, NewtonComposite, SearchedComposite, StochasticComposite
from .conic import Conic
from .conjugate import Conjugate
from .corrective import Corrective
from .decomposition_invariant import DecompositionInvariant
from .descending import Descending
from .difference_of_convex import DifferenceOfConvex
from .frank_wolfe import FrankWolfe
from .fully_corrective import FullyCorrective
from .lazy import LazyFrankWolfe
from .low_rank import LowRankCorrective
from .momentum import Momentum
from .nnls import NonnegativeLeastSquares
from .pairwise import Pairwise
from .parallel_fw import ParallelFrankWolfe
from .parts.open_loops import Fixed, LogOpenLoop, Monotone, PowerLoop
from .parts.single_sided import AdaptiveStep, GoldenSection
from .parts.step_rules import Backtracking, LineSearch, OpenLoop, Secant, ShortStep
from .projected import Projected
from .restarted import RestartedParallelFrankWolfe
from .sliding import Sliding
from .stochastic import StochasticFrankWolfe
from .stochastic_anytime import StochasticAnytime

__all__ = [
    "AdaptiveStep",
    "AlternatingProjections",
    "Anytime",
    "AwayStep",
    "Backtracking",
    "BlendedPairwise",
    "BlockCoordinate",
    "Conic",
    "Conjugate",
    "ConvergingComposite",
    "Corrective",
    "DecompositionInvariant",
    "Descending",
    "DifferenceOfConvex",
    "Fixed",
    "FrankWolfe",
    "FullyCorrective",
    "GoldenSection",
    "LazyFrankWolfe",
    "LineSearch",
    "LogOpenLoop",
    "LowRankCorrective",
    "Momentum",
    "Monotone",
    "NewtonComposite",
    "NonnegativeLeastSquares",
    "OpenLoop",
    "Pairwise",
    "ParallelFrankWolfe",
    "PowerLoop",
    "Projected",
    "RestartedParallelFrankWolfe",
    "SearchedComposite",
    "Secant",
    "ShortStep",
    "Sliding",
    "StochasticAnytime",
    "StochasticComposite",
    "StochasticFrankWolfe",
]
