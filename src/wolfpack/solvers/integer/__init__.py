"""Branch and bound: integer points of K by Frank-Wolfe relaxations."""

from __future__ import annotations

from .job import TreeJob, TreeOracles
from .tree import BranchAndBound

__all__ = ["BranchAndBound", "TreeJob", "TreeOracles"]
