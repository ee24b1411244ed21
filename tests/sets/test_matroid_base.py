"""Matroid bases: both kinds of oracles, and what is no matroid."""

from __future__ import annotations

import itertools

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
        (3, TypeError, "rank_or_independence must be callable, found int"),
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


def test_a_matroid_has_at_least_one_element():
    with pytest.raises(ValueError, match="n must be at least 1, found 0"):
        MatroidBase(lambda S: True, n=0)
    with pytest.raises(ValueError, match="n must be a positive integer"):
        MatroidBase(lambda S: True, n=(2, 2))
