"""Collections of vertices that grow: batches joined end to end, and their weighted sums.

Active sets and pools keep their vertices as one batch, so that a score, a sum or a choice costs one
vectorised pass. Each structure says here how it is joined and summed; one that does not is treated
as dense rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from ._affine import Affine
from ._base import Array, Atoms, Dense
from ._blocks import Blocks, Sums
from ._corner import Corner
from ._one_hot import OneHot
from ._permutation import Permutation
from ._rank_one import RankOne
from ._rows import Rows
from ._sparse import Sparse


def join(parts: Sequence[Atoms]) -> Atoms:
    """Return one batch with the vertices of all parts, single or batches, in their order.

    The structure is kept where all parts share it; otherwise the batch is dense.
    """
    kind = type(parts[0])
    joined = _join(parts[0], parts) if all(type(part) is kind for part in parts) else None
    return _join_dense(parts) if joined is None else joined


@singledispatch
def combine(atoms: Atoms, weights: Array) -> Array:
    """Return the sum of ``weights[i]`` times vertex i of a batch, as a dense array."""
    return np.tensordot(weights, atoms.to_dense(), 1)


@singledispatch
def _join(first: Atoms, parts: Sequence[Any]) -> Atoms | None:
    """Return the batch of parts that have the type of ``first``, None if they do not match."""
    return None


def _join_dense(parts: Sequence[Atoms]) -> Dense:
    shape = parts[0].vertex_shape
    return Dense(np.concatenate([part.to_dense().reshape(-1, *shape) for part in parts]), shape)


def _same(parts: Sequence[Any], field: str) -> bool:
    """Tell whether a number or array that vertices of one set share is the same in all parts."""
    first = getattr(parts[0], field)
    return all(
        getattr(part, field) is first or np.array_equal(getattr(part, field), first)
        for part in parts[1:]
    )


@_join.register
def _(first: OneHot, parts: Sequence[OneHot]) -> OneHot:
    index = np.concatenate([part.index.reshape(-1) for part in parts])
    if all(np.ndim(part.value) == 0 and part.value == first.value for part in parts):
        return OneHot(index, first.value, first.vertex_shape)
    values = [np.broadcast_to(part.value, part.index.shape).reshape(-1) for part in parts]
    return OneHot(index, np.concatenate(values), first.vertex_shape)


@combine.register
def _(atoms: OneHot, weights: Array) -> Array:
    total = np.bincount(atoms.index, weights * atoms.value, atoms.size)
    return total.reshape(atoms.vertex_shape)


@_join.register
def _(first: Sparse, parts: Sequence[Sparse]) -> Sparse:
    width = max(part.indices.shape[-1] for part in parts)
    count = sum(part.count or 1 for part in parts)
    indices, values = np.zeros((count, width), dtype=np.intp), np.zeros((count, width))
    row = 0
    for part in parts:
        rows = slice(row, row + (part.count or 1))
        indices[rows, : part.indices.shape[-1]] = part.indices
        values[rows, : part.indices.shape[-1]] = part.values
        row = rows.stop
    # equal entries everywhere and no padding: a number stands for them
    value = float(values[0, 0]) if width and (values == values[0, 0]).all() else values
    return Sparse(indices, value, first.vertex_shape)


@combine.register
def _(atoms: Sparse, weights: Array) -> Array:
    entries = np.broadcast_to(weights[:, None] * atoms.values, atoms.indices.shape)
    total = np.bincount(atoms.indices.reshape(-1), entries.reshape(-1), atoms.size)
    return total.reshape(atoms.vertex_shape)


@_join.register
def _(first: RankOne, parts: Sequence[RankOne]) -> RankOne | None:
    if not _same(parts, "scale"):
        return None
    u = np.concatenate([np.atleast_2d(part.u) for part in parts])
    if all(part.u is part.v for part in parts):
        return RankOne(u, u, first.scale)
    return RankOne(u, np.concatenate([np.atleast_2d(part.v) for part in parts]), first.scale)


@combine.register
def _(atoms: RankOne, weights: Array) -> Array:
    return (atoms.u.T * (atoms.scale * weights)) @ atoms.v


@_join.register
def _(first: Rows, parts: Sequence[Rows]) -> Rows | None:
    if not _same(parts, "table"):
        return None
    index = np.concatenate([part.index.reshape(-1) for part in parts])
    # the newest part has the set's own table: after a resumed run the others hold an equal copy
    return Rows(parts[-1].table, index, first.vertex_shape)


@combine.register
def _(atoms: Rows, weights: Array) -> Array:
    total = weights @ atoms.table[atoms.index]
    return total.reshape(atoms.vertex_shape)


@_join.register
def _(first: Permutation, parts: Sequence[Permutation]) -> Permutation:
    return Permutation(np.concatenate([np.atleast_2d(part.columns) for part in parts]))


@combine.register
def _(atoms: Permutation, weights: Array) -> Array:
    n = atoms.vertex_shape[0]
    flat = (atoms.columns + n * np.arange(n)).reshape(-1)
    return np.bincount(flat, np.repeat(weights, n), n * n).reshape(n, n)


@_join.register
def _(first: Corner, parts: Sequence[Corner]) -> Corner | None:
    if not (_same(parts, "lower") and _same(parts, "upper")):
        return None
    shape = first.vertex_shape
    above = np.concatenate([part.above.reshape(-1, *shape) for part in parts])
    return Corner(above, first.lower, first.upper, shape)


@combine.register
def _(atoms: Corner, weights: Array) -> Array:
    share = np.tensordot(weights, atoms.above, 1)
    return share * atoms.upper + (weights.sum() - share) * atoms.lower


@_join.register
def _(first: Affine, parts: Sequence[Affine]) -> Affine | None:
    if not (_same(parts, "scale") and _same(parts, "offset")):
        return None
    return Affine(join([part.base for part in parts]), first.scale, first.offset)


@combine.register
def _(atoms: Affine, weights: Array) -> Array:
    total = atoms.scale * combine(atoms.base, weights)
    return total if atoms.offset is None else total + weights.sum() * atoms.offset


@_join.register
def _(first: Blocks, parts: Sequence[Blocks]) -> Blocks:
    return Blocks([join(column) for column in zip(*(part.parts for part in parts), strict=True)])


@combine.register
def _(atoms: Blocks, weights: Array) -> Array:
    return np.concatenate([combine(part, weights).reshape(-1) for part in atoms.parts])


@_join.register
def _(first: Sums, parts: Sequence[Sums]) -> Sums:
    return Sums([join(column) for column in zip(*(part.parts for part in parts), strict=True)])


@combine.register
def _(atoms: Sums, weights: Array) -> Array:
    return sum(combine(part, weights) for part in atoms.parts)
