"""Messages to workers, and workers, as the driver sees them."""

from __future__ import annotations

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
