"""Where the gradients of composite minimisation come from."""

from __future__ import annotations

from .base import Gradient, Gradients
from .control_variates import REDUCTIONS, ControlVariate
from .exact import ExactGradients
from .minibatches import Minibatches
from .rows import SAMPLINGS
from .source import automatic_batch, make_gradients
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
    "automatic_batch",
    "make_gradients",
]
