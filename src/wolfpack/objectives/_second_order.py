"""Hessians of sums over observations, as matrices of the coordinates that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array
from ._matrix import Matrix, entries, has_rows

if TYPE_CHECKING:
    from .finite_sum import FiniteSum

Block: TypeAlias = tuple[Array, Array]
"""Positions in the flattened x, and the second derivatives of f between them."""

_LARGEST = 2000  # rows of a block
_PER_ROW = 1.0 / 24.0  # what a product of matrices takes of the time of products with vectors,
_PER_JOINT_ROW = 1.0 / 16.0  # where matrices are not multiplied with themselves
_PER_PAIR = 1.5  # the same for each pair of entries of a sparse row,
_PER_ENTRY = 4.0  # and for each entry, which has to be collected
_ROWS_PER_COLUMN = 40.0  # at least so many rows are sampled for each column of a block
_CALLS = 25_000.0  # products of numbers in the time that the calls of a pass take
_FACTOR = 1.0 / 48.0  # what an elimination takes
_ROWS_PER_PART, _ENTRIES_PER_PART = 256, 2**17


def hessian_blocks(f: FiniteSum, dual: Array, free: Array) -> list[Block] | None:
    """Return the Hessian of f at the entries ``free``, as blocks that do not interact.

    Where it would cost more than a pass over the data it is that of a sample of the rows.
    """
    curvatures, A = f.curvatures(dual), f.A if issparse(f.A) else entries(f.A)
    if curvatures is None:
        return None
    stride = _stride(f, free)
    if stride > 1:
        # one row of every ``stride``, so that no order of the rows can hide a part of them
        places = np.arange(0, f.n - stride + 1, stride)
        rows = places + np.random.default_rng(0).integers(0, stride, len(places))
        A, curvatures = A[rows], (f.n / len(rows)) * curvatures[rows]
    elif issparse(A) and not free.all():
        A = f._At.columns  # columns are collected faster where they lie together
    d, q = free.shape[0], free.size // free.shape[0]
    columns = [np.flatnonzero(part) for part in free.reshape(d, q).T]
    if curvatures.ndim == 3:
        return [_joint(A, curvatures, columns)]
    blocks: list[Block] = []
    known: tuple[Array, Array, Array] | None = None
    for a, (chosen, weights) in enumerate(zip(columns, curvatures.reshape(-1, q).T, strict=True)):
        # outputs of least squares share a matrix
        if known is None or not all(map(np.array_equal, known[:2], (chosen, weights))):
            known = chosen, weights, _gram(A, chosen, weights)
        blocks.append((q * chosen + a, known[2]))
    return blocks


def hessian_passes(f: FiniteSum, free: Array) -> float:
    """Return what a Newton step costs, in passes, by a model of what was measured."""
    products, factor, largest = _prices(f, free)
    return products / _stride(f, free) + factor if largest <= _LARGEST else np.inf


def _stride(f: FiniteSum, free: Array) -> int:
    """Return of how many rows one is used: so many that products cost a pass, but not too many.

    All rows are used where the Hessian is the same everywhere, since one step is then enough.
    """
    if f.quadratic:
        return 1
    products, _, largest = _prices(f, free)
    return max(1, int(min(products, f.n / max(_ROWS_PER_COLUMN * largest, 1.0))))


def _prices(f: FiniteSum, free: Array) -> tuple[float, float, float]:
    """Return the prices of all products and of the factors, in passes, and the largest block."""
    if not has_rows(f.A):
        return np.inf, np.inf, np.inf
    d, q = free.shape[0], free.size // free.shape[0]
    sizes = free.reshape(d, q).sum(axis=0).astype(float)
    joint = f.joint_outputs
    blocks = np.array([sizes.sum()]) if joint else sizes
    if issparse(f.A):
        # as if each column's entries were in random rows
        entries_of_rows = (free.reshape(d, q).T @ f.column_counts) / f.n
        if joint:
            entries_of_rows = entries_of_rows.sum(keepdims=True)
        pairs = float(entries_of_rows @ (1.0 + entries_of_rows))
        products = f.n * (_PER_PAIR * pairs + _PER_ENTRY * float(entries_of_rows.sum()))
        pass_ = float(f.A.nnz) * q
    else:
        per_row = _PER_JOINT_ROW if joint else _PER_ROW
        products, pass_ = per_row * f.n * float(blocks @ blocks), float(f.n * d * q)
    pass_ += _CALLS
    factor = _FACTOR * float((blocks**3).sum()) / pass_
    return float(products / pass_), factor, float(blocks.max())


def _joint(A: Matrix, curvatures: Array, columns: list[Array]) -> Block:
    """Return the Hessian in which the outputs interact, as the classes of a softmax do."""
    parts, q = [_columns(A, chosen) for chosen in columns], len(columns)
    rows = [
        [_product(parts[a], curvatures[:, a, b], parts[b]) for b in range(a, q)] for a in range(q)
    ]
    full = [[rows[a][b - a] if b >= a else rows[b][a - b].T for b in range(q)] for a in range(q)]
    return np.concatenate([q * chosen + a for a, chosen in enumerate(columns)]), np.block(full)


def _columns(A: Matrix, chosen: Array) -> Matrix:
    if len(chosen) == A.shape[1]:
        return A
    part = A[:, chosen]
    return part.tocsr() if issparse(part) else part


def _gram(A: Matrix, chosen: Array, weights: Array) -> Array:
    """Return the products of the chosen columns, with nonnegative weights of the rows.

    A product of a matrix with its own transpose takes half the time of one with another matrix, and
    parts of the rows whose copies stay in the cache save as much again.
    """
    root = np.sqrt(weights)
    if issparse(A):
        part = _columns(A, chosen)
        part = part.multiply(root[:, None]).tocsr()
        return (part.T @ part).toarray()
    total = np.zeros((len(chosen), len(chosen)), np.result_type(A, root))
    step = max(_ROWS_PER_PART, _ENTRIES_PER_PART // max(1, len(chosen)))
    for begin in range(0, A.shape[0], step):
        rows = slice(begin, begin + step)
        part = root[rows, None] * _columns(A[rows], chosen)
        total += part.T @ part
    return total


def _product(left: Matrix, weights: Array, right: Matrix) -> Array:
    """Return left' diag(weights) right."""
    if issparse(right):
        return (left.T @ right.multiply(weights[:, None]).tocsr()).toarray()
    return left.T @ (weights[:, None] * right)
