"""Branch and bound against enumeration."""

from __future__ import annotations

import itertools
import math
import os

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.solvers.integer.tree import BRANCHINGS, SEARCHES


def grid(low, high, n):
    return (np.array(p, dtype=float) for p in itertools.product(range(low, high + 1), repeat=n))


def random_quadratic(rng, n):
    A = rng.standard_normal((n + 2, n))
    return wp.objectives.LeastSquares(A, A @ rng.uniform(-2, 2, n) + rng.standard_normal(n + 2))


def box(rng):
    K = wp.sets.Box(np.full(4, -2.4), np.full(4, 1.7))
    return random_quadratic(rng, 4), K, None, grid(-2, 1, 4)


def hypersimplex(rng):
    points = (p for p in grid(0, 1, 7) if p.sum() == 3)
    return random_quadratic(rng, 7), wp.sets.Hypersimplex(7, 3), None, points


def capped(rng):
    K = wp.sets.CappedSimplex(4, cap=[2.0, 3.0, 1.0, 2.0], total=4.0)
    points = (p for p in grid(0, 3, 4) if p.sum() == 4 and (p <= K.caps).all())
    return random_quadratic(rng, 4), K, None, points


def simplex(rng):
    K = wp.sets.Simplex(4, radius=3.0)
    return random_quadratic(rng, 4), K, None, (p for p in grid(0, 3, 4) if p.sum() == 3)


def unit_simplex(rng):
    K = wp.sets.UnitSimplex(4, radius=3.0)
    return random_quadratic(rng, 4), K, None, (p for p in grid(0, 3, 4) if p.sum() <= 3)


def unit_hypersimplex(rng):
    points = (p for p in grid(0, 1, 6) if p.sum() <= 2)
    return random_quadratic(rng, 6), wp.sets.UnitHypersimplex(6, 2), None, points


def knapsack(rng):
    K = wp.sets.Knapsack([2.0, 3.0, 1.0, 1.5], 4.2, upper=2.0)
    return random_quadratic(rng, 4), K, None, (p for p in grid(0, 2, 4) if K.contains(p))


def is_matching(p, edges):
    ends = [v for edge, chosen in zip(edges, p, strict=True) if chosen for v in edge]
    return len(set(ends)) == len(ends)


def matching(rng):
    edges = [(0, 3), (0, 4), (1, 3), (1, 4), (2, 4), (2, 5)]
    points = (p for p in grid(0, 1, 6) if is_matching(p, edges))
    return random_quadratic(rng, 6), wp.sets.Matching(edges), None, points


def odd_matching(rng):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
    points = (p for p in grid(0, 1, 5) if is_matching(p, edges))
    return random_quadratic(rng, 5), wp.sets.Matching(edges), None, points


def birkhoff(rng):
    target = rng.standard_normal((4, 4))
    f = wp.objectives.Quadratic(1.0, -3.0 * target)
    points = (np.eye(4)[list(p)] for p in itertools.permutations(range(4)))
    return f, wp.sets.Birkhoff(4), None, points


def transport(rng):
    K = wp.sets.TransportPolytope([2.0, 1.0], [1.0, 1.0, 1.0])
    points = (p.reshape(2, 3) for p in grid(0, 2, 6) if K.contains(p.reshape(2, 3)))
    return wp.objectives.Quadratic(1.0, rng.standard_normal((2, 3))), K, None, points


def program(rng):
    K = wp.sets.MixedInteger([[2.0, 3.0, 1.0]], [7.5], bounds=(0, 3))
    points = (p for p in grid(0, 3, 3) if K.system.violation(p) <= 0)
    return random_quadratic(rng, 3), K, None, points


def product(rng):
    K = wp.sets.Product(wp.sets.Hypersimplex(4, 1), wp.sets.Box([-1.0, -1.0], [1.0, 1.0]))
    points = (p for p in grid(-1, 1, 6) if K.contains(p))
    return random_quadratic(rng, 6), K, None, points


PROBLEMS = [box, hypersimplex, capped, simplex, birkhoff, transport, program, product]
PROBLEMS += [unit_simplex, unit_hypersimplex, knapsack, matching, odd_matching]


def least(f, points):
    return min(f.value(p) for p in points)


def check_result(res, f, K, best):
    size = 1.0 + abs(best)
    assert res.success, res.message
    assert abs(res.fun - best) <= 1e-6 * size
    assert res.lower_bound <= best + 1e-12 * size
    assert np.array_equal(res.x, np.round(res.x))
    assert res.fun == pytest.approx(f.value(res.x))
    assert res.gap == res.fun - res.lower_bound


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("branching", BRANCHINGS)
def test_minimum_is_that_of_the_enumeration(problem, branching):
    for seed in range(2):
        f, K, integrality, points = problem(np.random.default_rng(seed))
        res = wp.minimize_integer(f, K, integrality, branching=branching)
        check_result(res, f, K, least(f, points))


@pytest.mark.parametrize("search", SEARCHES)
def test_every_order_of_nodes_finds_the_minimum(search):
    f, K, _, points = box(np.random.default_rng(7))
    res = wp.minimize_integer(f, K, search=search)
    check_result(res, f, K, least(f, points))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_bound_holds_whenever_the_run_ends(problem):
    f, K, _, points = problem(np.random.default_rng(3))
    best = least(f, points)
    bounds = []
    for nodes in range(5):
        res = wp.minimize_integer(f, K, max_nodes=nodes)
        assert res.lower_bound <= best + 1e-12 * (1.0 + abs(best))
        assert res.fun >= best - 1e-12 * (1.0 + abs(best))
        assert res.nodes <= nodes
        bounds.append(res.lower_bound)
    assert (np.diff(bounds[1:]) >= -1e-9 * (1.0 + abs(best))).all()


def portfolio(n, k, seed):
    """Return variance less return of at most k of n assets: weights, then indicators."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, 3))
    Q = np.zeros((2 * n, 2 * n))
    Q[:n, :n] = F @ F.T + np.diag(rng.uniform(0.2, 1.0, n))
    c = np.concatenate([-rng.uniform(0.0, 1.0, n), np.zeros(n)])
    one, zero = np.ones(n), np.zeros(n)
    A = np.vstack([np.hstack([np.eye(n), -np.eye(n)]), np.concatenate([zero, one])])
    K = wp.sets.MixedInteger(
        A,
        np.append(zero, k),
        np.concatenate([one, zero])[None, :],
        [1.0],
        bounds=(0, 1),
        integrality=np.concatenate([zero, one]),
    )
    return wp.objectives.Quadratic(Q, c), K, Q[:n, :n], c[:n]


def test_at_most_k_assets():
    n, k = 6, 2
    f, K, Q, c = portfolio(n, k, 0)
    best = math.inf
    for chosen in itertools.combinations(range(n), k):
        part = list(chosen)
        g = wp.objectives.Quadratic(Q[np.ix_(part, part)], c[part])
        best = min(best, wp.minimize(g, wp.sets.Simplex(k), tol=1e-10).fun)
    res = wp.minimize_integer(f, K, gap=1e-5)
    assert res.success
    assert abs(res.fun - best) <= 1e-5
    assert res.lower_bound <= best + 1e-9
    assert (res.x[:n] > 1e-9).sum() <= k
    assert np.array_equal(res.x[n:], np.round(res.x[n:]))


def test_factors_without_integers_may_be_any_set():
    rng = np.random.default_rng(4)
    choice, ball = wp.sets.Hypersimplex(4, 2), wp.sets.L2Ball(2, radius=0.7)
    A, b = rng.standard_normal((7, 6)), 2.0 * rng.standard_normal(7)
    best = math.inf
    for p in grid(0, 1, 4):
        if p.sum() == 2:
            g = wp.objectives.LeastSquares(A[:, 4:], b - A[:, :4] @ p)
            best = min(best, wp.minimize(g, ball, tol=1e-9).fun)
    f, K = wp.objectives.LeastSquares(A, b), wp.sets.Product(choice, ball)
    res = wp.minimize_integer(f, K, [1, 1, 1, 1, 0, 0], gap=1e-5)
    assert res.success
    assert abs(res.fun - best) <= 1e-5
    assert res.lower_bound <= best + 1e-9
    assert np.array_equal(res.x[:4], np.round(res.x[:4]))


def test_a_product_has_the_integers_of_its_factors():
    program = wp.sets.MixedInteger([[1.0, 1.0]], [2.5], bounds=(0, 2), integrality=[1, 0])
    K = wp.sets.Product(program, wp.sets.Box([0.0], [1.0]))
    f = wp.objectives.Quadratic(1.0, -np.array([1.3, 0.6, 0.8]))
    assert wp.minimize_integer(f, K, gap=1e-9).x == pytest.approx([1.0, 0.6, 1.0], abs=1e-4)
    marked = wp.minimize_integer(f, K, [0, 0, 0], gap=1e-9)  # the first remains what it is
    assert marked.x == pytest.approx([1.0, 0.6, 0.8], abs=1e-4)


def test_functions_with_a_domain():
    V = np.random.default_rng(0).standard_normal((6, 2))
    f = wp.objectives.DOptimal(V)
    points = (p for p in grid(0, 2, 6) if p.sum() == 4 and np.isfinite(f.value(p)))
    res = wp.minimize_integer(f, wp.sets.CappedSimplex(6, cap=2.0, total=4.0))
    assert res.success
    assert res.fun == pytest.approx(least(f, points), abs=1e-6)


def test_a_callable_is_as_good_as_an_objective():
    f, K, _, points = hypersimplex(np.random.default_rng(1))
    res = wp.minimize_integer(f.value_and_gradient, K, gap=1e-5)
    assert res.fun == pytest.approx(least(f, points), abs=1e-5)
    assert "assumes that f is convex" in res.message


def test_processes_solve_the_same_nodes():
    f, K, _, _ = box(np.random.default_rng(5))
    here = wp.minimize_integer(f, K, batch=16)
    there = wp.minimize_integer(f, K, engine="processes:2")
    assert np.array_equal(here.x, there.x)
    assert here.nodes == there.nodes
    assert there.gap == pytest.approx(here.gap, abs=1e-9)


def test_a_resumed_tree_has_the_bits_of_the_undisturbed_one(tmp_path):
    f, K, _, _ = box(np.random.default_rng(11))
    path = tmp_path / "tree.ckpt"
    wp.minimize_integer(f, K, max_nodes=4, checkpoint=path)
    with pytest.raises(TypeError, match="pass one of the two names"):
        wp.resume(path, f, K, max_rounds=5, max_nodes=6)
    res, whole = wp.resume(path, f, K, max_nodes=1000), wp.minimize_integer(f, K)
    assert res.success
    assert (res.nodes, res.fun, res.lower_bound) == (whole.nodes, whole.fun, whole.lower_bound)


def test_limits_and_callbacks_end_a_run_with_a_valid_result():
    f, K, _, points = box(np.random.default_rng(11))
    best = least(f, points)

    def stop(intermediate_result):
        raise StopIteration

    for res in (
        wp.minimize_integer(f, K, max_seconds=0.0),
        wp.minimize_integer(f, K, max_lmo=7),
        wp.minimize_integer(f, K, callback=stop),
    ):
        assert not res.success
        assert res.lower_bound <= best <= res.fun
    assert res.status == "callback_stop"


def test_history_tells_how_the_tree_grew():
    f, K, _, _ = box(np.random.default_rng(5))
    for engine in (None, "processes:2"):
        res = wp.minimize_integer(f, K, engine=engine)
        history = res.history
        assert history["round"][-1] == res.nodes
        assert history["open"][0] == 1
        assert history["open"][-1] == res.open_nodes == 0
        # a solved node leaves none of itself, or its two parts
        grown, solved = np.diff(history["open"]), np.diff(history["round"])
        assert (grown <= solved).all()
        assert (grown >= -history["open"][:-1]).all()
        assert (np.diff(history["fun"]) <= 0).all()
        assert history["gap"][-1] == res.gap


def test_strong_convexity_raises_the_bound():
    f, K, _, _ = box(np.random.default_rng(24))
    with_sigma = wp.minimize_integer(f, K)
    without = wp.minimize_integer(f, K, sigma=0.0)
    assert with_sigma.nodes < without.nodes
    assert with_sigma.fun == pytest.approx(without.fun)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"K": wp.sets.L2Ball(4)}, "oracle takes bounds"),
        ({"K": wp.sets.Simplex(4, radius=2.5)}, "no solution|no common solution"),
        ({"integrality": 2}, "integrality must be 0 or 1"),
        ({"integrality": np.zeros(4)}, "integrality must mark an entry"),
        ({"integrality": np.ones(3)}, "of shape"),
        ({"convex": False}, "f must be convex"),
        ({"engine": "auto"}, "engine must be named"),
        ({"K": wp.sets.Box(np.zeros(3), np.ones(3))}, "f takes x of shape"),
        ({"branching": "random"}, "branching must be"),
        ({"max_nodes": -1}, "max_nodes must be"),
        ({"gap": None}, "gap must be"),
        ({"sigma": 1e9}, "sigma must be at most L"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, found):
    f, K, _, _ = box(np.random.default_rng(0))
    call = {"f": f, "K": K} | arguments
    with pytest.raises((TypeError, ValueError), match=found):
        wp.minimize_integer(**call)


@pytest.mark.slow
def test_five_hundred_random_problems():
    for seed in range(500):
        rng = np.random.default_rng(1000 + seed)
        problem = PROBLEMS[seed % len(PROBLEMS)]
        f, K, integrality, points = problem(rng)
        check_result(wp.minimize_integer(f, K, integrality), f, K, least(f, points))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_large_gap_is_as_true_as_a_small_one(problem):
    for seed in range(6):
        f, K, _, points = problem(np.random.default_rng(40 + seed))
        best = least(f, points)
        for gap in (0.3, 3.0):
            res = wp.minimize_integer(f, K, gap=gap)
            assert res.success
            assert res.lower_bound <= best + 1e-12 * (1.0 + abs(best)) <= res.fun + 1e-9
            assert res.gap <= gap


class Fatal:
    """A callable that ends the first worker process that evaluates it, once."""

    def __init__(self, f, mark):
        self.f, self.mark, self.driver = f, mark, os.getpid()

    def __call__(self, x):
        if os.getpid() != self.driver and not self.mark.exists():
            self.mark.touch()
            os._exit(1)
        return self.f.value_and_gradient(x)


def test_a_worker_that_dies_costs_no_result(tmp_path):
    f, K, _, points = box(np.random.default_rng(5))
    mark = tmp_path / "died"
    res = wp.minimize_integer(Fatal(f, mark), K, engine="processes:2", convex=True)
    assert mark.exists()
    check_result(res, f, K, least(f, points))
    here = wp.minimize_integer(f.value_and_gradient, K, batch=16, convex=True)
    assert res.nodes == here.nodes
