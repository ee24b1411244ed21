"""Structured vertices: what linear oracles answer, kept small until a dense array is needed."""

from __future__ import annotations

from ._affine import Affine
from ._base import Atoms, Dense
from ._blocks import Blocks, Sums, join_blocks, split_blocks
from ._bounded import Bounded
from ._corner import Corner
from ._one_hot import OneHot, Tally
from ._permutation import Permutation
from ._rank_one import RankOne
from ._rows import Rows
from ._sparse import Sparse
from ._summary import DenseSummary, Summary, portable, summarize

__all__ = [
    "Affine",
    "Atoms",
    "Blocks",
    "Bounded",
    "Corner",
    "Dense",
    "DenseSummary",
    "OneHot",
    "Permutation",
    "RankOne",
    "Rows",
    "Sparse",
    "Summary",
    "Sums",
    "Tally",
    "join_blocks",
    "portable",
    "split_blocks",
    "summarize",
]
