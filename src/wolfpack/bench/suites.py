"""Suites of cases, and their runs: methods take turns, with one BLAS thread.

Because methods take turns, a machine that is slow for a while slows all of them. Each turn starts
with another method. Each run builds its problem afresh, so that it finds nothing that an earlier
run computed. A short run of each method comes first and is not counted: it pays for imports and
caches. A run that met the time limit is not repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median

from threadpoolctl import threadpool_limits

from ..report.machine import SYSTEM, processor, versions
from .cases import CASES
from .measure import LEVELS, Contestant, Reach, Trace, contestants

_VECTORS = ("simplex-sparse", "simplex-dense", "l1-logistic", "k-sparse")
_MATRICES = ("trace-ball", "spectrahedron")
_FLOWS = ("dag-flow", "birkhoff", "milp")
SUITES: dict[str, tuple[str, tuple[str, ...]]] = {
    "paper": ("the paper's two problems", ("simplex-sparse", "trace-ball")),
    "simplex": ("vectors: simplex, l1 ball, k-sparse polytope", _VECTORS),
    "spectral": ("matrices with a trace: trace-norm ball, spectrahedron", _MATRICES),
    "flows": ("combinatorial oracles: paths, assignments, a MILP", _FLOWS),
    "all": ("every case", tuple(CASES)),
}
"""The description and the cases of each suite, by name."""

_PACKAGES = ("wolfpack", "numpy", "scipy", "copt", "jaxopt", "jax", "POT", "cvxpy", "clarabel")
_PACKAGES += ("scikit-learn", "skglm")

WARM_UP = 0.05
"""Seconds of the runs that are not counted."""


@dataclass
class Entry:
    """A method on a case: its runs, or the ``failure`` that its library raised.

    ``ours`` says whether it is a method of this library.
    """

    method: str
    ours: bool
    traces: list[Trace] = field(default_factory=list)
    failure: str = ""

    def reach(self, level: float) -> Reach | None:
        """Return what it takes to reach ``level``: medians, if most runs reached it."""
        found = self._reaches(level)
        if 2 * len(found) <= len(self.traces):
            return None
        middle = median(reach.seconds for reach in found)
        return replace(found[len(found) // 2], seconds=middle)

    def spread(self, level: float) -> tuple[float, float] | None:
        """Return the shortest and the longest time to ``level``."""
        found = self._reaches(level)
        return (found[0].seconds, found[-1].seconds) if found else None

    def _reaches(self, level: float) -> list[Reach]:
        """Return what the runs that reached ``level`` took, the fastest first."""
        found = [reach for trace in self.traces if (reach := trace.reach(level)) is not None]
        return sorted(found, key=lambda reach: reach.seconds)


@dataclass
class CaseResult:
    """A case and what every method took."""

    name: str
    title: str
    entries: list[Entry]

    def best(self, level: float, ours: bool | None = None) -> tuple[Entry, float] | None:
        """Return the fastest method to ``level`` and its seconds: of all, of ours or of others."""
        found = [
            (entry, reach.seconds)
            for entry in self.entries
            if ours in (None, entry.ours) and (reach := entry.reach(level)) is not None
        ]
        return min(found, key=lambda pair: pair[1], default=None)


@dataclass
class SuiteResult:
    """All that a suite found, when (``started``, UTC) and on which ``machine``.

    Each method ran ``repeats`` times for at most ``limit`` seconds. An interrupted suite is not
    ``complete``: it holds the cases that were finished.
    """

    suite: str
    cases: list[CaseResult]
    repeats: int
    limit: float
    started: str
    machine: dict[str, str]
    complete: bool = True


def run_suite(
    suite: str,
    repeats: int = 3,
    limit: float = 10.0,
    watch: Callable[[str, int, int], None] | None = None,
    cases: Sequence[str] | None = None,
) -> SuiteResult:
    """Run a suite; after Ctrl-C, return the cases that were finished.

    ``suite`` is a key of `SUITES`; ``cases``, keys of `CASES`, replace its cases. Each method runs
    ``repeats`` times for at most ``limit`` seconds. Before every run, ``watch`` is called with what
    runs, how many runs are done and how many there are.
    """
    names = SUITES[suite][1] if cases is None else cases
    started = datetime.now(UTC).isoformat(timespec="seconds")
    machine = {"processor": processor(), "cores": str(os.cpu_count() or 1), "system": SYSTEM}
    found = SuiteResult(suite, [], repeats, limit, started, machine | versions(_PACKAGES))
    teams = {name: contestants(CASES[name]()) for name in names}
    total = sum(map(len, teams.values())) * repeats
    tour = _Tour(repeats, limit, watch or (lambda words, done, total: None), total)
    try:
        with threadpool_limits(1):
            for name, team in teams.items():
                found.cases.append(tour.run(name, team))
    except KeyboardInterrupt:
        found.complete = False
    return found


@dataclass
class _Tour:
    """Runs all methods on one case after the other, and counts the runs."""

    repeats: int
    limit: float
    watch: Callable[[str, int, int], None]
    total: int
    done: int = 0

    def run(self, name: str, team: Sequence[Contestant]) -> CaseResult:
        entries = [Entry(contestant.name, contestant.ours) for contestant in team]
        pairs = list(zip(entries, team, strict=True))
        for entry, contestant in pairs:
            self._once(entry, contestant, name, min(WARM_UP, self.limit))
            entry.traces.clear()
        for turn in range(self.repeats):
            shift = turn * len(pairs) // self.repeats
            for entry, contestant in pairs[shift:] + pairs[:shift]:
                self._once(entry, contestant, name, self.limit)
                self.done += 1
        return CaseResult(name, CASES[name]().title, entries)

    def _once(self, entry: Entry, contestant: Contestant, name: str, limit: float) -> None:
        self.watch(f"{name}, {contestant.name}", self.done, self.total)
        case = CASES[name]()
        unfinished = entry.traces and entry.traces[0].reach(LEVELS[-1]) is None
        if entry.failure or unfinished:
            return
        try:
            entry.traces.append(contestant.run(case, limit))
        except Exception as error:  # another library's failure is a result too
            if contestant.ours:
                raise
            entry.failure = f"{type(error).__name__}: {error}"
