"""Benchmarks: the same problems for every method of this library and for other libraries.

`run_suite` runs what `wolfpack bench` runs, `load` reads results back, `write` writes tables,
profiles and a page.
"""

from __future__ import annotations

from .cases import CASES, Case
from .measure import LEVELS, Trace
from .outside import LIBRARIES, missing
from .stored import load
from .suite_page import write
from .suites import SUITES, Entry, SuiteResult, run_suite

__all__ = [
    "CASES",
    "LEVELS",
    "LIBRARIES",
    "SUITES",
    "Case",
    "Entry",
    "SuiteResult",
    "Trace",
    "load",
    "missing",
    "run_suite",
    "write",
]
