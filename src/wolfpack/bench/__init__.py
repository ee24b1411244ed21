"""Benchmarks: the same problems for every method of this library and for other libraries.

`run_suite` runs what `wolfpack bench` runs, `load` reads results back, `write` writes tables,
profiles and a page.
"""

from __future__ import annotations

from .cases import CASES, Case
from .measure import LEVELS, Contestant, Reach, Trace, contestants, methods
from .outside import LIBRARIES, missing, rivals
from .referee import Rival
from .stored import load
from .suite_page import write
from .suites import SUITES, CaseResult, Entry, SuiteResult, run_suite

__all__ = [
    "CASES",
    "LEVELS",
    "LIBRARIES",
    "SUITES",
    "Case",
    "CaseResult",
    "Contestant",
    "Entry",
    "Reach",
    "Rival",
    "SuiteResult",
    "Trace",
    "contestants",
    "load",
    "methods",
    "missing",
    "rivals",
    "run_suite",
    "write",
]
