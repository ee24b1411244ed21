"""What every method takes to reach certified accuracies: rounds, oracle calls, gradients, seconds.

An accuracy is a certified gap as a fraction of the first one, which is the Frank-Wolfe gap at the
starting point. Other libraries take part where they are installed (`outside`); the points that
they report are certified here in the same way, with the clock stopped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..front.minimize import minimize
from .cases import Case
from .outside import rivals
from .referee import Referee, Rival, gap

LEVELS = (1e-2, 1e-4, 1e-6)
COUNTS = ("rounds", "calls", "gradients")


@dataclass
class Reach:
    """What it took to reach an accuracy; None where a library does not report it."""

    rounds: int | None
    calls: int | None
    gradients: int | None
    seconds: float


@dataclass(frozen=True)
class Trace:
    """One run: the best certified gap, divided by the first one, and what it had cost by then.

    ``counts`` holds ``rounds``, ``calls`` and ``gradients`` as far as they are known. All arrays
    have one length.
    """

    seconds: np.ndarray
    gap: np.ndarray
    counts: dict[str, np.ndarray]

    def reach(self, level: float) -> Reach | None:
        """Return what it took to bring the gap to ``level``; None if it stayed above."""
        hits = np.flatnonzero(self.gap <= level)
        if not hits.size:
            return None
        at = int(hits[0])
        counts = dict.fromkeys(COUNTS) | {name: int(n[at]) for name, n in self.counts.items()}
        return Reach(**counts, seconds=float(self.seconds[at]))


class Contestant(NamedTuple):
    """A method: its name, whether it is of this library, and its run with a limit in seconds."""

    name: str
    ours: bool
    run: Callable[[Case, float], Trace]


def methods(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and settings of all methods that apply."""
    K = case.K
    yield "auto", {"method": "auto"}
    if K.has("project"):
        yield "projected", {"method": "projected"}
    for m in (1, 16):
        yield f"corrective m={m}", {"method": "corrective", "m": m}
    if K.closed_forms:
        yield "anytime exact", {"method": "anytime", "m": "exact"}
    yield "anytime m=16", {"method": "anytime", "m": 16}
    yield "r-pfw m=16", {"method": "r-pfw", "m": 16}
    yield "bpcg lazy", {"method": "bpcg", "lazy": True}
    names = "fcfw bpcg pairwise away lazy momentum cgs conjugate biconjugate fw-ls fw-short fw"
    for name in names.split():
        yield name, {"method": name}


def contestants(case: Case) -> list[Contestant]:
    """Return the methods of this library and those of others that apply to the case."""
    ours = [
        Contestant(name, True, lambda case, limit, s=settings: trace(case, s, limit))
        for name, settings in methods(case)
    ]
    others = [
        Contestant(rival.name, False, lambda case, limit, r=rival: trace_outside(case, r, limit))
        for rival in rivals(case)
    ]
    return ours + others


def trace(case: Case, settings: dict[str, Any], limit: float) -> Trace:
    """Return the course of a method of this library."""
    x0 = case.K.start()
    first = gap(case.f, case.K, x0)
    run = {"tol": LEVELS[-1] * first, "max_seconds": limit, "max_rounds": 200_000} | settings
    history = minimize(case.f, case.K, x0, **run).history
    columns = {"rounds": "round", "calls": "nlmo", "gradients": "njev"}
    counts = {name: history[column] for name, column in columns.items()}
    return Trace(history["seconds"], history["gap"] / first, counts)


def trace_outside(case: Case, rival: Rival, limit: float) -> Trace:
    """Return the course of another library, from the points that it reports."""
    first = gap(case.f, case.K, case.K.start())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other libraries warn about their own future
        points = Referee(case, LEVELS[-1] * first, limit).follow(rival.run)
    rounds = [point.rounds for point in points]
    counts = {} if None in rounds else {"rounds": np.array(rounds)}
    seconds = np.array([point.seconds for point in points])
    return Trace(seconds, np.array([point.gap for point in points]) / first, counts)
