"""Block-coordinate Frank-Wolfe: orders, steps, certificates, laziness, saved states."""

from __future__ import annotations

from functools import cache

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles
from wolfpack.solvers.block import ORDERS

S = wp.sets
RULES = ["short-step", "backtracking", "adaptive", "secant", "line-search"]
N = 12


def product():
    return S.Product(S.Simplex(5), S.L1Ball(4, 1.5), S.Box(-np.ones(3), np.full(3, 0.2)))


def data():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((25, N)) * np.linspace(0.5, 2.0, N)
    return A, A @ rng.standard_normal(N), np.where(rng.random(25) > 0.5, 1, -1)


def loss(name):
    A, b, labels = data()
    quadratic = name == "quadratic"
    return wp.objectives.LeastSquares(A, b) if quadratic else wp.objectives.Logistic(A, labels)


@cache
def minimum(name):
    A, b, labels = data()
    x = cp.Variable(N)
    constraints = [x[:5] >= 0, cp.sum(x[:5]) == 1, cp.norm1(x[5:9]) <= 1.5]
    constraints += [x[9:] >= -1, x[9:] <= 0.2]
    if name == "quadratic":
        value = 0.5 * cp.sum_squares(A @ x - b)
    else:
        value = cp.sum(cp.logistic(-cp.multiply(labels, A @ x))) / 25
    problem = cp.Problem(cp.Minimize(value), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["quadratic", "logistic"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_minimum_is_found_and_certificates_hold(order, name, lazy):
    f, K, points = loss(name), product(), []
    given = {"method": "block", "order": order, "lazy": lazy, "max_rounds": 6000}
    res = wp.minimize(f, K, rtol=1e-3, **given, callback=lambda r: points.append(r.state))
    best = minimum(name)
    assert res.success
    assert best - 1e-8 <= res.fun <= best + res.gap + 1e-8
    assert max(res.history["lower_bound"]) <= best + 1e-8
    assert max(K.violation(state.x) for state in points) <= 1e-12
    values = np.array([state.at.value for state in points])
    assert np.all(np.diff(values) <= 1e-13 * abs(values[:-1]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("order", ["cyclic", "parallel"])
def test_every_step_rule_descends_to_the_minimum(order, rule):
    f, K = loss("quadratic"), product()
    res = wp.minimize(f, K, method="block", order=order, rule=rule, rtol=5e-3, max_rounds=8000)
    assert res.success
    assert minimum("quadratic") - 1e-8 <= res.fun <= minimum("quadratic") + res.gap + 1e-8
    assert np.all(np.diff(res.history["fun"]) <= 1e-13 * abs(res.history["fun"][:-1]))


def solver_and_problem(order, **options):
    f, K = loss("quadratic"), product()
    problem = Problem(f, K)
    return wp.solvers.BlockCoordinate(order, **options).for_set(K), problem, Oracles(problem)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_move_the_blocks_that_they_say(order):
    solver, problem, oracles = solver_and_problem(order)
    state = solver.init(problem, problem.set.start(), oracles)
    moved = []
    for _ in range(30):
        following = solver.step(problem, state, oracles)
        pairs = zip(problem.set.split(state.x), problem.set.split(following.x), strict=True)
        moved.append([i for i, (x, y) in enumerate(pairs) if not np.array_equal(x, y)])
        state = following
    if order == "parallel":
        assert max(map(len, moved)) == 3
        return
    assert max(map(len, moved)) == 1
    turns = [None if not blocks else blocks[0] for blocks in moved]
    if order == "cyclic":
        assert all(turn in (None, k % 3) for k, turn in enumerate(turns))
    elif order == "shuffled":
        assert all(len(set(turns[k : k + 3]) - {None}) >= 2 for k in range(0, 30, 3))
        assert len({tuple(turns[k : k + 3]) for k in range(0, 30, 3)}) > 1
    else:
        assert set(turns) - {None} == {0, 1, 2} or order == "gap"


def test_a_block_step_is_its_formula():
    solver, problem, oracles = solver_and_problem("cyclic", rule="short-step")
    K, f = problem.set, problem.objective
    state = solver.init(problem, K.start(), oracles)
    state = solver.step(problem, state, oracles)  # block 0
    x, g = state.x.copy(), f.gradient(state.x)
    v = np.asarray(K.parts[1].lmo(g[5:9]))
    d = np.zeros(N)
    d[5:9] = v - x[5:9]
    gamma = min(1.0, -(g @ d) / (f.L * (d @ d)))
    following = solver.step(problem, state, oracles)
    np.testing.assert_allclose(following.x, x + gamma * d, atol=1e-14)
    assert following.gaps[1] == pytest.approx(-(g @ d))


def test_parallel_short_steps_gain_what_each_block_promises():
    solver, problem, oracles = solver_and_problem("parallel", rule="short-step")
    K, f = problem.set, problem.objective
    state = solver.init(problem, K.start(), oracles)
    for _ in range(20):
        g = state.at.gradient
        ds = [
            np.asarray(part.lmo(c)) - b
            for part, b, c in zip(K.parts, K.split(state.x), K.split(g), strict=True)
        ]
        promise = 0.0
        for d, c in zip(ds, K.split(g), strict=True):
            gap, square = -(c @ d), f.L * (d @ d)
            t = min(1.0, gap / square) if square else 0.0
            promise += t * gap - 0.5 * t * t * square
        following = solver.step(problem, state, oracles)
        assert state.at.value - following.at.value >= promise * (1 - 1e-9) - 1e-12
        state = following


def test_oracle_calls_are_those_of_the_blocks():
    f, K = loss("quadratic"), product()
    given = {"method": "block", "tol": 0, "max_rounds": 20}
    cyclic = wp.minimize(f, K, order="cyclic", record_every=20, **given)
    # the first state asks all, the first round asks none again, two certificates ask all
    assert cyclic.nlmo == 3 + 19 + 3
    parallel = wp.minimize(f, K, order="parallel", **given)
    assert parallel.nlmo == 3 * 21
    lazy = wp.minimize(f, K, order="cyclic", lazy=True, record_every=20, **given)
    assert lazy.nlmo < cyclic.nlmo
    limited = wp.minimize(f, K, order="cyclic", **{**given, "max_rounds": None}, max_lmo=40)
    assert limited.status == "max_lmo"
    assert limited.nlmo <= 40
    assert np.isfinite(limited.gap)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_a_run_resumes_to_the_same_bits(order, lazy, tmp_path):
    f, K = loss("logistic"), product()
    given = {"method": "block", "order": order, "lazy": lazy, "tol": 0, "seed": 5}
    whole = wp.minimize(f, K, max_rounds=24, **given)
    wp.minimize(f, K, max_rounds=9, checkpoint=tmp_path / "run.ckpt", **given)
    rest = wp.resume(tmp_path / "run.ckpt", f, K, max_rounds=24)
    assert rest.x.tobytes() == whole.x.tobytes()
    assert rest.lower_bound == whole.lower_bound
    if order in ("shuffled", "random", "gap"):
        other = wp.minimize(f, K, max_rounds=24, **{**given, "seed": 6})
        assert other.x.tobytes() != whole.x.tobytes()


def test_matrices_callables_and_products_of_products():
    rng = np.random.default_rng(0)
    target = rng.standard_normal(29)
    inner = S.Product(S.L2Ball(2), S.Simplex(2))
    K = S.Product(S.Birkhoff(3), S.TraceNormBall((4, 4)), inner)

    def f(x):
        return 0.5 * float((x - target) @ (x - target)), x - target

    best = wp.minimize(wp.objectives.Quadratic(1.0, -target), K, method="projected", tol=1e-10)
    for order in ("cyclic", "parallel"):
        res = wp.minimize(f, K, method="block", order=order, rtol=2e-3, max_rounds=4000)
        assert res.success
        assert abs(res.fun - 0.5 * target @ target - best.fun) <= res.gap + 1e-8


def test_functions_with_a_domain_and_functions_that_are_not_convex():
    K = S.Product(S.Simplex(3), S.Simplex(2))

    def barrier(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -float(np.log(x).sum()), -1.0 / x

    x0 = np.array([0.9, 0.05, 0.05, 0.1, 0.9])
    res = wp.minimize(barrier, K, x0, method="block", tol=1e-1, max_rounds=3000)
    assert res.success
    best = 3 * np.log(3) + 2 * np.log(2)
    assert best - 1e-9 <= res.fun <= best + res.gap + 1e-9

    def wavy(x):
        return float(np.cos(3 * x).sum()), -3 * np.sin(3 * x)

    res = wp.minimize(wavy, K, method="block", convex=False, tol=1e-3, max_rounds=2000)
    assert res.success
    assert res.stationarity <= 1e-3


def test_other_sets_and_bad_options_are_one_sentence():
    f = wp.objectives.Quadratic(1.0, np.zeros(3))
    with pytest.raises(wp.CapabilityError, match="needs a product of sets"):
        wp.minimize(f, S.Simplex(3), method="block")
    with pytest.raises(wp.CapabilityError, match="needs a product of sets"):
        wp.minimize(f, S.Simplex(3), method="block", convex=False)
    with pytest.raises(ValueError, match="order must be"):
        wp.minimize(f, S.Product(S.Simplex(3)), method="block", order="best")
