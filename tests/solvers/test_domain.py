"""Functions with a domain: steps are shortened, starts are searched for, broken ones are named."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq

import wolfpack as wp
from wolfpack.front.methods import METHODS, PARTICULAR
from wolfpack.loop.monitor import SmoothnessWarning
from wolfpack.problem import NonFiniteError
from wolfpack.problem.errors import named_point
from wolfpack.solvers.parts.domain import shortened

GRADIENTS = [name for name in METHODS if name not in PARTICULAR]
RNG = np.random.default_rng(0)
V = RNG.standard_normal((12, 3))
RETURNS = np.exp(0.3 * RNG.standard_normal((20, 8)))
RETURNS[:, 0] -= 0.9
SLOW = {"pfw": 1.0, "r-pfw": 0.1, "fw-short": 0.05, "fw": 0.01, "fw-ls": 0.01, "lazy": 0.01}
SLOW |= {"momentum": 0.05}
"""Gaps that methods with an L of the user's, or without corrections, reach in few rounds."""


def d_optimal(x):
    M = (V * x[:, None]).T @ V
    w, U = np.linalg.eigh(M)
    if w[0] <= 1e-13 * w[-1]:
        return math.inf, np.full(12, np.nan)
    return -np.log(w).sum(), -(((V @ U) ** 2) / w).sum(1)


def a_optimal(x):
    M = (V * x[:, None]).T @ V
    w, U = np.linalg.eigh(M)
    if w[0] <= 1e-13 * w[-1]:
        return math.nan, np.zeros(12)
    return (1 / w).sum(), -(((V @ U) / w) ** 2).sum(1)


def log_utility(x):
    z = RETURNS @ x
    if z.min() <= 0:
        return math.inf, np.full(8, np.nan)
    return -np.log(z).mean(), -(RETURNS / z[:, None]).mean(0)


def edge(n):
    """A point of the simplex near a vertex, with weight on four vertices."""
    return np.array([0.02, 0.02, 0.02, 0.94] + [0.0] * (n - 4))


FUNCTIONS = {
    "d-optimal": (d_optimal, wp.objectives.DOptimal(V), 12, 40.0),
    "a-optimal": (a_optimal, wp.objectives.AOptimal(V), 12, 300.0),
    "log utility": (log_utility, wp.objectives.LogUtility(RETURNS), 8, 20.0),
}


def solve(f, K, x0, method, L, **options):
    if method in ("pfw", "r-pfw", "fw-short", "cgs"):
        options["L"] = L
    if method == "pfw":
        options["alpha"] = 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmoothnessWarning)  # no L is large enough
        return wp.minimize(f, K, x0, method, **options)


RUNS = [
    pytest.param(name, own, marks=() if own == (name != "d-optimal") else pytest.mark.slow)
    for name in FUNCTIONS
    for own in (True, False)
]
"""Functions built in and as callables, the latter from a start near the edge."""


@pytest.mark.parametrize(("name", "own"), RUNS)
@pytest.mark.parametrize("method", GRADIENTS)
def test_every_method_reaches_a_certificate(method, name, own):
    call, f, n, L = FUNCTIONS[name]
    K = wp.sets.Simplex(n)
    tol = SLOW.get(method, 1e-3) * (10 if name == "a-optimal" else 1)
    x0 = None if own else edge(n)
    res = solve(f if own else call, K, x0, method, L, tol=tol, max_rounds=3000)
    assert res.success, (res.status, res.gap, res.message)
    assert K.contains(res.x)
    best = wp.minimize(f, K, tol=1e-9)
    assert res.lower_bound <= best.fun + 1e-9
    assert res.fun >= best.lower_bound - 1e-9


@pytest.mark.parametrize("method", GRADIENTS)
def test_a_start_is_searched_for_where_a_vertex_is_outside(method):
    vertices = wp.sets.Oracle(lambda g: np.eye(12)[g.argmin()], shape=(12,), radius=1.0)
    if method == "projected":
        pytest.skip("needs a projection")
    res = solve(d_optimal, vertices, None, method, 40.0, tol=1e-3, max_rounds=20)
    assert "a point of its domain was searched for" in res.message
    assert math.isfinite(res.fun)
    assert math.isfinite(res.gap)
    again = solve(d_optimal, vertices, None, method, 40.0, tol=1e-3, max_rounds=20)
    np.testing.assert_array_equal(res.x, again.x)


def test_no_start_is_found_for_a_function_without_a_domain():
    with pytest.raises(ValueError, match=r"nor at any of [0-9]+ points inside K"):
        wp.minimize(lambda x: (math.inf, x), wp.sets.Hypersimplex(6, 2))


def test_a_user_s_start_outside_the_domain_is_named():
    with pytest.raises(ValueError, match=r"not finite at the starting point x0 = .*leave x0 out"):
        wp.minimize(d_optimal, wp.sets.Simplex(12), np.eye(12)[0])


@pytest.mark.parametrize("rule", ["open-loop", "backtracking", "secant", "line-search"])
def test_every_rule_stays_inside(rule):
    res = wp.minimize(
        d_optimal,
        wp.sets.Simplex(12),
        edge(12),
        method=wp.solvers.FrankWolfe(rule),
        tol=0.02,
        max_rounds=3000,
    )
    assert res.success, (res.status, res.gap)


def test_matrices_of_low_rank_stay_inside():
    target = np.diag([1.0, 2.0, 3.0])

    def f(X):  # infinite unless X is positive definite
        w = np.linalg.eigvalsh(0.5 * (X + X.T))
        if w[0] <= 1e-12:
            return math.inf, np.full((3, 3), np.nan)
        return float(np.sum(X * target) - np.log(w).sum()), target - np.linalg.inv(X)

    res = wp.minimize(f, wp.sets.Spectrahedron(3, 4.0), method="corrective", tol=1e-6)
    assert res.success
    entries = np.diag(target)  # the minimiser is (target + s)^-1, with the s that gives trace 4
    s = brentq(lambda s: (1 / (entries + s)).sum() - 4.0, -0.9, 0.0)
    exact = (entries / (entries + s)).sum() + np.log(entries + s).sum()
    assert res.lower_bound <= exact <= res.fun + 1e-12


def test_the_heavy_ball_and_lazy_variants_stay_inside():
    K, x0 = wp.sets.Simplex(12), edge(12)
    for method in (
        wp.solvers.Momentum("heavy-ball"),
        wp.solvers.BlendedPairwise(lazy=True),
        wp.solvers.Anytime(m=8),
        wp.solvers.Anytime(kappa=1.0),
    ):
        res = wp.minimize(d_optimal, K, x0, method, tol=0.05, max_rounds=3000)
        assert res.success, (method, res.status, res.gap)


@pytest.mark.parametrize("method", ["momentum", "cgs"])
def test_rounds_that_are_not_recorded_stay_inside(method):
    options = {"tol": 0.02, "max_rounds": 3000, "record_every": 7}
    res = solve(d_optimal, wp.sets.Simplex(12), edge(12), method, 40.0, **options)
    assert res.success


def test_finite_functions_are_evaluated_as_often_as_before():
    calls = []

    def f(x):
        calls.append(1)
        return float(x @ x), 2 * x

    options = {"method": "fw", "tol": 0, "max_rounds": 10, "checks": False}
    res = wp.minimize(f, wp.sets.Simplex(5), np.eye(5)[0], **options)
    assert len(calls) == res.nfev == 11


@pytest.mark.parametrize("method", GRADIENTS)
def test_a_function_that_is_cut_off_is_nonfinite(method):
    # it falls towards the edge of its "domain", which is a constraint
    def f(x):
        return (float(x @ x - 3 * x[0]), 2 * x - [3.0, 0, 0]) if x[0] < 0.8 else (math.inf, x)

    x0 = np.array([0.5, 0.25, 0.25])
    options = {"max_rounds": 3000, "tol": 1e-9}
    res = solve(f, wp.sets.Simplex(3), x0, method, 2.0, **options)
    assert res.status == "nonfinite"
    assert res.x[0] < 0.8
    assert res.gap > 0.1
    assert "make it a part of K" in res.message
    assert "x = [0.8" in res.message


@pytest.mark.parametrize("method", ["fw-short", "fw-ls", "away"])
def test_a_function_with_a_hole_is_broken(method):
    # not finite at 0.4 <= x[0] <= 0.9, and finite on both sides
    def f(x):
        hole = 0.4 <= x[0] <= 0.9
        gradient = np.array([4 * (x[0] - 0.95) ** 3, 0.0])
        return (math.nan if hole else (x[0] - 0.95) ** 4), gradient

    x0 = np.array([0.1, 0.9])
    options = {"L": 6.0} if method == "fw-short" else {}
    res = wp.minimize(f, wp.sets.Simplex(2), x0, method, tol=1e-9, max_rounds=50, **options)
    assert res.status == "nonfinite"
    assert "finite at two points and not between them" in res.message
    assert "at x = [0." in res.message
    assert 0.1 - 1e-12 <= res.x[0] < 0.4


def test_an_exception_of_f_comes_out_as_it_is():
    def f(x):
        return math.log(x[0] - 0.5), x

    with pytest.raises(ValueError, match="math domain error"):
        wp.minimize(f, wp.sets.Simplex(2), np.array([0.9, 0.1]), method="fw", checks=False)


def test_shortened_halves_and_gives_up():
    def attempt(t, limit=0.3):
        if t > limit:
            raise NonFiniteError("f is not finite", np.array([t]))
        return -t

    x = np.zeros(1)
    assert shortened(attempt, 1.0, x) == (0.25, -0.25)
    assert shortened(attempt, 0.2, x, end=1.0) == (0.2, -0.2)
    with pytest.raises(NonFiniteError, match=r"make it a part of K.* at x = \[\d"):
        shortened(lambda t: attempt(t, 0.0), 1.0, x)
    with pytest.raises(NonFiniteError, match=r"finite at two points.* at x = \[0.5\]"):
        shortened(lambda t: attempt(t, math.inf if t == 1.0 else 0.3), 0.5, x, end=1.0)


def test_points_are_named():
    assert named_point(np.array([1.0, -0.5])) == "[1, -0.5]"
    long = np.zeros(100)
    long[[3, 50]] = 3.0, -4.0
    assert named_point(long).startswith("(norm 5; largest entries x[0] = 0, ")
    assert "x[3] = 3" in named_point(long)
    assert "x[50] = -4" in named_point(long)
    assert "rank" in str(NonFiniteError("no", wp.arrays.LowRank.zeros((3, 2)))).lower()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_start_is_found_where_all_entries_must_have_one_sign(sign):
    """The middle of a ball is outside the domain, and so is the mean of answers on all sides."""

    def barrier(x):
        z = sign * x
        return (-float(np.log(z).sum()), -sign / z) if z.min() > 0 else (np.inf, np.nan * x)

    res = wp.minimize(barrier, wp.sets.L2Ball(6), max_rounds=200)
    assert res.success
    np.testing.assert_allclose(res.x, sign / np.sqrt(6), atol=1e-2)
