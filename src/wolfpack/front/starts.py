"""Several starts of one run, for functions that are not convex."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..arrays import Array, Streams, like, same_type
from ..loop import Limits, Result, Status
from ..sets import Set

MIXED = 8
"""Answers of the oracle that a random start is mixed from, at most."""

_KEY = 2**63  # blocks of random numbers that no method uses


def check_starts(starts: int, convex: bool | None) -> None:
    """Raise unless more than one start has a purpose."""
    if starts != 1 and convex is not False:
        raise ValueError(
            f"starts={starts} is for functions that are not convex: one start finds the minimum of "
            "a convex f. Pass convex=False, or leave starts out"
        )


def random_start(K: Set, seed: int, number: int, place: Array) -> tuple[Array, int]:
    """Return a random point of K, the same for the same seed and number, and its oracle calls.

    It is a mixture of the oracle's answers to random directions, with uniform weights on at most
    `MIXED` of them. The first ones of a run also reach the boundary: their number is random too.
    """
    rng = Streams(seed).at(number, _KEY)
    count = int(rng.integers(1, min(MIXED, 1 + K.dimension) + 1))
    directions = rng.standard_normal((count, *K.shape))
    weights = rng.dirichlet([1.0] * count)
    parts = [
        float(weight) * same_type(K.lmo(like(g, place)).to_dense(), place)
        for weight, g in zip(weights, directions, strict=True)
    ]
    return sum(parts[1:], parts[0]), count


_ENDS_ALL = (Status.INTERRUPTED, Status.CALLBACK_STOP)
"""Ends of one start after which no other one begins."""


def best_of(starts: int, limits: Limits, run: Callable[[int, Limits], Result]) -> Result:
    """Run every start, and return the best result with all of them in its ``starts``.

    Rounds and oracle calls are limited for each start, seconds for all of them together. Counts are
    sums over all starts.
    """
    results: list[Result] = []
    for number in range(starts):
        left = limits
        if limits.max_seconds is not None:
            spent = sum(result.seconds for result in results)
            if results and spent >= limits.max_seconds:
                break
            left = replace(limits, max_seconds=limits.max_seconds - spent)
        results.append(run(number, left))
        if results[-1].status in _ENDS_ALL:
            break
    best = min(results, key=lambda result: result.fun)
    total = Result(best)
    if results[-1].status in _ENDS_ALL:
        total.status, total.message = results[-1].status, results[-1].message
        total.success = False
    for name in ("nfev", "njev", "nlmo", "seconds"):
        counts: list[Any] = [result[name] for result in results]
        total[name] = sum(counts)
    total.starts = results
    good = sum(result.success for result in results)
    total.message += f" It is the best of {len(results)} starts, of which {good} ended stationary."
    return total
