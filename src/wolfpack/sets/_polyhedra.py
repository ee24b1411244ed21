"""Descriptions of polytopes by matrices, made from those of other polytopes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..problem.polyhedron import Matrix, Polyhedron, Rows


def moved(K: Polyhedron, factor: float, offset: Array) -> Polyhedron:
    """Return the description of factor K + offset, where ``offset`` has the shape of the points."""

    def rounded(z: Array) -> Array:
        return factor * K.round(z) + offset

    shift = factor * K.offset + offset.reshape(-1)
    return replace(K, lift=factor * _map(K), offset=shift, round=rounded)


def joined(parts: Sequence[Polyhedron]) -> Polyhedron:
    """Return the description of a product, whose points are the flattened points of the parts."""
    ends = np.cumsum([0, *(part.n for part in parts)]).tolist()

    def rounded(z: Array) -> Array:
        blocks = zip(parts, itertools.pairwise(ends), strict=True)
        return np.concatenate([part.round(z[i:j]).reshape(-1) for part, (i, j) in blocks])

    maps = [_map(part) for part in parts]
    offsets = [np.broadcast_to(K.offset, (T.shape[0],)) for K, T in zip(parts, maps, strict=True)]
    return Polyhedron(
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        rounded,
        _stacked(parts, lambda part: part.equations),
        _stacked(parts, lambda part: part.inequalities),
        sparse.block_diag(maps, format="csr"),
        np.concatenate(offsets),
    )


def _stacked(parts: Sequence[Polyhedron], of: Callable[[Polyhedron], Rows | None]) -> Rows:
    systems = [of(part) or Rows(sparse.csr_array((0, part.n)), np.zeros(0)) for part in parts]
    # blocks of NumPy's arrays alone would make a sparse matrix, which SciPy gives up
    matrix = sparse.block_diag([sparse.csr_array(rows.matrix) for rows in systems], format="csr")
    return Rows(matrix, np.concatenate([rows.right for rows in systems]))


def _map(K: Polyhedron) -> Matrix:
    return sparse.eye_array(K.n, format="csr") if K.lift is None else K.lift
