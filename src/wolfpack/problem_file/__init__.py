"""Problems as files: a TOML file that names data, an objective, a set, a method and limits.

Nothing in such a file is executed. Names are looked up in fixed tables, data are read without
pickle, and sizes are checked before memory is taken.
"""

from __future__ import annotations

from .build import Task, read_problem
from .cost import Cost, measure
from .data import Access
from .outputs import EarlierFiles, Written, write
from .schema import ProblemError
from .starter import STARTERS, write_starter

__all__ = [
    "STARTERS",
    "Access",
    "Cost",
    "EarlierFiles",
    "ProblemError",
    "Task",
    "Written",
    "measure",
    "read_problem",
    "write",
    "write_starter",
]
