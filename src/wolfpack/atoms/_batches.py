"""Batches of vertices that grow: joined end to end, and summed with weights.

Methods that collect vertices keep them as one batch, so that a score, a sum or a choice costs one
vectorised pass. Each structure says here how it is joined and summed. One that does not is treated
as dense rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, singledispatch

import numpy as np

from ..arrays import bincount, concat, full, like, namespace, reshape, to_host, zeros
from ._affine import Affine
from ._base import Array, Atoms, Dense
from ._blocks import BlockAtoms, Parts, Sums
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
    if len(parts) == 1 and parts[0].count is not None:
        return parts[0]
    kind, shape = type(parts[0]), parts[0].vertex_shape
    joined = _joiner(kind)(parts[0], parts) if all(type(part) is kind for part in parts) else None
    if joined is not None:
        return joined
    return Dense(concat([reshape(part.to_dense(), (-1, *shape)) for part in parts]), shape)


def weighted(atoms: Atoms, weights: Array, origin: Array) -> Array:
    """Return w_0 times ``origin`` plus the sum of w_i times vertex i, of the type of ``origin``.

    The weights are NumPy's, wherever the points are.
    """
    here = type(origin) is np.ndarray
    x = _combiner(type(atoms))(atoms, weights[1:] if here else like(weights[1:], origin))
    if weights[0] != 0:
        x = x + float(weights[0]) * origin
    return x if x.dtype == origin.dtype else namespace(x).astype(x, origin.dtype)


@singledispatch
def combine(atoms: Atoms, weights: Array) -> Array:
    """Return the sum of ``weights[i]`` times vertex i of a batch, as a dense array."""
    dense = atoms.to_dense()
    return namespace(dense).tensordot(weights, dense, axes=1)


@singledispatch
def images(atoms: Atoms, A: Array) -> Array:
    """Return A v for each vertex v of a batch, column by column; A has a row for each product."""
    return A @ atoms.to_dense().reshape(len(atoms), -1).T


@cache
def _combiner(kind: type[Atoms]) -> Callable[[Atoms, Array], Array]:
    """Return what `combine` calls for vertices of this type; to ask each time takes longer."""
    return combine.dispatch(kind)


@cache
def _joiner(kind: type[Atoms]) -> Callable[..., Atoms | None]:
    """Return what `_join` calls for vertices of this type."""
    return _join.dispatch(kind)


@singledispatch
def _join(first: Atoms, parts: Sequence[Atoms]) -> Atoms | None:
    """Return the batch of parts that have the type of ``first``, None if they do not match."""
    return None


def _same(parts: Sequence[Atoms], field: str) -> bool:
    """Tell whether a number or array that vertices of one set share is the same in all parts."""
    first = getattr(parts[0], field)
    return all(
        getattr(part, field) is first
        or np.array_equal(to_host(getattr(part, field)), to_host(first))
        for part in parts[1:]
    )


@_join.register
def _(first: OneHot, parts: Sequence[OneHot]) -> OneHot:
    index = concat([reshape(part.index, (-1,)) for part in parts])
    if all(isinstance(part.value, float) and part.value == first.value for part in parts):
        return OneHot(index, first.value, first.vertex_shape, first.dtype)
    dtype = first.dtype or np.float64
    values = [
        full(tuple(part.index.shape), part.value, part.index, dtype)
        if isinstance(part.value, float)
        else part.value
        for part in parts
    ]
    entries = concat([reshape(value, (-1,)) for value in values])
    return OneHot(index, entries, first.vertex_shape, first.dtype)


@combine.register
def _(atoms: OneHot, weights: Array) -> Array:
    entries = (
        weights if type(atoms.value) is float and atoms.value == 1.0 else weights * atoms.value
    )
    total = bincount(atoms.index, entries, atoms.size, weights.dtype)
    return reshape(total, atoms.vertex_shape)


@images.register
def _(atoms: OneHot, A: Array) -> Array:
    return A[:, atoms.index] * atoms.value


@_join.register
def _(first: Sparse, parts: Sequence[Sparse]) -> Sparse:
    width = max(part.indices.shape[-1] for part in parts)
    positions, values = [], []
    for part in parts:  # padded at position 0 with value 0
        rows = part.count or 1
        missing = rows, width - part.indices.shape[-1]
        own = reshape(part.indices, (rows, -1))
        entries = reshape(part._values_like(part.indices), (rows, -1))
        positions.append(concat([own, zeros(missing, own)], axis=1))
        values.append(concat([entries, zeros(missing, entries)], axis=1))
    entries = concat(values)
    # equal entries everywhere and no padding: a number stands for them
    if type(entries) is np.ndarray and width and (entries == entries[0, 0]).all():
        entries = float(entries[0, 0])
    return Sparse(concat(positions), entries, first.vertex_shape, first.dtype)


@combine.register
def _(atoms: Sparse, weights: Array) -> Array:
    entries = namespace(weights).broadcast_to(weights[:, None] * atoms.values, atoms.indices.shape)
    total = bincount(atoms.indices, entries, atoms.size, weights.dtype)
    return reshape(total, atoms.vertex_shape)


@_join.register
def _(first: RankOne, parts: Sequence[RankOne]) -> RankOne | None:
    if not _same(parts, "scale"):
        return None
    u = concat([reshape(part.u, (-1, part.u.shape[-1])) for part in parts])
    if all(part.u is part.v for part in parts):
        return RankOne(u, u, first.scale)
    v = concat([reshape(part.v, (-1, part.v.shape[-1])) for part in parts])
    return RankOne(u, v, first.scale)


@combine.register
def _(atoms: RankOne, weights: Array) -> Array:
    return (atoms.u.T * (atoms.scale * weights)) @ atoms.v


@_join.register
def _(first: Rows, parts: Sequence[Rows]) -> Rows | None:
    if not _same(parts, "table"):
        return None
    index = concat([reshape(part.index, (-1,)) for part in parts])
    # the newest part has the set's own table: after a resumed run the others hold an equal copy
    return Rows(parts[-1].table, index, first.vertex_shape)


@combine.register
def _(atoms: Rows, weights: Array) -> Array:
    return reshape(weights @ atoms._rows, atoms.vertex_shape)


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
    above = concat([reshape(part.above, (-1, *shape)) for part in parts])
    return Corner(above, first.lower, first.upper, shape)


@combine.register
def _(atoms: Corner, weights: Array) -> Array:
    space = namespace(weights)
    share = space.tensordot(weights, space.astype(atoms.above, weights.dtype), axes=1)
    return share * atoms.upper + (space.sum(weights) - share) * atoms.lower


@_join.register
def _(first: Affine, parts: Sequence[Affine]) -> Affine | None:
    if not (_same(parts, "scale") and _same(parts, "offset")):
        return None
    return Affine(join([part.base for part in parts]), first.scale, first.offset)


@combine.register
def _(atoms: Affine, weights: Array) -> Array:
    total = atoms.scale * combine(atoms.base, weights)
    return total if atoms.offset is None else total + namespace(weights).sum(weights) * atoms.offset


@images.register
def _(atoms: Affine, A: Array) -> Array:
    moved = atoms.scale * images(atoms.base, A)
    return moved if atoms.offset is None else moved + (A @ atoms.offset.reshape(-1))[:, None]


@combine.register
def _(atoms: BlockAtoms, weights: Array) -> Array:
    return concat([reshape(combine(part, weights), (-1,)) for part in atoms.parts])


@_join.register
def _(first: Parts, parts: Sequence[Parts]) -> Parts:
    columns = zip(*(part.parts for part in parts), strict=True)
    return type(first)([join(column) for column in columns])


@combine.register
def _(atoms: Sums, weights: Array) -> Array:
    return sum(combine(part, weights) for part in atoms.parts)
