"""When rounding errors keep a method from going on."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...arrays import Array, epsilon


class Stall(NamedTuple):
    """The best value and bound so far, and for how many rounds there has been no progress.

    Descent methods improve f in every round until rounding hides it. Then f and the bound wander
    among few numbers, which this counter notices although steps may still be taken.

    ``gap`` is ``fun`` less ``bound`` when it last fell. Progress is a gap that falls by more than
    the relative error ``rounding``; where that is 0, progress is any better value or bound. A
    method has stalled when the ``idle`` rounds without progress reach ``limit``.
    """

    fun: float
    bound: float
    gap: float = math.inf
    rounding: float = 0.0
    limit: int = 100
    idle: int = 0

    @classmethod
    def beyond_rounding(cls, fun: float, bound: float, x: Array) -> Stall:
        """Return the counter for which changes of the size of rounding errors are no progress."""
        return cls(fun, bound, fun - bound, max(64 * 2.0**-52, 4 * epsilon(x)), 20)

    def updated(self, fun: float, bound: float, limit: int = 0) -> Stall:
        """Return the counter after a round; ``limit`` replaces its own, if it is not 0."""
        fun, bound = min(fun, self.fun), max(bound, self.bound)
        gap = fun - bound
        if self.rounding:
            progress = gap < self.gap - self.rounding * (abs(fun) + abs(bound))
        else:
            progress = fun < self.fun or bound > self.bound
        gap, idle = (gap, 0) if progress else (self.gap, self.idle + 1)
        return Stall(fun, bound, gap, self.rounding, limit or self.limit, idle)

    @property
    def reached(self) -> bool:
        """Whether the rounds without progress have reached the limit."""
        return self.idle >= self.limit
