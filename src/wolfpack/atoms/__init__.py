"""Structured vertices: what linear oracles answer, kept small until a dense array is needed."""

from __future__ import annotations

from ._affine import Affine
from ._base import Atoms, Bounded, Dense
from ._batches import combine, images, join, weighted
from ._blocks import BlockAtoms, Sums, join_blocks, split_blocks
from ._corner import Corner
from ._imaged import Imaged
from ._one_hot import OneHot, Tally
from ._permutation import Permutation
from ._rank_one import RankOne
from ._rows import Rows
from ._sparse import Sparse
from ._summary import DenseSummary, Summary, portable, summarize

__all__ = [
    "Affine",
    "Atoms",
    "BlockAtoms",
    "Bounded",
    "Corner",
    "Dense",
    "DenseSummary",
    "Imaged",
    "OneHot",
    "Permutation",
    "RankOne",
    "Rows",
    "Sparse",
    "Summary",
    "Sums",
    "Tally",
    "combine",
    "images",
    "join",
    "join_blocks",
    "portable",
    "split_blocks",
    "summarize",
    "weighted",
]
