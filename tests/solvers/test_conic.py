"""Interior-point solves: exact optima, feasible answers, valid certificates, clear refusals."""

from __future__ import annotations

import itertools
import sys
import time
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack.problem import CapabilityError
from wolfpack.solvers import conic
from wolfpack.solvers.parts import interior_point

sets, objectives = wp.sets, wp.objectives


def grid(n: int) -> list[tuple[int, int]]:
    """Return the edges of an n x n grid, to the right and down."""
    down = [(i * n + j, (i + 1) * n + j) for i in range(n - 1) for j in range(n)]
    return down + [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]


def incidence(edges: list[tuple[int, int]], n: int) -> np.ndarray:
    matrix = np.zeros((n, len(edges)))
    for e, (tail, head) in enumerate(edges):
        matrix[tail, e], matrix[head, e] = 1.0, -1.0
    return matrix


def supply(n: int, *demands: tuple[int, int, float]) -> np.ndarray:
    net = np.zeros(n)
    for origin, target, amount in demands:
        net[origin] += amount
        net[target] -= amount
    return net


def flow(x, edges, n, demands, capacity=None):
    """Return the constraints of a sum of flows, one for each origin."""
    matrix, origins = incidence(edges, n), {demand[0] for demand in demands}
    parts = {o: cp.Variable(len(edges), nonneg=True) for o in origins}
    balances = [
        matrix @ parts[o] == supply(n, *(demand for demand in demands if demand[0] == o))
        for o in origins
    ]
    limits = [] if capacity is None else [x <= capacity]
    return [x == sum(parts.values()), *balances, *limits]


def folded(x):
    z = cp.Variable(4)
    return [z >= 1, cp.sum(z) == 5, x == FOLD @ z]


RNG = np.random.default_rng(4)
G = RNG.standard_normal((4, 6))
COUPLES = [(0, 3), (0, 4), (1, 3), (1, 5), (2, 4), (2, 5), (2, 3)]
INCIDENCE = np.array([[float(v in couple) for couple in COUPLES] for v in range(6)])
FOLD = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.5]])
CYCLIC = [*grid(3), (8, 0), (4, 1)]
DEMANDS = [(0, 8, 2.0), (1, 5, 1.0), (0, 5, 0.5)]
CASES = {
    "simplex": (sets.Simplex((2, 3), radius=3.0), lambda x: [x >= 0, cp.sum(x) == 3]),
    "capped simplex": (sets.CappedSimplex(6, 0.4), lambda x: [x >= 0, x <= 0.4, cp.sum(x) == 1]),
    "hypersimplex": (sets.Hypersimplex(6, 2), lambda x: [x >= 0, x <= 1, cp.sum(x) == 2]),
    "unit simplex": (sets.UnitSimplex((2, 3), 3.0), lambda x: [x >= 0, cp.sum(x) <= 3]),
    "unit hypersimplex": (
        sets.UnitHypersimplex(6, 2),
        lambda x: [x >= 0, x <= 1, cp.sum(x) <= 2],
    ),
    "knapsack": (
        sets.Knapsack([1.0, 2.0, 0.0, 3.0], 2.5, [1.0, 2.0, 0.5, np.inf]),
        lambda x: [x >= 0, x[:3] <= [1, 2, 0.5], np.array([1.0, 2.0, 0.0, 3.0]) @ x <= 2.5],
    ),
    "matchings": (sets.Matching(COUPLES), lambda x: [x >= 0, INCIDENCE @ x <= 1]),
    "perfect matchings": (
        sets.Matching(COUPLES, perfect=True),
        lambda x: [x >= 0, INCIDENCE @ x == 1],
    ),
    "box": (
        sets.Box([-1.0, 0.0, 2.0], [0.5, 0.0, 9.0]),
        lambda x: [x >= [-1, 0, 2], x <= [0.5, 0, 9]],
    ),
    "linf ball": (sets.LinfBall(6, 0.3), lambda x: [cp.abs(x) <= 0.3]),
    "l1 ball": (sets.L1Ball((2, 3), 0.7), lambda x: [cp.sum(cp.abs(x)) <= 0.7]),
    "weighted l1 ball": (
        sets.WeightedL1Ball([1.0, 2.0, 3.0], 2.0),
        lambda x: [np.array([1.0, 2.0, 3.0]) @ cp.abs(x) <= 2],
    ),
    "birkhoff": (
        sets.Birkhoff(4),
        lambda x: [x >= 0, cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1],
    ),
    "transport": (
        sets.TransportPolytope([1.0, 2.0], [2.0, 0.5, 0.5]),
        lambda x: [x >= 0, cp.sum(x, axis=0) == [2, 0.5, 0.5], cp.sum(x, axis=1) == [1, 2]],
    ),
    # nodes 9 and 10 are on no path from the source to the target
    "dag flow": (
        sets.DagFlow([*grid(3), (4, 9), (10, 4)], 0, 8),
        lambda x: flow(x, [*grid(3), (4, 9), (10, 4)], 11, [(0, 8, 1.0)]),
    ),
    "flows without cycles": (
        sets.FlowPolytope(grid(3), DEMANDS),
        lambda x: flow(x, grid(3), 9, DEMANDS),
    ),
    "flows within capacities": (
        sets.FlowPolytope(CYCLIC, DEMANDS, capacity=2.0),
        lambda x: flow(x, CYCLIC, 9, DEMANDS, 2.0),
    ),
    "linear program": (
        sets.LinearProgram(sparse.csr_array(G), np.ones(4), np.ones((1, 6)), [2.0], (0, 1)),
        lambda x: [G @ x <= 1, cp.sum(x) == 2, x >= 0, x <= 1],
    ),
    "bounds alone": (
        sets.LinearProgram(bounds=[(0.0, 1.0), (-2.0, 3.0)]),
        lambda x: [x >= [0, -2], x <= [1, 3]],
    ),
    "scaled": (sets.Scale(sets.Simplex(4), -3.0), lambda x: [x <= 0, cp.sum(x) == -3]),
    "image": (sets.Image(FOLD, sets.Translate(sets.Simplex(4), 1.0)), lambda x: folded(x)),
    "symmetric": (
        sets.Symmetric(sets.Birkhoff(3), [[0, 3, 6, 1, 4, 7, 2, 5, 8]]),
        lambda x: [x >= 0, cp.sum(x, axis=0) == 1, x == x.T],
    ),
    "symmetric, of a lift": (
        sets.Symmetric(sets.Translate(sets.L1Ball(4), [1.0, 1.0, 2.0, 0.0]), [[1, 0, 2, 3]]),
        lambda x: [cp.norm1(x - np.array([1.0, 1.0, 2.0, 0.0])) <= 1, x[0] == x[1]],
    ),
    "translated": (
        sets.Translate(sets.L1Ball(4), [1.0, -1.0, 0.0, 5.0]),
        lambda x: [cp.sum(cp.abs(x - np.array([1.0, -1.0, 0.0, 5.0]))) <= 1],
    ),
    "product": (
        sets.Product(sets.Simplex(3), sets.L1Ball((2, 2)), sets.DagFlow(grid(3), 0, 8)),
        lambda x: [
            *(x[:3] >= 0, cp.sum(x[:3]) == 1, cp.sum(cp.abs(x[3:7])) <= 1),
            *flow(x[7:], grid(3), 9, [(0, 8, 1.0)]),
        ],
    ),
}


def quadratics(K):
    """Return quadratics of the shape of K, each with CVXPY's expression of it."""
    rng, d = np.random.default_rng(7), K.dimension
    target = 2.0 * rng.standard_normal(K.shape)
    yield (
        objectives.Quadratic(2.0, -target),
        lambda x: cp.sum_squares(x) - cp.sum(cp.multiply(target, x)),
    )
    n = K.shape[0]
    for rows in (n + 3, max(1, n - 2)):
        A = rng.standard_normal((rows, n))
        b = rng.standard_normal((rows, *K.shape[1:]))
        yield objectives.LeastSquares(A, b), lambda x, A=A, b=b: cp.sum_squares(A @ x - b) / 2
    if len(K.shape) == 1:
        thin = sparse.random_array((d + 2, d), density=0.2, rng=rng)
        s = rng.standard_normal(d + 2)
        yield (
            objectives.LeastSquares(thin, s, reduction="mean"),
            lambda x: cp.sum_squares(thin @ x - s) / (2 * (d + 2)),
        )
        Q = A.T @ A
        yield (
            objectives.Quadratic(sparse.csr_array(Q), target),
            lambda x: cp.sum_squares(A @ x) / 2 + target @ x,
        )
    else:
        yield (
            objectives.MatrixCompletion([0, 1], [1, 0], [2.0, -1.0], K.shape),
            lambda x: (cp.square(x[0, 1] - 2) + cp.square(x[1, 0] + 1)) / 2,
        )


@pytest.mark.parametrize("name", CASES)
def test_the_minimum_is_that_of_another_modelling(name):
    K, constraints = CASES[name]
    for f, expression in quadratics(K):
        x = cp.Variable(K.shape)
        least = cp.Problem(cp.Minimize(expression(x)), constraints(x))
        least.solve(solver=cp.CLARABEL)
        res = wp.minimize(f, K, method="conic", tol=1e-7)
        assert res.success, (f, res.message)
        assert res.nit <= 2
        assert K.contains(res.x, 1e-11)
        assert res.fun == pytest.approx(least.value, abs=1e-6)
        assert res.lower_bound <= least.value + 1e-6


def test_the_certificate_holds_against_the_rational_minimum():
    """All faces of a small polytope are tried in rationals: the exact minimum is among them."""
    b = [Fraction(3, 2), Fraction(1, 3), Fraction(-1, 4)]
    found = []
    for free in itertools.chain.from_iterable(
        itertools.combinations(range(3), k) for k in (1, 2, 3)
    ):
        level = (sum(b[i] for i in free) - 1) / len(free)
        x = [b[i] - level if i in free else Fraction(0) for i in range(3)]
        if min(x) >= 0:
            found.append(sum((u - v) ** 2 for u, v in zip(x, b, strict=True)) / 2)
    least = min(found)
    f = objectives.LeastSquares(np.eye(3), np.array([float(v) for v in b]))
    K = sets.LinearProgram(A_eq=np.ones((1, 3)), b_eq=[1.0])
    res = wp.minimize(f, K, method="conic", tol=0.0)
    assert res.status == "stalled"
    assert res.nit == len(conic.TOLERANCES)
    assert Fraction(res.lower_bound) <= least <= Fraction(res.fun) + Fraction(1, 10**15)
    assert res.gap <= 1e-10
    assert abs(Fraction(res.fun) - least) <= Fraction(res.gap)


def test_a_rough_answer_is_made_feasible(monkeypatch):
    """Whatever the solver leaves, every rule ends in K, and the certificate holds."""

    def rough(program, tolerance, seconds):
        z = interior_point.solve(program, tolerance, seconds)
        assert z is not None
        return z + 1e-3 * np.random.default_rng(0).standard_normal(z.shape)

    monkeypatch.setattr(conic, "solve", rough)
    for K, _ in CASES.values():
        f = objectives.Quadratic(2.0, -np.ones(K.shape))
        x0 = K.start()
        least = wp.minimize(f, K, x0, method="corrective", tol=1e-8).fun
        res = wp.minimize(f, K, x0, method="conic", tol=1e-12, max_rounds=1)
        assert K.contains(res.x, 1e-9), K
        assert res.gap >= res.fun - least - 1e-8


def test_constraints_without_an_inside_are_met():
    """x_1 = x_2 in the guise of two inequalities, and an equation given twice."""
    K = sets.LinearProgram(
        [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]], [0.0, 0.0], np.ones((2, 3)), [1.0, 1.0]
    )
    res = wp.minimize(objectives.Quadratic(1.0, [-3.0, 0.0, 0.0]), K, method="conic", tol=1e-6)
    assert res.success
    assert K.contains(res.x, 1e-10)
    np.testing.assert_allclose(res.x, [0.5, 0.5, 0.0], atol=1e-4)


def test_runs_are_resumed_to_the_same_bits(tmp_path):
    K, _ = CASES["linear program"]
    f = objectives.Quadratic(2.0, -np.arange(6.0))
    whole = wp.minimize(f, K, method="conic", tol=0.0)
    wp.minimize(f, K, method="conic", tol=0.0, max_rounds=1, checkpoint=tmp_path / "run.ckpt")
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=100)
    assert rest.x.tobytes() == whole.x.tobytes()
    assert (rest.lower_bound, rest.nit, rest.status) == (whole.lower_bound, 3, "stalled")


def test_the_solver_gets_the_time_that_is_left(monkeypatch):
    given = []

    def late(program, tolerance, seconds):
        given.append(seconds)
        later = time.perf_counter() + 1e3
        monkeypatch.setattr(time, "perf_counter", lambda: later)
        return interior_point.solve(program, tolerance)

    def unpaid(K, x):
        raise AssertionError("nothing is paid for when the time is over")

    monkeypatch.setattr(conic, "solve", late)
    monkeypatch.setattr(sets.Box, "_project", unpaid)
    f, K = objectives.Quadratic(1.0, -np.ones(4)), sets.Box(np.zeros(4), np.full(4, 0.5))
    res = wp.minimize(f, K, method="conic", max_seconds=60.0, tol=1e-9)
    assert res.status == "max_seconds"
    assert 0.0 < given[0] <= 60.0
    assert res.nit == 0


def test_the_solver_stops_when_its_time_is_over():
    f, K = objectives.Quadratic(1.0, -np.arange(4.0)), sets.Simplex(4)
    program = interior_point.program_of(f.quadratic_form(), K.polyhedron())
    whole, cut = (interior_point.solve(program, 1e-9, seconds) for seconds in (60.0, 0.0))
    np.testing.assert_allclose(whole, [0.0, 0.0, 0.0, 1.0], atol=1e-4)
    assert cut is None or abs(cut - whole).max() > 1e-2


def test_no_time_at_all_ends_at_once():
    f, K = objectives.Quadratic(1.0, -np.ones(4)), sets.Box(np.zeros(4), np.full(4, 0.5))
    assert wp.minimize(f, K, method="conic", max_seconds=0.0).status == "max_seconds"


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 1e6, 1e30, 1e120])
def test_units_do_not_matter(unit):
    f = objectives.Quadratic(1.0, -unit * np.array([2.0, 1.5, 0.0]))
    for K in (sets.Simplex(3, radius=unit), sets.Scale(sets.Simplex(3), unit)):
        res = wp.minimize(f, K, method="conic", tol=1e-6 * unit * unit)
        assert res.success
        np.testing.assert_allclose(res.x, unit * np.array([0.75, 0.25, 0.0]), atol=1e-4 * unit)


def test_a_solver_that_breaks_down_leaves_the_start(monkeypatch):
    monkeypatch.setattr(conic, "solve", lambda *given: None)
    K = sets.Simplex(3)
    res = wp.minimize(objectives.Quadratic(1.0, [-2.0, 0.0, 0.0]), K, method="conic")
    assert res.status == "stalled"
    np.testing.assert_array_equal(res.x, K.start())


def test_what_cannot_be_solved_is_refused_in_a_sentence():
    f, K = objectives.Quadratic(1.0, np.ones(3)), sets.Simplex(3)
    with pytest.raises(CapabilityError, match=r"needs a set of linear constraints: L2Ball"):
        wp.minimize(f, sets.L2Ball(3), method="conic")
    with pytest.raises(CapabilityError, match=r"L2Ball.* has none"):
        wp.minimize(
            objectives.Quadratic(1.0, np.ones(6)), sets.Product(K, sets.L2Ball(3)), method="conic"
        )
    with pytest.raises(CapabilityError, match=r"needs a quadratic f .* and Logistic gives none"):
        wp.minimize(objectives.Logistic(np.eye(3), [1, -1, 1]), K, method="conic")
    with pytest.raises(CapabilityError, match="and Function gives none"):
        wp.minimize(lambda x: (float(x @ x), 2 * x), K, method="conic")
    operator = sparse.linalg.aslinearoperator(np.eye(3))
    with pytest.raises(CapabilityError, match="and LeastSquares gives none"):
        wp.minimize(objectives.LeastSquares(operator, np.ones(3)), K, method="conic")
    cyclic = sets.FlowPolytope(CYCLIC, DEMANDS)
    with pytest.raises(CapabilityError, match=r"has a cycle.* capacity=\.\.\. \(3.5, the total"):
        wp.minimize(objectives.Quadratic(1.0, np.ones(14)), cyclic, method="conic")


def test_a_missing_clarabel_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(CapabilityError, match=r"pip install 'wolfpack\[conic\]'"):
        wp.minimize(objectives.Quadratic(1.0, np.ones(3)), sets.Simplex(3), method="conic")
