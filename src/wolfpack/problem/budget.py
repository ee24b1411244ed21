"""What a run may spend, and who counts what is spent outside of a solver's steps.

The limits of a run are kept with its `Counts`. A solver's own questions pass through `Problem` and
`Oracles`, which ask the counts first. Other code is far from them: a set that answers a batch one
direction at a time, an estimate of a constant from thousands of oracle calls, a driver that waits
for its workers. Such code calls `tick` or `spend`, which reach the counts of the run that this
thread has under way. Without a run, both do nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluation import Counts

_current: ContextVar[Counts | None] = ContextVar("wolfpack_counts", default=None)


class LimitReached(Exception):
    """A limit does not allow what was about to be done; the loop catches it and ends the run.

    Attributes
    ----------
    limit : {"max_seconds", "max_lmo", "max_passes"}
        The limit's name.
    done : dict
        The blocks of an engine's round that were done by then.
    """

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit
        self.done: dict[int, Any] = {}


@contextmanager
def counted(counts: Counts | None) -> Generator[None]:
    """Let `tick` and `spend` reach ``counts`` within the context; the run around it is shadowed."""
    token = _current.set(counts)
    try:
        yield
    finally:
        _current.reset(token)


def under_way() -> Counts | None:
    """Return the counts of this thread's run, None without one."""
    return _current.get()


def tick() -> None:
    """Raise `LimitReached` if the time of this thread's run is over."""
    counts = _current.get()
    if counts is not None and counts.limited:
        counts.check_time()


def time_left() -> float:
    """Return the seconds that are left of this thread's run, infinity where nothing limits them."""
    counts = _current.get()
    if counts is None or counts.deadline == math.inf:
        return math.inf
    return max(0.0, counts.deadline - time.perf_counter())


def affordable(calls: int) -> int:
    """Return how many of ``calls`` an estimate may take: at most a tenth of the run's, at least 2.

    It depends on the limit alone, so that the same call gives the same bits.
    """
    counts = _current.get()
    if counts is None or counts.max_lmo == math.inf:
        return calls
    return max(2, min(calls, int(counts.max_lmo) // 10))


def spend_gradients(count: int = 1) -> None:
    """Count gradients that are about to be computed, for this thread's run, within its limits."""
    counts = _current.get()
    if counts is not None:
        counts.evaluated(0, count)


def spend(calls: int) -> None:
    """Count oracle calls that are about to be made, for this thread's run, within its limits."""
    counts = _current.get()
    if counts is not None:
        counts.ask(calls)
