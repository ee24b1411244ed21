"""Flows on graphs without cycles: what the contract suite does not see."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from wolfpack.sets import DagFlow


def grid(n: int, m: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    nodes = itertools.product(range(n + 1), range(m + 1))
    steps = [(((i, j), (i + 1, j)), ((i, j), (i, j + 1))) for i, j in nodes]
    return [(a, b) for pair in steps for a, b in pair if b[0] <= n and b[1] <= m]


def test_the_paths_of_a_grid_are_counted_by_a_binomial_coefficient():
    K = DagFlow(grid(4, 6), (0, 0), (4, 6))
    assert K.log_count == pytest.approx(math.log(math.comb(10, 4)), rel=1e-14)
    assert K.radius == math.sqrt(10)
    # by symmetry each of the two first edges carries the share of the paths that begin with it
    first = [i for i, edge in enumerate(grid(4, 6)) if edge[0] == (0, 0)]
    np.testing.assert_allclose(sorted(K.start()[first]), [0.4, 0.6], rtol=1e-14)


def test_more_paths_than_floats_can_count():
    steps = 3000
    edges = [(i, i + 1) for i in range(steps) for _ in range(3)]
    K = DagFlow(edges, 0, steps)
    assert K.log_count == pytest.approx(steps * math.log(3), rel=1e-13)
    y = np.random.default_rng(0).standard_normal(K.shape)
    # the steps are independent: a softmax each
    weights = np.exp(y.reshape(-1, 3) / 0.1)
    shares = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(K.smoothed(y, 0.1), shares.reshape(-1), atol=1e-12)
    assert K.smoothed_support(y, 0.1) == pytest.approx(
        0.1 * np.log(weights.sum(1)).sum(), rel=1e-12
    )


@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 1e-3, 1.0, 1e12])
def test_the_smoothed_argmax_is_a_flow_for_any_smoothing(alpha):
    K = DagFlow(grid(12, 12), (0, 0), (12, 12))
    for scale in (1e-100, 1.0, 1e100):
        y = scale * np.random.default_rng(1).standard_normal(K.shape)
        assert K.violation(K.smoothed(y, alpha)) <= 1e-14


def test_draws_follow_the_law_of_the_paths():
    edges = [(0, 1), (0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (0, 3)]
    K = DagFlow(edges, 0, 3)
    y = np.random.default_rng(2).standard_normal(K.shape)
    draws, counts = np.unique(
        K.draw(y, 0.7, 100_000, np.random.default_rng(3)).to_dense(), axis=0, return_counts=True
    )
    law = np.exp(draws @ y / 0.7)
    assert len(draws) == round(math.exp(K.log_count)) == 6
    law /= law.sum()
    error = np.sqrt(law * (1 - law) / 100_000)
    assert np.all(abs(counts / 100_000 - law) <= 4 * error)


def test_of_equally_short_paths_the_one_with_the_first_edges_is_taken():
    edges = [(0, 2), (0, 1), (1, 3), (2, 3), (2, 3)]
    assert K_edges(DagFlow(edges, 0, 3).lmo(np.zeros(5))) == [0, 3]
    assert K_edges(DagFlow(edges[::-1], 0, 3).lmo(np.zeros(5))) == [2, 3]


def K_edges(vertex) -> list[int]:
    return np.flatnonzero(np.asarray(vertex)).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_one_direction_gets_the_answer_that_it_gets_in_a_batch(seed):
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, 12, (60, 2)), axis=1)
    edges = [(0, 11), *((int(a), int(b)) for a, b in pairs if a < b)]  # many of them parallel
    K = DagFlow(edges, 0, 11)
    n = len(edges)
    # with ties, with zeros, and with negative costs
    g = np.vstack([rng.integers(0, 3, (4, n)), rng.random((2, n)), rng.standard_normal((2, n))])
    expected = K.lmo(g).to_dense()
    for direction, path in zip(g, expected, strict=True):
        np.testing.assert_array_equal(K.lmo(direction).to_dense(), path)
        np.testing.assert_array_equal(K.lmo(direction[None]).to_dense()[0], path)


def test_paths_of_different_lengths_are_padded_with_zeros():
    K = DagFlow([(0, 1), (1, 2), (2, 3), (0, 3)], 0, 3)
    answers = K.lmo(np.array([[-1.0, 0, 0, 0], [0, 0, 0, -1.0]]))
    np.testing.assert_array_equal(answers.to_dense(), [[1, 1, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(answers.norms_squared(), [3, 1])
    assert K.lmo(np.array([0, 0, 0, -1.0])).indices.tolist() == [3]


def test_edges_may_be_pairs_arrays_or_a_matrix():
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    tails, heads = np.array(pairs).T
    matrix = sparse.csr_array((np.zeros(4), (tails, heads)), shape=(4, 4))
    g = np.array([1.0, 2.0, 5.0, 3.0])
    for edges in (pairs, np.array(pairs), (tails, heads), matrix, [map(str, e) for e in pairs]):
        ends = ("0", "3") if isinstance(edges, list) and edges is not pairs else (0, 3)
        assert K_edges(DagFlow(edges, *ends).lmo(g)) == [1, 3]


def test_one_path_alone_is_a_point():
    K = DagFlow([("a", "b"), ("b", "c"), ("b", "d")], "a", "c")
    assert K.diameter == 0.0
    assert K.log_count == 0.0
    np.testing.assert_array_equal(K.start(), [1, 1, 0])


@pytest.mark.parametrize(
    ("edges", "source", "target", "message"),
    [
        (
            [(0, 1), (1, 2), (2, 1), (2, 3)],
            0,
            3,
            r"edges must not contain a cycle, found 1 -> 2 -> 1",
        ),
        ([(0, 1), (1, 1), (1, 2)], 0, 2, r"cycle, found 1 -> 1"),
        ([(0, 1), (2, 3)], 0, 3, r"target 3 cannot be reached from 0"),
        ([(0, 1)], 1, 0, r"target 0 cannot be reached from 1"),
        ([(0, 1)], 0, 0, r"source and target must differ, found 0"),
        ([(0, 1)], 5, 1, r"source must be a node of the graph, found 5"),
        ([(0, 1)], 0, [1], r"target must be a node of the graph, found \[1\]"),
        ([], 0, 1, r"edges must have at least one edge"),
        ([(0, 1, 2)], 0, 1, r"edges must be pairs \(tail, head\).*found \(0, 1, 2\)"),
        (np.zeros((2, 3)), 0, 1, r"found an array of shape \(2, 3\)"),
        ((np.array([0, 1]), np.array([1])), 0, 1, r"as many tails as heads, found 2 and 1"),
        (sparse.csr_array((2, 3)), 0, 1, r"square matrix, found shape \(2, 3\)"),
    ],
)
def test_what_is_not_a_flow_problem_is_refused(edges, source, target, message):
    with pytest.raises(ValueError, match=message):
        DagFlow(edges, source, target)


@pytest.mark.parametrize("edges", [3, [1, 2], [([], 1)]])
def test_what_are_no_edges_is_refused(edges):
    with pytest.raises(TypeError, match="edges"):
        DagFlow(edges, 0, 1)
