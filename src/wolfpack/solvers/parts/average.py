"""The running average of gradients, for a second certificate."""

from __future__ import annotations

from typing import NamedTuple

from ...arrays import Array
from ...problem import Evaluation

_FORGET = 0.5


class Average(NamedTuple):
    """A convex combination of the gradients so far and of their dual points.

    Half of its weight is on the last one. Where iterates swing about the solution it is nearer to
    the gradient there than each of them, and gives the better lower bound.
    """

    y: Array
    dual: Array | float

    @classmethod
    def start(cls, at: Evaluation) -> Average:
        """Return the first gradient."""
        return cls(at.gradient, at.dual)

    def updated(self, at: Evaluation) -> Average:
        """Return the average after one more gradient."""
        y = _FORGET * self.y + (1.0 - _FORGET) * at.gradient
        return Average(y, _FORGET * self.dual + (1.0 - _FORGET) * at.dual)
