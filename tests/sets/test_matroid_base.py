"""Matroid bases: both kinds of oracles, and what is no matroid."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from wolfpack.sets import Hypersimplex, MatroidBase, SpanningTree

EDGES = list(itertools.combinations(range(5), 2))


def forest(S) -> bool:
    """Tell whether the edges S of the complete graph on five nodes have no cycle."""
    group = list(range(5))
    for i in S:
        a, b = (group[v] for v in EDGES[i])
        if a == b:
            return False
        group = [b if g == a else g for g in group]
    return True


def forest_rank(S) -> int:
    best: tuple[int, ...] = ()
    for i in S:
        best = (*best, i) if forest((*best, i)) else best
    return len(best)


@pytest.mark.parametrize("fun", [forest, forest_rank, lambda S: np.bool_(forest(S))])
def test_rank_and_independence_give_the_same_bases(fun):
    K, trees = MatroidBase(fun, n=10), SpanningTree(EDGES)
    assert K.rank == 4
    G = np.random.default_rng(0).standard_normal((30, 10)).round(1)
    np.testing.assert_array_equal(K.lmo(G).to_dense(), trees.lmo(G).to_dense())
    assert K.radius == trees.radius
    assert K.contains(trees.start())


def test_the_uniform_matroid_is_the_hypersimplex():
    K, same = MatroidBase(lambda S: len(S) <= 3, n=8), Hypersimplex(8, 3)
    g = np.random.default_rng(1).standard_normal(8)
    np.testing.assert_array_equal(K.lmo(g).to_dense(), same.lmo(g).to_dense())
    assert K.diameter == pytest.approx(same.diameter)


def test_it_stops_asking_when_the_base_is_full():
    asked = []
    K = MatroidBase(lambda S: asked.append(S) or len(S) <= 1, n=50)
    asked.clear()
    K.lmo(np.arange(50.0))
    assert asked == [(0,)]


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (3, TypeError, "must be callable or a matrix of numbers, found int"),
        (lambda S: False, ValueError, r"must call the empty set \(\) independent"),
        (lambda S: 7, ValueError, r"rank_or_independence\(\(\)\) must be 0 .* found 7"),
        (lambda S: not S, ValueError, "no single element is independent"),
        # {0} is as large as it gets with 0, but {1, 2} is independent
        (lambda S: len(S) < 2 or set(S) == {1, 2}, ValueError, "equally large, found one of"),
    ],
)
def test_what_is_no_matroid_is_refused(fun, error, message):
    with pytest.raises(error, match=message):
        MatroidBase(fun, n=3)


def incidence() -> np.ndarray:
    """Return the matrix with a column e_a - e_b for each edge, whose matroid is the graph's."""
    A = np.zeros((5, 10))
    for i, (a, b) in enumerate(EDGES):
        A[a, i], A[b, i] = 1.0, -1.0
    return A


@pytest.mark.parametrize("scale", [1.0, 10.0 ** np.linspace(-150, 150, 10)], ids=["1", "many"])
def test_columns_of_a_matrix_with_linear_independence(scale):
    K, trees = MatroidBase(scale * incidence()), SpanningTree(EDGES)
    assert K.shape == (10,)
    assert K.rank == 4
    G = np.random.default_rng(2).standard_normal((30, 10)).round(1)
    np.testing.assert_array_equal(K.lmo(G).to_dense(), trees.lmo(G).to_dense())
    again = pickle.loads(pickle.dumps(K))
    np.testing.assert_array_equal(again.lmo(G).to_dense(), K.lmo(G).to_dense())


def test_loops_and_parallel_elements_of_a_matrix():
    K = MatroidBase([[0, 1, 3], [0, 2, 6]])
    assert K.rank == 1
    np.testing.assert_array_equal(K.lmo(np.array([-9.0, 1.0, 0.0])).to_dense(), [0, 0, 1])


class Pairs:
    """At most two of the elements: a matroid that knows how many it has."""

    def __len__(self):
        return 6

    def __call__(self, S):
        return len(S) <= 2


def test_a_callable_with_a_length_needs_no_number_of_elements():
    assert MatroidBase(Pairs()).shape == MatroidBase(Pairs(), 6).shape == (6,)
    with pytest.raises(ValueError, match="n must be the length 6 of rank_or_independence, found 5"):
        MatroidBase(Pairs(), 5)
    with pytest.raises(ValueError, match="n, the number of elements, must be given"):
        MatroidBase(lambda S: len(S) <= 2)


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        ([1.0, 2.0], TypeError, r"a matrix of numbers, found an array of shape \(2,\)"),
        (np.zeros((2, 0)), ValueError, "n must be at least 1, found 0"),
        (np.zeros((2, 3)), ValueError, "no single element is independent"),
        ([[1.0, np.nan]], ValueError, "rank_or_independence has 1 NaN or infinite entries"),
        ([["a", "b"]], TypeError, "a matrix of numbers"),
    ],
)
def test_matrices_without_a_matroid_are_refused(matrix, error, message):
    with pytest.raises(error, match=message):
        MatroidBase(matrix)


def test_a_matroid_has_at_least_one_element():
    with pytest.raises(ValueError, match="n must be at least 1, found 0"):
        MatroidBase(lambda S: True, n=0)
    with pytest.raises(ValueError, match="n must be a positive integer"):
        MatroidBase(lambda S: True, n=(2, 2))
