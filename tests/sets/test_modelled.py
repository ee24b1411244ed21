"""Sets given by CVXPY's constraints, compared with sets of the library and with CVXPY's answers."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp

S = wp.sets
RNG = np.random.default_rng(0)
DIRECTIONS = RNG.standard_normal((5, 2, 3))


def cut_ball(x):
    return [cp.norm(x, "fro") <= 2.0, cp.sum(x) == 1.0, x[0, 0] >= 0.1]


def least(constraints, g):
    y = cp.Variable(g.shape)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(g, y))), constraints(y))
    return problem.solve(solver="CLARABEL")


def of(constraints, shape=(2, 3), **options):
    x = cp.Variable(shape)
    return S.from_cvxpy(constraints(x), x, **options)


def test_cones_are_answered_as_cvxpy_answers():
    K = of(cut_ball)
    for g in DIRECTIONS:
        vertex, value = K.lmo(g), least(cut_ball, g)
        assert vertex.dot(g) == pytest.approx(value, abs=1e-6)
        assert value - 3e-6 <= K.certify(g, vertex) <= value + 1e-9
        assert K.contains(np.asarray(vertex), tol=1e-6)
        assert np.linalg.norm(vertex) <= K.radius
    batch = K.lmo(DIRECTIONS)
    assert np.allclose(batch.to_dense(), [np.asarray(K.lmo(g)) for g in DIRECTIONS], atol=1e-6)
    assert K.violation(np.zeros((2, 3))) == pytest.approx(1.0)
    assert not K.has("polyhedron")


def test_a_model_is_compiled_once(monkeypatch):
    K = of(cut_ball)
    compiled = []
    original = cp.Problem.get_problem_data
    monkeypatch.setattr(
        cp.Problem, "get_problem_data", lambda *a, **k: compiled.append(0) or original(*a, **k)
    )
    parameters = K.model.problem._cache.param_prog
    K.lmo(DIRECTIONS)
    assert K.model.problem._cache.param_prog is parameters is not None


def test_linear_constraints_become_a_program_that_proves_its_bounds():
    def constraints(x):
        return [cp.norm1(x) <= 1.0, cp.max(x) <= 0.4, x[0, 0] >= -0.1]

    K = of(constraints)
    assert K.polytope
    for g in DIRECTIONS:
        vertex, value = K.lmo(g), least(constraints, g)
        assert vertex.dot(g) == pytest.approx(value, abs=1e-7)
        assert K.certify(g, vertex) <= float(vertex.dot(g))
        assert K.certify(g, vertex) == pytest.approx(value, abs=1e-7)
    f = wp.objectives.Quadratic(1.0, DIRECTIONS[0])
    y = cp.Variable((2, 3))
    best = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(y) + cp.sum(cp.multiply(DIRECTIONS[0], y))), constraints(y)
    ).solve(solver="CLARABEL")
    for method in ("auto", "bpcg"):
        res = wp.minimize(f, K, method=method, tol=1e-7)
        assert res.success
        assert res.fun == pytest.approx(best, abs=1e-6)
        assert res.lower_bound <= best + 1e-9


def test_prices_are_those_of_the_program():
    x = cp.Variable(4, nonneg=True)
    K = S.from_cvxpy([cp.sum(x) <= 2.0], x)
    other = S.UnitSimplex(4, 2.0)
    g = np.array([1.0, -3.0, 2.0, -1.0])
    assert K.support(-g) == pytest.approx(other.support(-g))
    inequalities = [v for name, v in K.prices(g).items() if "inequal" in name]
    assert min(float(np.min(v)) for v in inequalities) == pytest.approx(-3.0)


def test_attributes_and_other_variables_count():
    x = cp.Variable((3, 3), PSD=True)
    K = S.from_cvxpy([cp.trace(x) == 1.0], x)
    for g in RNG.standard_normal((3, 3, 3)):
        g = g + g.T
        assert K.lmo(g).dot(g) == pytest.approx(np.linalg.eigvalsh(g)[0], abs=1e-6)
    assert K.violation(np.diag([2.0, -1.0, 0.0])) == pytest.approx(1.0, abs=1e-6)
    # the sum of a triangle and a square, by a variable that is projected away
    y, w = cp.Variable(2), cp.Variable(2)
    K = S.from_cvxpy([w >= 0, cp.sum(w) <= 1, cp.abs(y - w) <= 0.5], y)
    sum_of = S.MinkowskiSum(S.UnitSimplex(2), S.LinfBall(2, 0.5))
    for g in RNG.standard_normal((4, 2)):
        assert K.support(g) == pytest.approx(sum_of.support(g), abs=1e-7)
    assert K.contains(np.array([1.4, 0.4]), tol=1e-6)
    assert not K.contains(np.array([1.4, 0.7]), tol=1e-6)


def test_certificates_hold_and_copies_answer():
    K = of(cut_ball)
    f = wp.objectives.Quadratic(np.diag(np.arange(1.0, 7.0))[0, 0], DIRECTIONS[1])
    res = wp.minimize(f, K, tol=1e-5)
    y = cp.Variable((2, 3))
    best = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(y) + cp.sum(cp.multiply(DIRECTIONS[1], y))), cut_ball(y)
    ).solve(solver="CLARABEL")
    assert res.success
    assert res.lower_bound - 1e-7 <= best <= res.fun + 1e-6
    for other in (copy.deepcopy(K), pickle.loads(pickle.dumps(K))):
        g = DIRECTIONS[0]
        assert np.allclose(np.asarray(other.lmo(g)), np.asarray(K.lmo(g)), atol=1e-6)
        assert other.radius == K.radius
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda g: float(K.lmo(g).dot(g)), DIRECTIONS))
    assert np.allclose(found, [least(cut_ball, g) for g in DIRECTIONS], atol=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: S.from_cvxpy([], np.zeros(2)), "x must be a real"),
        (lambda: S.from_cvxpy([], cp.Variable(2, integer=True)), "x must be a real"),
        (lambda: S.from_cvxpy([], cp.Variable()), "vector or a matrix"),
        (lambda: S.from_cvxpy([3], cp.Variable(2)), "constraints of CVXPY"),
        (lambda: of(lambda x: [cp.norm(x) >= 1.0], 2), "rules of convexity"),
        (lambda: of(lambda x: [x <= 1.0], 2), "bound"),
        (lambda: of(lambda x: [cp.norm(x[:1]) <= 1.0], 2), "bound"),
        (lambda: of(lambda x: [x <= 1.0, x >= 2.0], 2), "empty"),
        (lambda: of(lambda x: [cp.norm(x) <= 1.0, x >= 2.0], 2), "empty"),
        (lambda: of(cut_ball, radius=-1.0), "radius"),
        (lambda: of(lambda x: [x <= cp.Variable(2, integer=True), cp.norm(x) <= 1], 2), "integers"),
    ],
)
def test_what_is_no_compact_convex_set_is_refused(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"wolfpack\[cvxpy\]"):
        S.from_cvxpy([], None)
