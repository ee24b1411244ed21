"""Random runs of random problems, compared with the truth.

A run is named by two numbers: the seed of the fuzz and the index of the run. Both determine the
problem and the settings, so that every violation can be reproduced.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import wolfpack as wp
from fuzz.problem import Problem, Verdict, judge
from wolfpack.front.methods import METHODS
from wolfpack.problem import CapabilityError

RUNS_PER_PROBLEM = 4
"""Making a problem and its exact minimum costs more than a run, so that several runs share it."""

NAMES = ("auto", *METHODS)
SAMPLED = {
    "anytime": (1, 3, 8, "exact"),
    "pfw": (1, 4, "exact"),
    "r-pfw": (1, 4, "exact"),
    "corrective": (1, 2, 4),
}
TOLERANCES = (1e-3, 1e-6, 1e-9, 1e-12, 0.0, 0.0)

Maker = Callable[[np.random.Generator], Problem]

FUZZES: dict[str, Callable[[], Maker]] = {
    "rational": lambda: import_module("fuzz.rational").rational_problem,
    "analytic": lambda: import_module("fuzz.analytic").analytic_problem,
    "half": lambda: import_module("fuzz.half").half_problem,
}
"""Functions that import the makers of problems; PyTorch is needed for the last one alone."""


class Run(NamedTuple):
    """What one run was and what was found."""

    index: int
    problem: Problem
    settings: dict[str, Any]
    verdict: Verdict

    def __str__(self) -> str:
        settings = {k: v for k, v in self.settings.items() if k not in ("x0", "L")}
        start = "default" if self.settings["x0"] is None else self.settings["x0"].tolist()
        return (
            f"run {self.index}: {self.problem.area}, {self.problem.K}, x0 {start}, {settings}: "
            f"{'; '.join(self.verdict.faults) or 'no fault'} (status {self.verdict.status})"
        )


def runs(make: Maker, seed: int, indices: range) -> Iterator[Run]:
    """Make the runs with these indices, one after the other."""
    problem, made = None, -1
    for index in indices:
        number = index // RUNS_PER_PROBLEM
        if number != made or problem is None:
            problem, made = make(np.random.default_rng([seed, number])), number
        settings = draw_settings(np.random.default_rng([seed, number, index]), problem)
        yield Run(index, problem, settings, attempt(problem, settings))


def draw_settings(rng: np.random.Generator, problem: Problem) -> dict[str, Any]:
    """Return the arguments of a run but f and K."""
    method = NAMES[rng.integers(len(NAMES))]
    settings: dict[str, Any] = dict(problem.options)
    settings |= {
        "x0": problem.starts[rng.integers(len(problem.starts))],
        "method": method,
        "tol": TOLERANCES[rng.integers(len(TOLERANCES))],
        "rtol": (None, None, None, 1e-8)[rng.integers(4)],
        "max_rounds": int(rng.integers(1, 16)) if rng.random() < 0.7 else int(rng.integers(16, 61)),
        "seed": int(rng.integers(100)),
    }
    if method in SAMPLED:
        settings["m"] = SAMPLED[method][rng.integers(len(SAMPLED[method]))]
    if rng.random() < 0.1:
        settings["record_every"] = 3
    if method == "pfw" and rng.random() < 0.5:
        settings["alpha"] = float(rng.choice([1e-3, 1.0, 1e3]))
    return settings


def attempt(problem: Problem, settings: dict[str, Any]) -> Verdict:
    """Run once and judge the result; a method that the set or the function excludes is refused."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            res = wp.minimize(problem.f, problem.K, progress=False, **settings)
        except CapabilityError:
            return Verdict("refused", [])
        except ValueError as error:
            # Theorem 3 has no alpha for the default accuracy where f is too large.
            refused = settings["method"] == "pfw" and "ask for" in str(error)
            return (
                Verdict("refused", []) if refused else Verdict("raised", [f"ValueError: {error}"])
            )
        except Exception as error:
            return Verdict("raised", [f"{type(error).__name__}: {error}"])
    verdict = judge(problem, res, settings["tol"], settings["rtol"], settings["max_rounds"])
    # Nothing is wrong with these functions and sets, so that a warning is false.
    verdict.faults.extend(f"{w.category.__name__}: {w.message}" for w in warned)
    return verdict


@dataclass
class Tally:
    """Counts over the runs of an area."""

    runs: int = 0
    violations: int = 0
    ratio: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, verdict: Verdict) -> None:
        """Count one run."""
        self.runs += 1
        self.violations += bool(verdict.faults)
        self.ratio = max(self.ratio, verdict.ratio)
        self.statuses[verdict.status] += 1

    def join(self, other: Tally) -> None:
        """Count the runs of another tally too."""
        self.runs += other.runs
        self.violations += other.violations
        self.ratio = max(self.ratio, other.ratio)
        self.statuses.update(other.statuses)


Tables = dict[str, dict[str, Tally]]
"""Tallies by function, by set and by method."""


def join(parts: Iterable[Tables]) -> Tables:
    """Add up tables of different runs."""
    tables: Tables = {}
    for part in parts:
        for name, rows in part.items():
            for key, found in rows.items():
                tables.setdefault(name, {}).setdefault(key, Tally()).join(found)
    return tables


def tally(found: Iterator[Run], on_violation: Callable[[Run], None]) -> Tables:
    """Count runs by area, by set and by method; tell of every violation."""
    tables: Tables = {"function": {}, "set": {}, "method": {}}
    for run in found:
        keys = {
            "function": run.problem.area,
            "set": run.problem.place,
            "method": run.settings["method"],
        }
        for name, key in keys.items():
            tables[name].setdefault(key, Tally()).add(run.verdict)
        if run.verdict.faults:
            on_violation(run)
    return tables
