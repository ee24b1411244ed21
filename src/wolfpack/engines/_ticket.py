"""Messages to workers, and workers, as the driver sees them."""

from __future__ import annotations

import math
import time
from typing import Any

from ..smoothing.job import Question


class Patience:
    """Seconds that may pass; when the whole program was stopped meanwhile, that does not count.

    Parameters
    ----------
    seconds : float
        How long to wait, looking several times a second.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._looked = time.monotonic()

    def ends(self) -> bool:
        """Tell whether it is over."""
        now = time.monotonic()
        self._left -= min(now - self._looked, 2.0)
        self._looked = now
        return self._left < 0


class Ticket:
    """A message: some blocks of one round."""

    __slots__ = (
        "began",
        "blocks",
        "copied",
        "done",
        "first",
        "id",
        "lost",
        "place",
        "question",
    )

    def __init__(self, id: int, question: Question, blocks: range) -> None:
        self.id = id
        self.question = question
        self.blocks = blocks
        self.began = 0.0
        self.lost = 0
        self.place: Any = None
        self.first: Worker | None = None
        self.copied = self.done = False


class Worker:
    """A worker as the driver sees it: its address and what it has been asked, oldest first.

    ``longest`` is the time that its slowest block took, which fades with those after it.
    """

    __slots__ = ("address", "alive", "longest", "name", "queue")

    def __init__(self, address: Any, name: str) -> None:
        self.address = address
        self.name = name
        self.alive = True
        self.longest = 0.0
        self.queue: dict[int, Ticket] = {}

    def head(self) -> Ticket | None:
        """Return what the worker is computing."""
        return next(iter(self.queue.values()), None)


def shares(count: int, workers: int, pace: float, latency: float, even: bool) -> list[int]:
    """Return how many blocks go into each ticket of a round; the sum may be more than ``count``.

    One share for every worker where blocks are quick. Otherwise half of what is left, evenly, again
    and again, so that in the end little is left to wait for: as long as a ticket is worth its
    message, and no longer than can be lost with a worker or be waited for when it is slow.

    Parameters
    ----------
    count, workers : int
        Blocks, and who computes them.
    pace : float
        Seconds per block; 0 if not known yet.
    latency : float
        Seconds that a message and its reply take.
    even : bool
        Whether blocks take about the same time; if not, fewer of them travel together.
    """
    share = math.ceil(count / workers)
    if 0 < pace * share < 20 * latency:
        return [share] * workers
    least, most = math.ceil(share / 4), share
    if pace > 0:
        least = min(least, math.ceil(10 * latency / pace))
        most = max(1, int((300 if even else 100) * latency / pace))
    sizes, left = [], count
    while left > 0:
        size = min(most, math.ceil(left / (2 * workers)))
        if size < least:
            size = math.ceil(left / workers)
        sizes += [size] * workers
        left -= size * workers
    return sizes
