"""Objectives whose data lie in blocks: on disk, on other machines, or too large for one process."""

from __future__ import annotations

from .blocks import BlockError, Blocks, Contribution
from .objective import Here, Partitioned, Workers
from .tasks import Task

__all__ = ["BlockError", "Blocks", "Contribution", "Here", "Partitioned", "Task", "Workers"]
