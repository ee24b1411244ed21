"""Multi-commodity flows: routing, negative costs, capacities, membership and refusals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack.problem import CapabilityError
from wolfpack.sets import FlowPolytope, _routing


def network(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a strongly connected graph with parallel edges and loops, and a demand matrix."""
    ring = np.array([(i, (i + 1) % n) for i in range(n)])
    edges = np.concatenate([ring, rng.integers(0, n, (3 * n, 2))])
    return rng.permutation(edges), rng.random((n, n)) * (rng.random((n, n)) < 0.4)


def distances(edges: np.ndarray, cost: np.ndarray, n: int) -> np.ndarray:
    """Return all shortest distances by Floyd and Warshall's algorithm."""
    d = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    np.minimum.at(d, tuple(edges.T), cost)
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


@pytest.mark.parametrize("cells", [1, 2**22])
@pytest.mark.parametrize("negative", [False, True])
def test_every_demand_travels_at_the_shortest_distance(monkeypatch, cells, negative):
    monkeypatch.setattr(_routing, "_MAX_DISTANCES", cells)  # one origin at a time, or all at once
    for seed in range(8):
        rng = np.random.default_rng(seed)
        edges, demand = network(9, rng)
        np.fill_diagonal(demand, 0.0)
        K = FlowPolytope((edges[:, 0], edges[:, 1]), demand)
        cost = np.round(rng.random(len(edges)), 1)  # with zeros and ties
        if negative:  # potentials make costs negative, and no cycle
            potential = rng.integers(-3, 4, 9) / 2
            cost = cost + potential[edges[:, 0]] - potential[edges[:, 1]]
        x = K.lmo(cost)
        assert x.dot(cost) == pytest.approx((distances(edges, cost, 9) * demand).sum(), abs=1e-11)
        assert K.violation(x.to_dense()) <= 1e-12
        assert K.certify(cost, x) == pytest.approx(x.dot(cost), abs=1e-9)


def test_a_long_tree_is_loaded_from_its_leaves():
    n = 2000
    K = FlowPolytope([(i, i + 1) for i in range(n)], [(0, i, 1.0) for i in range(1, n + 1)])
    np.testing.assert_array_equal(K.start(), np.arange(n, 0.0, -1.0))


def test_the_first_of_the_cheapest_parallel_edges_carries_the_flow():
    K = FlowPolytope([(0, 1), (0, 1), (0, 1)], [(0, 1, 2.0)])
    np.testing.assert_array_equal(K.lmo(np.array([3.0, 1.0, 1.0])).to_dense(), [0, 2, 0])
    np.testing.assert_array_equal(K.lmo(np.array([0.0, -1.0, 0.0])).to_dense(), [0, 2, 0])
    np.testing.assert_array_equal(K.lmo(np.zeros(3)).to_dense(), [2, 0, 0])


def test_answers_are_sparse_and_padded():
    K = FlowPolytope([(0, 1), (1, 2), (0, 2)], [(0, 2, 1.0)])
    answers = K.lmo(np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(answers.to_dense(), [[1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(answers.norms_squared(), [2, 1])
    assert K.lmo(np.array([1.0, 1.0, 0.0])).indices.tolist() == [2]


TWO_WAY = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)]


def test_a_negative_cycle_asks_for_capacities():
    K = FlowPolytope(TWO_WAY, [(0, 2, 2.0)])
    g = np.array([-1.0, 0.5, 1.0, 1.0, 0.25])
    with pytest.raises(CapabilityError, match=r"cycle of negative cost.*capacity=\.\.\. \(2, the"):
        K.lmo(g)
    bounded = FlowPolytope(TWO_WAY, [(0, 2, 2.0)], capacity=2.0)
    x = bounded.lmo(g)
    # both units around the cycle (-1 + 0.5 each) on top of 2 units on the direct edge
    np.testing.assert_allclose(x.to_dense(), [2, 2, 0, 0, 2], atol=1e-9)
    assert bounded.certify(g, x) == pytest.approx(-0.5, abs=1e-9)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_a_cycle_of_cost_zero_is_not_negative_by_rounding(size):
    edges = list(itertools.permutations(range(5), 2))
    K = FlowPolytope(edges, [(0, 4, 1.0)])
    for seed in range(20):
        potential = size * np.random.default_rng(seed).standard_normal(5)
        g = np.array([potential[a] - potential[b] for a, b in edges])  # every cycle costs 0
        assert K.lmo(g).dot(g) == pytest.approx(potential[0] - potential[4], abs=1e-14 * size)


def test_capacities_bind_when_the_cheapest_path_is_too_small():
    K = FlowPolytope([(0, 1), (0, 1)], [(0, 1, 3.0)], capacity=[2.0, 5.0])
    g = np.array([1.0, 4.0])
    np.testing.assert_allclose(K.lmo(g).to_dense(), [2.0, 1.0], atol=1e-9)
    assert K.certify(g, K.lmo(g)) == pytest.approx(6.0, abs=1e-9)
    np.testing.assert_allclose(K.lmo(-g).to_dense(), [0.0, 3.0], atol=1e-9)
    assert K.radius == pytest.approx(29**0.5)
    assert K.contains(np.array([1.0, 2.0]))
    assert not K.contains(np.array([2.5, 0.5]))


def test_membership_tells_the_demands_apart():
    edges = [(0, 2), (1, 2), (2, 3), (2, 4), (0, 4), (1, 3)]
    K = FlowPolytope(edges, [(0, 3, 1.0), (1, 4, 1.0)])
    # every node's balance is right, but 0 -> 4 and 1 -> 3 are nobody's trips
    crossed = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    assert K.violation(crossed) > 0.1
    assert K.contains(np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))
    assert not K.contains(np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.1]))
    assert not K.contains(np.array([1.0, 1.0, 1.0, np.inf, 0.0, 0.0]))


def test_a_demand_matrix_is_the_list_of_its_entries():
    triples = [(0, 1, 1.0), (0, 2, 2.0), (1, 0, 0.5), (2, 2, 9.0)]
    matrix = np.array([[0, 1, 2], [0.5, 0, 0], [0, 0, 9.0]])
    edges = list(itertools.permutations(range(3), 2))
    graph = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    g = np.arange(1.0, 7.0)
    expected = FlowPolytope(edges, triples).lmo(g).to_dense()
    for network, demands in ((edges, matrix), (graph, sparse.csr_array(matrix)), (graph, triples)):
        np.testing.assert_array_equal(FlowPolytope(network, demands).lmo(g).to_dense(), expected)
    twice = [(0, 1, 0.25), (0, 1, 0.75), *triples[1:]]
    np.testing.assert_array_equal(FlowPolytope(edges, twice).lmo(g).to_dense(), expected)


def test_points_stay_within_the_radius_and_the_diameter():
    edges, demand = network(6, np.random.default_rng(1))
    K = FlowPolytope(edges, demand)
    costs = np.random.default_rng(2).random((200, len(edges)))
    points = K.lmo(costs).to_dense()
    assert np.linalg.norm(points, axis=1).max() <= K.radius
    assert np.linalg.norm(points[:, None] - points, axis=2).max() <= K.diameter


@pytest.mark.parametrize(
    ("demands", "capacity", "message"),
    [
        ([(0, 3, 1.0)], None, "no path leads from 0 to 3"),
        ([(0, 7, 1.0)], None, "demands: destination must be a node of the graph, found 7"),
        ([(8, 1, 1.0)], None, "demands: origin must be a node of the graph, found 8"),
        ([(0, 1, -1.0)], None, r"finite and not negative, found \(0, 1, -1\.0\)"),
        ([(0, 1, np.nan)], None, "finite and not negative"),
        ([(0, 1)], None, r"triples \(origin, destination, amount\) .*, found \(0, 1\)"),
        ([(0, 1, "x")], None, "triples"),
        ([3], None, "triples .* found 3"),
        ([], None, "positive amount between different nodes, found none"),
        ([(0, 0, 1.0)], None, "positive amount between different nodes, found none"),
        (np.ones((2, 3)), None, r"triples or a square matrix, found \(2, 3\)"),
        ([(0, 1, 1.0)], -1.0, "capacity must not be negative, found 1"),
        ([(0, 1, 1.0)], [1.0], r"capacity must be a number or one per edge \(3\), found \(1,\)"),
        ([(0, 1, 1.0)], np.inf, "capacity has 1 NaN or infinite"),
        ([(0, 1, 1.0)], 0.5, "capacity is too small for the demands"),
    ],
)
def test_what_is_no_routing_problem_is_refused(demands, capacity, message):
    with pytest.raises(ValueError, match=message):
        FlowPolytope([(0, 1), (1, 2), (3, 1)], demands, capacity)


def test_answers_are_not_checked_by_linear_programs(monkeypatch):
    f = wp.objectives.BPR(np.ones(4), np.ones(4))
    K = FlowPolytope([(0, 1), (0, 2), (1, 3), (2, 3)], [(0, 3, 1.0)])
    monkeypatch.setattr(FlowPolytope, "violation", None)
    assert wp.minimize(f, K, method="corrective", m=4, tol=1e-6).success


def test_kept_answers_are_minimisers_unless_a_cycle_is_negative():
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")]
    K = wp.sets.FlowPolytope(edges, [("a", "c", 2.0)])
    costs = np.array([[-1.0, -1.0, -0.5, 3.0], [-1.0, -1.0, -0.5, 1.0]])
    through, direct = K.lmo_or_nearby(costs).to_dense()
    assert through.tolist() == [2.0, 2.0, 0.0, 0.0]
    assert set(direct.tolist()) <= {0.0, 2.0}  # any routing: the cycle a-b-c-a costs -1
    assert K.certify(costs[0], K.lmo_or_nearby(-costs[:1]).take(0)) <= -4.0
