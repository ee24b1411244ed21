"""When a method that never goes uphill has met its rounding errors."""

from __future__ import annotations

from typing import NamedTuple

from ...arrays import Array, epsilon

LIMIT = 20
"""Rounds without progress beyond rounding after which a method has stalled."""


class Progress(NamedTuple):
    """The best value and bound, and for how many rounds their difference has not fallen.

    Changes of the size of rounding errors are no progress: without that, values and bounds that
    wander among few numbers would keep a run alive.

    Attributes
    ----------
    fun, bound : float
        Best value and best lower bound.
    mark : float
        Their difference when it last fell.
    rounding : float
        Relative error of the two.
    idle : int
        Rounds since.
    """

    fun: float
    bound: float
    mark: float
    rounding: float
    idle: int = 0

    @classmethod
    def start(cls, fun: float, bound: float, x: Array) -> Progress:
        """Return what is known in round 0, at a point x."""
        return cls(fun, bound, fun - bound, max(64 * 2.0**-52, 4 * epsilon(x)))

    def saw(self, fun: float, bound: float) -> Progress:
        """Return what is known after a round with this value and bound."""
        fun, bound = min(fun, self.fun), max(bound, self.bound)
        gap, noise = fun - bound, self.rounding * (abs(fun) + abs(bound))
        if gap < self.mark - noise:
            return Progress(fun, bound, gap, self.rounding)
        return Progress(fun, bound, self.mark, self.rounding, self.idle + 1)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to gain."""
        return self.idle >= LIMIT
