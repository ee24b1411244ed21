"""Where the gradients of composite minimisation come from."""

from __future__ import annotations

from .base import Gradient, Gradients
from .draws import Draws
from .exact import ExactGradients
from .minibatches import Minibatches
from .rows import SAMPLINGS
from .streams import InTurn

__all__ = [
    "SAMPLINGS",
    "Draws",
    "ExactGradients",
    "Gradient",
    "Gradients",
    "InTurn",
    "Minibatches",
]
