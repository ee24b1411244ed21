"""Time limits, how long blocks take, and how many of them travel together."""

from __future__ import annotations

import math
import time

ALL_READY_SECONDS = 10.0
"""Seconds to wait for the remaining workers of a cluster when some are ready."""


class Deadline:
    """A time limit in seconds that does not run while the whole program is stopped.

    For this, `passed` must be called several times a second.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._checked = time.monotonic()

    def passed(self) -> bool:
        """Tell whether the time is over."""
        now = time.monotonic()
        self._left -= min(now - self._checked, 2.0)
        self._checked = now
        return self._left < 0


class Pace:
    """How long blocks take, learned from the replies."""

    def __init__(self) -> None:
        self.seconds = 0.0  # mean per block, in which recent ones weigh more; 0 if not known yet
        self._shortest, self._longest = math.inf, 0.0

    @property
    def even(self) -> bool:
        """Whether blocks are known to take about the same time."""
        return 0 < self._longest <= 3 * self._shortest

    def update(self, seconds: float, used: bool) -> None:
        """Learn from a reply that took ``seconds`` per block; used replies alone move the mean."""
        # Extremes fade, so that the distant past does not matter.
        self._shortest = min(1.01 * self._shortest, seconds)
        self._longest = max(0.99 * self._longest, seconds)
        if used:
            first = self.seconds == 0
            self.seconds = seconds if first else 0.8 * self.seconds + 0.2 * seconds


def shares(count: int, workers: int, pace: float, latency: float, even: bool) -> list[int]:
    """Return the number of blocks in each ticket of a round; the sum may exceed ``count``.

    Quick blocks make one ticket per worker. Otherwise each pass gives out half of the blocks that
    are left, evenly, so that little is left to wait for in the end. A ticket is large enough to be
    worth its message. It is small enough that little is lost with a dead or slow worker.
    ``pace`` is the time of a block, 0 if not known yet; ``latency``, that of a message and its
    reply. Tickets are smaller unless blocks are ``even``, which is to say about equally long.
    """
    share = math.ceil(count / workers)
    if 0 < pace * share < 20 * latency:
        return [share] * workers
    min_size, max_size = math.ceil(share / 4), share
    if pace > 0:
        min_size = min(min_size, math.ceil(10 * latency / pace))
        max_size = max(1, int((300 if even else 100) * latency / pace))
    sizes, left = [], count
    while left > 0:
        size = min(max_size, math.ceil(left / (2 * workers)))
        if size < min_size:
            size = math.ceil(left / workers)
        sizes += [size] * workers
        left -= size * workers
    return sizes
