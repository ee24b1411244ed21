"""Where gradients come from: exact, minibatches, streams, tables."""

from __future__ import annotations

from .base import Gradient, Gradients
from .control_variates import REDUCTIONS, ControlVariate, SlopeTable
from .exact import ExactGradients
from .minibatches import Minibatches
from .rows import SAMPLINGS
from .slopes import Slopes
from .source import automatic_batch, make_gradients, random_gradients
from .streams import InTurn
from .user_draws import Draws

__all__ = [
    "REDUCTIONS",
    "SAMPLINGS",
    "ControlVariate",
    "Draws",
    "ExactGradients",
    "Gradient",
    "Gradients",
    "InTurn",
    "Minibatches",
    "SlopeTable",
    "Slopes",
    "automatic_batch",
    "make_gradients",
    "random_gradients",
]
