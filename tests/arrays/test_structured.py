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


KEYS = [
    (2, 3), (-1, 0), 4, slice(1, 5, 2), [3, -1, 0], np.array([True, False] * 3 + [True]),
    (slice(None), [0, -2]), (slice(None), 2), ([1, 2], [3, -1]), ([[1], [2]], [0, 4]),
    (np.array([[1, 2], [3, 4]]), slice(0, 2)), (slice(None), np.array([[1, 2], [3, 4]])),
    (3, [0, 1]), (..., 1), None, (np.arange(35) % 2 == 0).reshape(7, 5), (slice(2), slice(1, 4)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_entries_rows_and_columns_are_those_of_the_array(key):
    X = low_rank()
    expected = np.asarray(X)[key]
    assert np.shape(X[key]) == expected.shape
    np.testing.assert_allclose(X[key], expected)


@pytest.mark.parametrize("key", [7, (0, 5), ([0, 9], [0, 0])])
def test_places_outside_are_refused(key):
    with pytest.raises(IndexError):
        low_rank()[key]


def test_a_low_rank_matrix_reads_like_an_array():
    X = low_rank()
    D = np.asarray(X)
    assert (X.shape, X.dtype, X.ndim, X.size, len(X)) == (D.shape, D.dtype, 2, 35, 7)
    np.testing.assert_allclose(np.asarray(X.T), D.T)
    for axis in (None, 0, 1, -1, -2):
        np.testing.assert_allclose(X.sum(axis), D.sum(axis))
        np.testing.assert_allclose(np.mean(X, axis=axis), D.mean(axis))
    assert X.norm() == pytest.approx(np.linalg.norm(X)) == pytest.approx(np.linalg.norm(D))
    np.testing.assert_allclose(X.singular_values(), np.linalg.svd(D, compute_uv=False)[:3])
    np.testing.assert_allclose([row.sum() for row in X], D.sum(axis=1))
    np.testing.assert_allclose(np.abs(X), abs(D))
    assert np.max(X) == D.max()


def test_products_of_low_rank_matrices_from_both_sides():
    X, S = low_rank(), sparse()
    D = np.asarray(X)
    v, w = RNG.standard_normal(5), RNG.standard_normal(7)
    B, C = RNG.standard_normal((5, 2)), RNG.standard_normal((3, 7))
    for found, expected in (
        (X @ v, D @ v), (w @ X, w @ D), (X @ B, D @ B), (C @ X, C @ D),
        (X @ X.T, D @ D.T), (X.T @ S, D.T @ np.asarray(S)), (S @ X.T, np.asarray(S) @ D.T),
        (X @ B[None], D @ B[None]), (np.float64(2) * X, 2 * D), (X * 2, 2 * D), (X / 2, D / 2),
    ):  # fmt: skip
        np.testing.assert_allclose(np.asarray(found), expected)


def test_products_never_make_the_whole_matrix(monkeypatch):
    X, S = low_rank(), sparse()

    def refuse(self):
        raise AssertionError("the matrix was made dense")

    monkeypatch.setattr(LowRank, "to_dense", refuse)
    found = [X @ np.ones(5), np.ones(7) @ X, np.ones((2, 7)) @ X, X @ X.T, S @ X.T, X - X]
    found += [X[1, 2], X[[0, 1]], X[:, [1]], X[[0, 1], [2, 3]], X.sum(), X.mean(0), X.norm()]
    found += [np.float64(0.5) * X, X.T, X.singular_values()]
    assert len(found) == 16


@pytest.mark.parametrize("make", [low_rank, sparse])
def test_sums_with_arrays_are_arrays(make):
    X, other = make(), RNG.standard_normal((7, 5))
    D = np.asarray(X)
    for found, expected in (
        (X + other, D + other), (other + X, D + other), (X - other, D - other),
        (other - X, other - D),
    ):  # fmt: skip
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected)


def test_sparse_and_low_rank_matrices_add_up():
    S, X = sparse(), low_rank()
    np.testing.assert_allclose(S + X, np.asarray(S) + np.asarray(X))
    np.testing.assert_allclose(X - S, np.asarray(X) - np.asarray(S))
