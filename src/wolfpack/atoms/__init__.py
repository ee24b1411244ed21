"""Structured vertices: what linear oracles answer, kept small until a dense array is needed."""

from __future__ import annotations

from ._affine import Affine
from ._base import Atoms, Dense
from ._blocks import Blocks, Sums, join_blocks, split_blocks
from ._bounded import Bounded
from ._corner import Corner
from ._one_hot import OneHot
from ._permutation import Permutation
from ._rank_one import RankOne
from ._rows import Rows
from ._sparse import Sparse

__all__ = [
    "Affine",
    "Atoms",
    "Blocks",
    "Bounded",
    "Corner",
    "Dense",
    "OneHot",
    "Permutation",
    "RankOne",
    "Rows",
    "Sparse",
    "Sums",
    "join_blocks",
    "split_blocks",
]
