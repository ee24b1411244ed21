"""What every method takes to reach certified accuracies: rounds, oracle calls, gradients, seconds.

An accuracy is a certified gap as a fraction of the first one, which is the Frank-Wolfe gap at the
starting point. Other libraries take part where they are installed (`outside`); the points that
they report are certified here in the same way, with the clock stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..minimize import minimize
from . import outside
from .cases import Case

LEVELS = (1e-2, 1e-4, 1e-6)


@dataclass
class Reach:
    """What it took to reach an accuracy; None where a library does not tell."""

    rounds: int | None
    calls: int | None
    gradients: int | None
    seconds: float

    def __str__(self) -> str:
        counts = [n for n in (self.rounds, self.calls, self.gradients) if n is not None]
        seconds = f"{self.seconds:.3f}" if self.seconds < 0.1 else f"{self.seconds:.2g}"
        return " · ".join([*([" / ".join(map(str, counts))] if counts else []), f"{seconds} s"])


@dataclass
class Row:
    """A method on a case: what it took to reach each level, None where it did not."""

    case: str
    method: str
    reached: list[Reach | None]


def methods(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and settings of all methods that apply."""
    K = case.K
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


def measure(case: Case, name: str, settings: dict[str, Any], limit: float) -> Row:
    """Return what a method of this library takes."""
    f, K = case.f, case.K
    x0 = K.start()
    first = outside.gap(f, K, x0)
    run = {"tol": LEVELS[-1] * first, "max_seconds": limit, "max_rounds": 200_000} | settings
    history = minimize(f, K, x0, **run).history
    reached: list[Reach | None] = []
    for level in LEVELS:
        hits = np.flatnonzero(history["gap"] <= level * first)
        if not hits.size:
            reached.append(None)
            continue
        at = hits[0]
        rounds, calls, gradients = (int(history[c][at]) for c in ("round", "nlmo", "njev"))
        reached.append(Reach(rounds, calls, gradients, float(history["seconds"][at])))
    return Row(case.title, name, reached)


def measure_outside(case: Case, rival: outside.Rival, limit: float) -> Row | None:
    """Return what another library takes, from the points that it reports; None if it fails."""
    first = outside.gap(case.f, case.K, case.K.start())
    try:
        trace = rival.run(case, LEVELS[-1] * first, limit)
    except Exception as error:
        print(f"{case.title}, {rival.name}: {type(error).__name__}: {error}")
        return None
    reached: list[Reach | None] = []
    for level in LEVELS:
        hits = [i for i, point in enumerate(trace) if point.gap <= level * first]
        found = trace[hits[0]] if hits else None
        reached.append(None if found is None else Reach(found.rounds, None, None, found.seconds))
    return Row(case.title, rival.name, reached)
