"""Matrices of low rank and sparse ones are the arrays they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.arrays import LowRank, SparseMatrix, all_finite, epsilon, inner, norm

RNG = np.random.default_rng(0)


def low_rank(p: int = 7, q: int = 5, k: int = 3) -> LowRank:
    parts = RNG.standard_normal((p, k)), RNG.standard_normal(k), RNG.standard_normal((q, k))
    return LowRank(*parts)


def sparse(count: int = 9, seed: int = 0) -> SparseMatrix:
    at = np.sort(np.random.default_rng(seed).choice(35, count, replace=False))
    return SparseMatrix(at // 5, at % 5, RNG.standard_normal(count), (7, 5))


PAIRS = [(low_rank(), low_rank()), (sparse(), sparse(seed=1)), (sparse(), low_rank())]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_inner_products(a, b):
    dense = np.asarray(a), np.asarray(b)
    expected = float(np.vdot(*dense))
    for left, right in ((a, b), (b, a), (a, dense[1]), (dense[0], b)):
        assert inner(left, right) == pytest.approx(expected)
    assert norm(a) == pytest.approx(float(np.linalg.norm(dense[0])))
    assert all_finite(a)
    assert epsilon(a) == np.finfo(float).eps


def test_sums_and_multiples():
    for a, b in ((low_rank(), low_rank()), (sparse(), sparse()), (sparse(), sparse(seed=3))):
        dense = np.asarray(a), np.asarray(b)
        np.testing.assert_allclose(np.asarray(a + b), dense[0] + dense[1])
        np.testing.assert_allclose(np.asarray(a - b), dense[0] - dense[1])
        np.testing.assert_allclose(np.asarray(2.5 * (-a)), -2.5 * dense[0])


def test_products():
    S, x, y = sparse(), RNG.standard_normal(5), RNG.standard_normal((7, 2))
    np.testing.assert_allclose(S @ x, np.asarray(S) @ x)
    np.testing.assert_allclose(S.T @ y, np.asarray(S).T @ y)


@pytest.mark.parametrize("count", [0, 3, 34])
def test_entries_by_blocks_and_one_by_one(count):
    X = low_rank()
    for seed in (0, 1):
        at = np.random.default_rng(seed).choice(35, count, replace=False)
        for places in (at, np.sort(at)):
            found = X.entries(places // 5, places % 5)
            np.testing.assert_allclose(found, np.asarray(X).reshape(-1)[places])


def test_zero_has_rank_zero():
    zero = LowRank.zeros((4, 3))
    assert (zero.rank, zero.shape, zero.ndim) == (0, (4, 3), 2)
    assert not np.asarray(zero).any()
    assert inner(zero, low_rank(4, 3)) == 0.0
    np.testing.assert_array_equal(zero.entries(np.array([1]), np.array([2])), [0.0])


def test_entries_that_are_not_finite_are_seen():
    bad = sparse()
    bad.data[2] = np.inf
    assert not all_finite(bad)
    worse = low_rank()
    worse.s[0] = np.nan
    assert not all_finite(worse)
