"""Suites of cases, and their runs: every method in turn, again and again, one BLAS thread.

The methods of a case take turns, so that a machine that is slower for a while is slower for all of
them; each round of turns begins with another method. Each run has its problem anew, so that
nothing that one method has computed is there for the next. A short run of each method, not
counted, comes first: it pays for imports and caches. A run that met the time limit is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import median

from threadpoolctl import threadpool_limits

from .cases import CASES, Case
from .machine import machine
from .measure import LEVELS, Contestant, Reach, Trace, contestants

SUITES: dict[str, tuple[str, tuple[str, ...]]] = {
    "paper": ("the paper's two problems", ("simplex-sparse", "trace-ball")),
    "simplex": (
        "vectors: simplex, l1 ball, k-sparse polytope",
        ("simplex-sparse", "simplex-dense", "l1-logistic", "k-sparse"),
    ),
    "spectral": (
        "matrices with a trace: trace-norm ball, spectrahedron",
        ("trace-ball", "spectrahedron"),
    ),
    "flows": (
        "combinatorial oracles: paths, assignments, a MILP",
        ("dag-flow", "birkhoff", "milp"),
    ),
    "all": ("every case", tuple(CASES)),
}
"""Words and cases of each suite, by name."""

WARM_UP = 0.05
"""Seconds of the runs that are not counted."""


@dataclass
class Entry:
    """A method on a case: its runs, or why there are none.

    Attributes
    ----------
    method : str
    ours : bool
        Whether it is a method of this library.
    traces : list of Trace
    failure : str
        What its library raised, empty if nothing.
    """

    method: str
    ours: bool
    traces: list[Trace] = field(default_factory=list)
    failure: str = ""

    def reach(self, level: float) -> Reach | None:
        """Return what it takes to reach ``level``: medians over the runs, if most got there."""
        found = [reach for trace in self.traces if (reach := trace.reach(level)) is not None]
        if 2 * len(found) <= len(self.traces):
            return None
        middle = sorted(found, key=lambda reach: reach.seconds)[len(found) // 2]
        seconds = median(reach.seconds for reach in found)
        return Reach(middle.rounds, middle.calls, middle.gradients, seconds)

    def spread(self, level: float) -> tuple[float, float] | None:
        """Return the shortest and the longest time to ``level``."""
        times = [r.seconds for trace in self.traces if (r := trace.reach(level)) is not None]
        return (min(times), max(times)) if times else None


@dataclass
class CaseResult:
    """A case and what every method took."""

    name: str
    title: str
    entries: list[Entry]

    def best(self, level: float, ours: bool | None = None) -> tuple[Entry, float] | None:
        """Return the fastest method to ``level`` and its seconds, of all, of ours or of others."""
        found = [
            (entry, reach.seconds)
            for entry in self.entries
            if ours in (None, entry.ours) and (reach := entry.reach(level)) is not None
        ]
        return min(found, key=lambda pair: pair[1], default=None)


@dataclass
class SuiteResult:
    """All that a suite found, when and where.

    Attributes
    ----------
    suite : str
    cases : list of CaseResult
    repeats, limit : int, float
        How often each method ran, and for how many seconds at most.
    started : str
        Date and time, UTC.
    machine : dict
        Processor, cores, system and versions.
    complete : bool
        False if the run was interrupted: the cases that it had finished are here.
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
    """Run a suite.

    Parameters
    ----------
    suite : str
        A key of `SUITES`.
    repeats : int
        Runs of each method on each case.
    limit : float
        Seconds for each run.
    watch : callable, optional
        Called before every run with what runs, how many are done and how many there are.
    cases : sequence of str, optional
        Keys of `CASES`, in place of the suite's.

    Returns
    -------
    SuiteResult
        After Ctrl-C, of the cases that were finished.
    """
    names = SUITES[suite][1] if cases is None else cases
    found = SuiteResult(suite, [], repeats, limit, _now(), machine())
    teams = {name: contestants(CASES[name]()) for name in names}
    tour = _Tour(repeats, limit, watch or _silent, sum(map(len, teams.values())) * repeats)
    try:
        with threadpool_limits(1):
            for name, team in teams.items():
                found.cases.append(tour.run(name, team))
    except KeyboardInterrupt:
        found.complete = False
    return found


@dataclass
class _Tour:
    """Runs cases and counts the runs."""

    repeats: int
    limit: float
    watch: Callable[[str, int, int], None]
    total: int
    done: int = 0

    def run(self, name: str, team: Sequence[Contestant]) -> CaseResult:
        build = CASES[name]
        entries = [Entry(contestant.name, contestant.ours) for contestant in team]
        pairs = list(zip(entries, team, strict=True))
        for entry, contestant in pairs:
            self.watch(f"{name}, {contestant.name}", self.done, self.total)
            self._once(entry, contestant, build(), min(WARM_UP, self.limit))
            entry.traces.clear()
        for turn in range(self.repeats):
            shift = turn * len(pairs) // self.repeats
            for entry, contestant in pairs[shift:] + pairs[:shift]:
                self.watch(f"{name}, {contestant.name}", self.done, self.total)
                self._once(entry, contestant, build(), self.limit)
                self.done += 1
        return CaseResult(name, build().title, entries)

    def _once(self, entry: Entry, contestant: Contestant, case: Case, limit: float) -> None:
        unfinished = entry.traces and entry.traces[0].reach(LEVELS[-1]) is None
        if entry.failure or unfinished:
            return
        try:
            entry.traces.append(contestant.run(case, limit))
        except Exception as error:  # another library's failure is a result too
            if contestant.ours:
                raise
            entry.failure = f"{type(error).__name__}: {error}"


def _silent(words: str, done: int, total: int) -> None:
    pass


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
