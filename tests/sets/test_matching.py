"""Matchings: graphs of all kinds, and what is said of graphs that have none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from contracts.graphs import matching_vectors
from wolfpack import sets
from wolfpack.problem import CapabilityError

TRIANGLE = [(0, 1), (1, 2), (2, 0)]
SQUARE = [("a", 1), (1, "b"), ("b", 2), (2, "a")]


def random_graph(rng, nodes, edges):
    """Return edges between any nodes; some are parallel and some are loops."""
    return [tuple(rng.integers(0, nodes, 2).tolist()) for _ in range(edges)]


@pytest.mark.parametrize("seed", range(25))
def test_the_best_matching_of_any_small_graph(seed):
    rng = np.random.default_rng(seed)
    edges = [*random_graph(rng, 6, 8), (0, 1)]
    K, vertices = sets.Matching(edges), matching_vectors(edges)
    for g in rng.integers(-3, 3, (4, len(edges))).astype(float):
        vertex = K.lmo(g)
        assert (vertices == vertex.to_dense()).all(axis=1).any()
        assert vertex.dot(g) == pytest.approx((vertices @ g).min(), abs=1e-9)
        assert K.certify(g, vertex) <= (vertices @ g).min() + 1e-12
        # the bound is one on the set, whatever the vertex
        other = K.lmo(-g)
        assert K.certify(g, other) == pytest.approx((vertices @ g).min(), abs=1e-9)
    assert K.radius**2 == pytest.approx(vertices.sum(axis=1).max())
    assert K.contains(K.start())
    assert K.contains(rng.dirichlet(np.ones(len(vertices))) @ vertices)


def test_of_parallel_edges_the_cheapest_and_then_the_first_is_taken():
    K = sets.Matching([(0, 1), (1, 0), (0, 1)])
    assert np.asarray(K.lmo(np.array([-1.0, -3.0, -2.0]))).tolist() == [0, 1, 0]
    assert np.asarray(K.lmo(np.array([-1.0, -2.0, -2.0]))).tolist() == [0, 1, 0]
    assert sets.Matching([(0, 1), (1, 0)], perfect=True).lmo(np.ones(2)).to_dense().sum() == 1


def test_odd_sets_count_where_degrees_do_not_tell():
    K = sets.Matching(TRIANGLE)
    assert not K.bipartite
    assert K.contains(np.full(3, 1 / 3))
    assert not K.contains(np.full(3, 1 / 2))  # every node has degree 1
    with pytest.raises(CapabilityError, match="bipartite graphs have"):
        K.polyhedron()


def test_bipartite_graphs_are_recognised_in_parts():
    assert sets.Matching(SQUARE).bipartite
    assert sets.Matching([*SQUARE, (7, 8)]).bipartite
    assert not sets.Matching([*SQUARE, *TRIANGLE]).bipartite
    assert sets.Matching([*SQUARE, ("a", "a")]).bipartite  # a loop is in no matching


def test_perfect_matchings_of_graphs_that_are_not_bipartite():
    edges = [*TRIANGLE, (2, 3), (0, 3)]
    K = sets.Matching(edges, perfect=True)
    vertices = matching_vectors(edges, perfect=True)
    for g in np.random.default_rng(0).standard_normal((5, 5)):
        assert K.lmo(g).dot(g) == pytest.approx((vertices @ g).min())


def test_a_zero_direction_has_a_perfect_answer():
    # a table of equal costs must not be filled outside the graph
    K = sets.Matching([(0, 5), (1, 4), (1, 5), (2, 3), (2, 4)], perfect=True)
    assert K.lmo(np.zeros(5)).to_dense().sum() == 3


def test_a_matrix_and_pairs_are_one_graph():
    matrix = sparse.csr_array(np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]]))
    g = np.array([-1.0, -2.0])
    pairs = sets.Matching([(0, 1), (0, 2)])
    np.testing.assert_array_equal(sets.Matching(matrix).lmo(g), pairs.lmo(g))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 3), (1, 3)], "sides of 2 and 1 nodes"),
        ([(0, 3), (1, 3), (2, 4), (2, 5)], "at most 4 of 6 nodes"),
        (TRIANGLE, "perfect matching, found none"),
    ],
)
def test_graphs_without_a_perfect_matching_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        sets.Matching(edges, perfect=True)


def test_loops_alone_are_refused():
    with pytest.raises(ValueError, match="loops alone"):
        sets.Matching([(1, 1)])


@pytest.mark.parametrize("perfect", [False, True])
def test_points_near_the_polytope_are_made_feasible(perfect):
    edges = [(a, 4 + b) for a in range(4) for b in range(4)]
    K, rng = sets.Matching(edges, perfect=perfect), np.random.default_rng(0)
    for _ in range(5):
        x = K.lmo(rng.standard_normal((3, 16))).mean()
        z = x + 1e-6 * rng.standard_normal(16)
        rounded = K.polyhedron().round(z)
        assert not K.contains(z)
        assert K.contains(rounded, 1e-12 if not perfect else 1e-9)
        np.testing.assert_allclose(rounded, x, rtol=0, atol=2e-5)
