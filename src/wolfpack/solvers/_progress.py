"""When a method that never goes uphill has met its rounding errors."""

from __future__ import annotations

from typing import NamedTuple

LIMIT = 20
"""Rounds without progress beyond rounding after which a method has stalled."""

_ROUNDING = 64 * 2.0**-52


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
    idle : int
        Rounds since.
    """

    fun: float
    bound: float
    mark: float
    idle: int = 0

    @classmethod
    def start(cls, fun: float, bound: float) -> Progress:
        """Return what is known in round 0."""
        return cls(fun, bound, fun - bound)

    def saw(self, fun: float, bound: float) -> Progress:
        """Return what is known after a round with this value and bound."""
        fun, bound = min(fun, self.fun), max(bound, self.bound)
        gap, noise = fun - bound, _ROUNDING * (abs(fun) + abs(bound))
        if gap < self.mark - noise:
            return Progress(fun, bound, gap)
        return Progress(fun, bound, self.mark, self.idle + 1)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to gain."""
        return self.idle >= LIMIT
