"""Objectives whose data lie in blocks: on disk, on other machines, or too large for one process."""

from __future__ import annotations

from ._patterns import side_by_side
from .blocks import BlockError, Blocks, Contribution
from .loss import NAMES
from .objective import Here, Partitioned, Workers
from .parts import Loading, as_parts
from .tasks import SUMS, Task
from .tree import joined

__all__ = [
    "NAMES",
    "SUMS",
    "BlockError",
    "Blocks",
    "Contribution",
    "Here",
    "Loading",
    "Partitioned",
    "Task",
    "Workers",
    "as_parts",
    "joined",
    "side_by_side",
]
