"""Accelerated projected gradient: rounds, certificates, domains, and sets without a projection."""

from __future__ import annotations

import numpy as np
import pytest

import rival_problems
import wolfpack as wp
from problems import minimum, paper_simplex, paper_trace_ball, projection, small_logistic
from wolfpack.solvers import Projected

PROJECTABLE = [name for name in rival_problems.CASES if not name.endswith("hull")]


@pytest.mark.parametrize("name", PROJECTABLE)
def test_agrees_with_an_independent_solver(name):
    f, K = rival_problems.case(name)
    res = wp.minimize(f, K, method="projected", tol=1e-8, max_rounds=500)
    best = rival_problems.minimum(name)
    assert res.success
    assert abs(res.fun - best) <= 1e-7
    assert np.all(res.history["lower_bound"] <= best + 1e-8)
    assert K.contains(res.x)


@pytest.mark.parametrize(
    ("problem", "tol", "rounds"),
    [(paper_simplex, 1e-6, 60), (paper_trace_ball, 1e-6, 90), (projection, 1e-10, 30)],
)
def test_takes_few_rounds(problem, tol, rounds):
    f, K, x0 = problem()
    res = wp.minimize(f, K, x0, method="projected", tol=tol, max_rounds=rounds)
    assert res.success


@pytest.mark.parametrize("problem", [paper_simplex, paper_trace_ball, small_logistic])
def test_bounds_are_valid_and_iterates_feasible(problem):
    f, K, x0 = problem()
    outside: list[float] = []
    res = wp.minimize(
        f, K, x0, method="projected", tol=0, callback=lambda r: outside.append(K.violation(r.x))
    )
    assert res.status == "stalled"
    assert max(outside) <= 1e-12
    assert np.all(res.history["lower_bound"] <= minimum(problem.__name__) + 1e-6)


def test_accelerates():
    # an ill-conditioned quadratic over a box that does not bind: 1/k would need 100 times as many
    Q = np.diag(np.logspace(-4, 0, 40))
    f = wp.objectives.Quadratic(Q, -Q @ np.full(40, 0.5))
    K = wp.sets.Box(-np.ones(40), np.ones(40))
    res = wp.minimize(f, K, -np.ones(40), method="projected", tol=1e-8, max_rounds=1700)
    assert res.success


def test_quadratics_take_one_gradient_a_round():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="projected", tol=0, max_rounds=40, L=f.L)
    # the estimate of L falls between rounds and must sometimes rise again
    assert res.njev <= 1.5 * res.nit


def test_first_estimate_of_L_is_found():
    f, K, x0 = paper_simplex()
    for L0 in (1e-12, None, 1e12):
        res = wp.minimize(f, K, x0, method="projected", L0=L0, tol=1e-6, max_rounds=600)
        assert res.success


def test_functions_that_end_at_the_border_of_the_set():
    # extrapolated points leave K, where this f has no value
    def f(x):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(-np.log(x + 1e-2).sum()), -1 / (x + 1e-2)

    K = wp.sets.Simplex(8)
    res = wp.minimize(f, K, np.eye(8)[0], method="projected", tol=1e-8, max_rounds=3000)
    assert res.success
    np.testing.assert_allclose(res.x, 1 / 8, atol=1e-4)


def test_certificates_are_the_only_oracle_calls():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="projected", tol=0, max_rounds=30, record_every=10)
    assert res.nlmo == 4


def test_a_flat_function_ends_at_once():
    res = wp.minimize(
        lambda x: (2.0, np.zeros(4)), wp.sets.Simplex(4), method="projected", tol=1e-9
    )
    assert res.success
    assert res.nit == 0


def test_sets_without_a_projection_are_refused_with_advice():
    f, K = rival_problems.case("quadratic hull")
    with pytest.raises(wp.CapabilityError, match=r"needs a set with a projection.*'corrective'"):
        wp.minimize(f, K, method="projected")


def test_options_are_checked():
    with pytest.raises(ValueError, match="L0"):
        Projected(L0=-1.0)
