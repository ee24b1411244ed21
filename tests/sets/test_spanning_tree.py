"""Spanning trees: counts, laws and extremes that the contract suite does not see."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from wolfpack.sets import SpanningTree


def complete(n: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def all_trees(edges) -> np.ndarray:
    """List the spanning trees: subsets of edges whose incidence matrix has full rank."""
    nodes = sorted({v for edge in edges for v in edge})
    incidence = np.array([[(a == v) - float(b == v) for v in nodes[1:]] for a, b in edges])
    subsets = itertools.combinations(range(len(edges)), len(nodes) - 1)
    found = [s for s in subsets if abs(np.linalg.det(incidence[list(s)])) > 0.5]
    return np.array([np.isin(np.arange(len(edges)), s).astype(float) for s in found])


def test_trees_are_counted_by_cayleys_formula():
    for n in (2, 3, 9, 40):
        assert SpanningTree(complete(n)).log_count == pytest.approx(
            (n - 2) * math.log(n), abs=1e-11
        )
    bipartite = [(i, 10 + j) for i in range(4) for j in range(6)]
    assert SpanningTree(bipartite).log_count == pytest.approx(math.log(4**5 * 6**3), rel=1e-13)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 0.3, 10.0])
def test_marginals_are_those_of_all_trees(alpha):
    edges = [*complete(5), (0, 1), (3, 4), (2, 2)]
    trees = all_trees(edges)
    K = SpanningTree(edges)
    for seed in range(5):
        y = np.random.default_rng(seed).standard_normal(K.shape)
        score = trees @ y / alpha
        law = np.exp(score - logsumexp(score))
        np.testing.assert_allclose(K.smoothed(y, alpha), law @ trees, rtol=0, atol=1e-10)
        assert K.smoothed_support(y, alpha) == pytest.approx(alpha * logsumexp(score), rel=1e-12)


def test_equal_edges_keep_equal_probabilities_below_a_wide_gap():
    # 0-1 for sure; then three equal edges towards 2, each with probability 1/3
    K = SpanningTree([(0, 1), (0, 2), (1, 2), (1, 2)])
    for gap in (1e3, 1e9, 1e200):
        x = K.smoothed(np.array([0.0, -gap, -gap, -gap]), 1e-3)
        np.testing.assert_allclose(x, [1.0, 1 / 3, 1 / 3, 1 / 3], rtol=1e-14)


@pytest.mark.parametrize("alpha", [1e-300, 1e-9, 1e-7, 1e-5, 1e-2, 1e6])
def test_the_smoothed_argmax_is_a_point_of_the_polytope_for_any_smoothing(alpha):
    K = SpanningTree(complete(12))
    y = np.random.default_rng(3).standard_normal(K.shape)
    for direction in (y, np.round(2 * y), 1e100 * y):
        x = K.smoothed(direction, alpha)
        assert x.sum() == pytest.approx(11, rel=1e-14)
        assert K.violation(x) <= 1e-12
        rise = K.smoothed_support(direction, alpha) - K.support(direction)
        assert -1e-12 * K.support(direction) <= rise
        assert rise <= alpha * K.log_count + 1e-12 * K.support(direction)


@pytest.mark.parametrize("alpha", [0.05, 0.7])
def test_draws_follow_the_law_of_the_trees(alpha):
    edges = [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (3, 1), (1, 2), (3, 4), (2, 4)]
    trees = all_trees(edges)
    K = SpanningTree(edges)
    y = np.random.default_rng(4).standard_normal(K.shape)
    law = np.exp(trees @ y / alpha - logsumexp(trees @ y / alpha))
    samples = 200_000
    draws = K.draw(y, alpha, samples, np.random.default_rng(5)).to_dense()
    powers = 2.0 ** np.arange(len(edges))
    place = np.argsort(trees @ powers)
    names = (trees @ powers)[place]
    assert np.isin(draws @ powers, names).all()
    frequency = np.bincount(names.searchsorted(draws @ powers), minlength=len(trees)) / samples
    error = np.sqrt(law[place] * (1 - law[place]) / samples)
    # several hundred trees are compared: 5 standard errors
    assert np.all(abs(frequency - law[place]) <= 5 * error + 5 / samples)


def test_zero_and_negative_weights_are_weights():
    K = SpanningTree(complete(4))
    np.testing.assert_array_equal(K.lmo(np.zeros(6)).to_dense(), [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(K.lmo(-np.arange(6.0)).to_dense(), [0, 0, 1, 0, 1, 1])
    np.testing.assert_array_equal(K.lmo(np.array([0, 0, 5.0, -1, 0, 0])).indices, [0, 3, 4])


def test_a_matrix_has_each_pair_once():
    tails, heads = np.array([(0, 1), (1, 2), (2, 0), (3, 0)]).T
    upper = sparse.coo_array((np.zeros(4), (tails, heads)), shape=(4, 4))
    ends = (np.append(tails, heads), np.append(heads, tails))
    both = sparse.coo_array((np.arange(8.0), ends), shape=(4, 4))
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2)]
    for graph in (upper, upper.tocsc(), upper.T, both):
        K = SpanningTree(graph)
        assert list(zip(K.graph.tails.tolist(), K.graph.heads.tolist(), strict=True)) == pairs


def test_a_tree_is_a_point():
    K = SpanningTree([("a", "b"), ("b", "c"), ("c", "c")])
    assert K.diameter == 0.0
    assert K.log_count == 0.0
    np.testing.assert_array_equal(K.start(), [1, 1, 0])


def test_membership_sees_a_cycle_that_is_used_too_much():
    # sums to 3 and lies in [0, 1], but the triangle 0-1-2 carries more than 2
    K = SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3), (1, 3)])
    assert not K.contains(np.array([0.8, 0.8, 0.8, 0.3, 0.3]))
    assert K.contains(np.array([0.6, 0.6, 0.7, 0.55, 0.55]))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([(0, 1), (2, 3)], "connected, found 2 components: no path joins 0 and 2"),
        (sparse.csr_array(np.diag([1.0, 0.0], k=1)), "connected, found 2 components"),
        ([], "graph must have at least one edge"),
        ([("a", "a")], "at least two nodes"),
        ([(0, 1, 2)], "graph must be pairs"),
    ],
)
def test_what_is_not_a_connected_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        SpanningTree(graph)
