"""Benchmarks: the same problems for every method of this library and for other libraries."""

from __future__ import annotations

from .cases import CASES, Case
from .measure import LEVELS, Reach, Row, measure, measure_outside, methods
from .outside import Rival, rivals

__all__ = [
    "CASES",
    "LEVELS",
    "Case",
    "Reach",
    "Rival",
    "Row",
    "measure",
    "measure_outside",
    "methods",
    "rivals",
]
