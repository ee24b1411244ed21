"""Prices: how a minimum changes with the right-hand sides, against differences of minima."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wolfpack as wp

sets = wp.sets
A_UB, A_EQ = np.array([[1.0, 2.0, 0.5], [0.3, 0.1, 1.0]]), np.array([[1.0, 1.0, 1.0]])
EDGES = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3)]


def program(b_ub: Any, b_eq: Any, upper: Any) -> wp.sets.LinearProgram:
    bounds = np.column_stack([np.zeros(3), np.broadcast_to(upper, 3)])
    return sets.LinearProgram(A_ub=A_UB, b_ub=b_ub, A_eq=A_EQ, b_eq=b_eq, bounds=bounds)


SETS: dict[str, tuple[Callable[[Any], Any], Any, Callable[[Any], Any]]] = {
    # the set as a function of a right-hand side, that side, and its price among the prices
    "simplex": (lambda r: sets.Simplex(4, r), 2.0, lambda p: p["radius"]),
    "unit simplex": (lambda r: sets.UnitSimplex(4, r), 2.0, lambda p: p["radius"]),
    "capped": (lambda t: sets.CappedSimplex(4, 0.4, t), 1.0, lambda p: p["total"]),
    "caps": (lambda c: sets.CappedSimplex(4, c), np.full(4, 0.4), lambda p: p["cap"]),
    "box": (lambda u: sets.Box(-np.ones(4), u), np.ones(4), lambda p: p["upper"]),
    "lower": (lambda low: sets.Box(low, np.ones(4)), -np.ones(4), lambda p: p["lower"]),
    "l1": (lambda r: sets.L1Ball(4, r), 2.0, lambda p: p["radius"]),
    "l2": (lambda r: sets.L2Ball(4, r), 2.0, lambda p: p["radius"]),
    "linf": (lambda r: sets.LinfBall(4, r), 2.0, lambda p: p["radius"]),
    "lp": (lambda r: sets.LpBall(4, 3.0, r), 2.0, lambda p: p["radius"]),
    "k-sparse": (lambda r: sets.KSparse(4, 2, r), 2.0, lambda p: p["radius"]),
    "trace norm": (lambda r: sets.TraceNormBall((3, 4), r), 2.0, lambda p: p["radius"]),
    "spectrahedron": (lambda r: sets.Spectrahedron(3, r), 2.0, lambda p: p["trace"]),
    "knapsack": (lambda c: sets.Knapsack(np.array([3.0, 2.0]), c), 2.5, lambda p: p["capacity"]),
    "scaled": (lambda r: sets.Scale(sets.Simplex(4, r), 3.0), 2.0, lambda p: p["radius"]),
    "moved": (lambda r: sets.Translate(sets.L2Ball(4, r), np.ones(4)), 2.0, lambda p: p["radius"]),
    "image": (lambda r: sets.Image(A_UB, sets.L2Ball(3, r)), 2.0, lambda p: p["radius"]),
    "product": (
        lambda r: sets.Product(sets.Simplex(2), sets.L1Ball(2, r)),
        2.0,
        lambda p: p["part 1"]["radius"],
    ),
    "b_ub": (lambda b: program(b, [1.0], 0.8), np.array([1.2, 0.5]), lambda p: p["b_ub"]),
    "b_eq": (lambda b: program([1.2, 0.5], b, 0.8), np.array([1.0]), lambda p: [p["b_eq"]]),
    "upper": (lambda u: program([1.2, 0.5], [1.0], u), np.full(3, 0.8), lambda p: p["upper"]),
    "capacity": (
        lambda c: sets.FlowPolytope(EDGES, [(0, 3, 2.0), (1, 3, 1.0)], capacity=c),
        np.full(5, 1.7),
        lambda p: p["capacity"],
    ),
}


def least(K: Any, g: np.ndarray) -> float:
    return -K.support(-g)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_prices_are_derivatives_of_the_minimum(name: str, seed: int) -> None:
    make, right, price_of = SETS[name]
    K = make(right)
    g = np.random.default_rng(seed).normal(size=K.shape)
    found, h = np.asarray(price_of(K.prices(g))), 1e-5
    for at in np.ndindex(*np.shape(right)):
        step = np.zeros(np.shape(right))
        step[at] = h
        # at a kink the price is between the slopes on both sides
        here = least(K, g)
        above, below = least(make(right + step), g), least(make(right - step), g)
        slopes = [(above - here) / h, (here - below) / h]
        assert min(slopes) - 1e-6 <= found[at] <= max(slopes) + 1e-6


@pytest.mark.parametrize("K", [sets.Birkhoff(4), sets.TransportPolytope([1.0, 2.0], [0.5, 2.5])])
def test_potentials_prove_the_minimum_of_marginals(K: Any) -> None:
    g = np.random.default_rng(3).normal(size=K.shape)
    prices = K.prices(g)
    assert (prices["rows"][:, None] + prices["columns"][None, :] <= g + 1e-9).all()
    assert K.a @ prices["rows"] + K.b @ prices["columns"] == pytest.approx(least(K, g))


def test_prices_of_nodes_are_lengths_of_shortest_paths() -> None:
    g = np.array([1.0, 1.0, 5.0, 4.0, 1.0])
    assert sets.DagFlow(EDGES, 0, 3).prices(g)["nodes"].tolist() == [0.0, 1.0, 2.0, 3.0]
    K = sets.FlowPolytope(EDGES, [(0, 3, 2.0), (1, 3, 1.0)])
    nodes = K.prices(g)["nodes"]
    np.testing.assert_array_equal(nodes, [[0, 1, 2, 3], [np.inf, 0, 1, 2]])
    assert 2.0 * nodes[0, 3] + nodes[1, 3] == least(K, g)


def test_node_prices_with_capacities_are_derivatives_by_the_demand() -> None:
    g, h = np.array([1.0, 1.0, 2.5, 4.0, 1.0]), 1e-5

    def make(amount: float) -> Any:
        return sets.FlowPolytope(EDGES, [(0, 3, amount), (1, 3, 1.0)], capacity=np.full(5, 1.7))

    slope = (least(make(2.0 + h), g) - least(make(2.0 - h), g)) / (2.0 * h)
    assert make(2.0).prices(g)["nodes"][0, 3] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("method", ["auto", "corrective", "fw-ls", "anytime"])
def test_duals_of_a_run_are_derivatives_of_its_minimum(method: str) -> None:
    A = np.random.default_rng(5).normal(size=(6, 3))

    def solve(b: float) -> wp.Result:
        f = wp.objectives.LeastSquares(A, np.full(6, 2.0))
        K = program([b, 0.5], [1.0], 0.8)
        return wp.minimize(f, K, method=method, tol=1e-5 if method == "anytime" else 1e-9)

    res, h = solve(1.0), 1e-3
    assert res.duals is not None
    slope = (solve(1.0 + h).fun - solve(1.0 - h).fun) / (2.0 * h)
    assert res.duals["b_ub"][0] == pytest.approx(slope, abs=5e-2 if method == "anytime" else 1e-2)
    assert res.duals is res.duals


def test_duals_of_a_ball_and_of_sets_without_prices() -> None:
    f = wp.objectives.Quadratic(1.0, -np.array([3.0, 4.0]))
    res = wp.minimize(f, sets.L2Ball(2), tol=1e-10)
    # (5 - r)^2/2 falls by 5 - r
    assert res.duals == {"radius": pytest.approx(-4.0, abs=1e-4)}
    assert "priced" not in repr(res)
    assert wp.minimize(f, sets.ConvexHull(np.eye(2))).duals is None
    with pytest.raises(wp.CapabilityError, match="prices"):
        sets.ConvexHull(np.eye(2)).prices(np.ones(2))
