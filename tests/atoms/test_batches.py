"""Batches joined from vertices keep their structure, their order and their sums."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.atoms import (
    Affine,
    Atoms,
    BlockAtoms,
    Bounded,
    Corner,
    Dense,
    OneHot,
    Permutation,
    RankOne,
    Rows,
    Sparse,
    Sums,
    join,
)
from wolfpack.atoms._batches import combine

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((5, 4))
LOW, HIGH = -np.arange(1.0, 5.0), np.arange(2.0, 6.0)


def one_hots() -> list[Atoms]:
    return [OneHot(2, 1.5, (4,)), OneHot(np.array([0, 2]), 1.5, (4,))]


def corners() -> list[Atoms]:
    return [Corner(RNG.random(shape) < 0.5, LOW, HIGH, (4,)) for shape in ((4,), (2, 4))]


def rank_ones() -> list[Atoms]:
    single = RankOne(RNG.standard_normal(3), RNG.standard_normal(4), 2.0)
    return [single, RankOne(RNG.standard_normal((2, 3)), RNG.standard_normal((2, 4)), 2.0)]


CASES: dict[str, list[Atoms]] = {
    "one-hot": one_hots(),
    "one-hot, signed": [
        OneHot(1, -2.0, (4,)),
        OneHot(np.array([0, 3]), np.array([2.0, -2.0]), (4,)),
    ],
    "sparse, padded": [Sparse(np.array([1, 3]), 1.0, (4,)), Sparse(np.array([0, 1, 2]), 1.0, (4,))],
    "sparse, equal": [Sparse(np.array([1, 3]), 1.0, (4,)), Sparse(np.array([[0, 1]]), 1.0, (4,))],
    "rank one": rank_ones(),
    "rows": [Rows(TABLE, 3, (2, 2)), Rows(TABLE, np.array([0, 3, 4]), (2, 2))],
    "permutations": [
        Permutation(np.array([2, 0, 1])),
        Permutation(np.array([[0, 1, 2], [1, 0, 2]])),
    ],
    "corners": corners(),
    "dense": [Dense(TABLE[0], (4,)), Dense(TABLE[1:3], (4,))],
    "affine": [Affine(part, 2.0, LOW) for part in one_hots()],
    "affine, no offset": [Affine(part, 2.0) for part in one_hots()],
    "blocks": [BlockAtoms([a, b]) for a, b in zip(one_hots(), corners(), strict=True)],
    "sums": [Sums([a, b]) for a, b in zip(one_hots(), corners(), strict=True)],
}


@pytest.mark.parametrize("name", CASES)
def test_join_and_combine_agree_with_dense_rows(name):
    parts = CASES[name]
    batch = join(parts)
    shape = parts[0].vertex_shape
    rows = np.concatenate([part.to_dense().reshape(-1, *shape) for part in parts])
    assert type(batch) is type(parts[0])
    assert batch.count == len(rows)
    np.testing.assert_array_equal(batch.to_dense(), rows)
    weights = RNG.standard_normal(len(rows))
    np.testing.assert_allclose(combine(batch, weights), np.tensordot(weights, rows, 1), atol=1e-13)
    assert batch.take(0).key() == (parts[0] if parts[0].count is None else parts[0].take(0)).key()


MISMATCHED: dict[str, list[Atoms]] = {
    "types": [Dense(TABLE[0], (4,)), OneHot(1, 1.0, (4,))],
    "scales": [RankOne(TABLE[0], TABLE[1], 1.0), RankOne(TABLE[0], TABLE[1], 2.0)],
    "tables": [Rows(TABLE, 0, (4,)), Rows(TABLE + 1.0, 0, (4,))],
    "bounds": [
        Corner(np.ones(4, dtype=bool), LOW, HIGH, (4,)),
        Corner(np.ones(4, dtype=bool), LOW, HIGH + 1, (4,)),
    ],
    "offsets": [Affine(OneHot(1, 1.0, (4,)), 1.0, LOW), Affine(OneHot(1, 1.0, (4,)), 1.0, HIGH)],
    "proofs": [Bounded(TABLE[i], (4,), 1.0 + i, TABLE[2]) for i in range(2)],
}


@pytest.mark.parametrize("name", MISMATCHED)
def test_parts_that_do_not_match_become_dense(name):
    parts = MISMATCHED[name]
    batch = join(parts)
    assert type(batch) is Dense
    np.testing.assert_array_equal(batch.to_dense(), np.stack([part.to_dense() for part in parts]))


def test_symmetric_rank_one_vertices_share_their_vectors():
    u, v = TABLE[0], TABLE[1]
    batch = join([RankOne(u, u), RankOne(v, v)])
    assert isinstance(batch, RankOne)
    assert batch.u is batch.v
