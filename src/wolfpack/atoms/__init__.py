"""Structured vertices: what linear oracles answer, kept small until a dense array is needed."""

from __future__ import annotations

from ._base import Atoms, Dense
from ._one_hot import OneHot
from ._rank_one import RankOne
from ._sparse import Sparse

__all__ = ["Atoms", "Dense", "OneHot", "RankOne", "Sparse"]
