"""Fully corrective Frank-Wolfe: optimal over every hull, few oracle calls, quadratic or not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex
from rival_problems import CASES, Traffic, case, minimum


def test_the_paper_simplex_takes_about_45_oracle_calls():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="fcfw", tol=1e-6, max_rounds=60)
    assert res.success
    assert res.nlmo <= 45


def spread(f, state):
    """The largest minus the smallest slope among the vertices that have weight."""
    scores = state.active.scores(f.gradient(state.x))[state.active.weights > 0]
    return scores.max() - scores.min()


def test_each_correction_of_a_quadratic_is_exact():
    f, K, x0 = paper_simplex()
    seen = []
    wp.minimize(f, K, x0, method="fcfw", tol=1e-8, callback=lambda r: seen.append(r.state))
    scale = abs(f.gradient(x0)).max()
    assert len(seen) > 20
    assert max(spread(f, state) for state in seen[1:]) <= 1e-11 * scale


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("logistic")])
def test_newton_corrections_reach_their_accuracy(name):
    f, K = case(name)
    seen = []
    res = wp.minimize(
        f, K, method="fcfw", accuracy=0.05, tol=1e-9, callback=lambda r: seen.append(r.state)
    )
    assert res.success
    for before, after in itertools.pairwise(seen):
        g = before.at.gradient
        gap = g @ before.x - before.vertex.dot(g)
        assert spread(f, after) <= 0.05 * gap + 1e-14
    assert res.fun == pytest.approx(minimum(name), abs=1e-8)


def test_one_oracle_call_and_one_gradient_per_round_of_a_quadratic():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="fcfw", tol=0, max_rounds=12)
    assert (res.nit, res.nlmo, res.njev) == (12, 13, 13)


def test_a_quadratic_without_a_known_hessian_takes_as_many_calls():
    f, K, x0 = paper_simplex()
    unknown = wp.objectives.Function(lambda x: f(x))
    known = wp.minimize(f, K, x0, method="fcfw", tol=1e-6)
    blind = wp.minimize(unknown, K, x0, method="fcfw", tol=1e-6, accuracy=1e-3)
    assert blind.success
    assert abs(blind.nlmo - known.nlmo) <= 5


def test_the_minimum_over_a_polytope_is_met_after_finitely_many_rounds():
    f, K = case("quadratic hull")
    res = wp.minimize(f, K, method="fcfw", tol=1e-13, max_rounds=30)
    assert res.gap <= 1e-12
    assert res.nit <= 12


def test_traffic_needs_fewer_shortest_paths_than_any_line_search():
    street = Traffic()
    calls = {
        method: wp.minimize(
            street.f,
            street.K,
            street.x0,
            method=method,
            tol=0,
            rtol=1e-4,
            max_rounds=60,
            convex=True,
        ).nlmo
        for method in ("fcfw", "conjugate", "biconjugate", "bpcg")
    }
    assert calls["fcfw"] <= 10
    assert calls["fcfw"] < min(calls["conjugate"], calls["biconjugate"], calls["bpcg"])


def test_accuracy_and_inner_are_checked():
    with pytest.raises(ValueError, match="accuracy must be"):
        wp.solvers.FullyCorrective(accuracy=0.0)
    with pytest.raises(ValueError, match="inner must be"):
        wp.solvers.FullyCorrective(inner=0)


def test_a_step_without_effect_ends_a_correction():
    # f flat along the hull: Newton's step has nothing to gain
    f = wp.objectives.Function(lambda x: (1.0, np.zeros(3)))
    res = wp.minimize(f, wp.sets.Simplex(3), method="fcfw", tol=1e-9)
    assert res.success


def test_a_hessian_that_is_not_finite_ends_the_run():
    start = np.array([0.2, 0.3, 0.5])

    def f(x):
        return float(x @ x), 2 * x if np.array_equal(x, start) else np.full(3, np.nan)

    res = wp.minimize(f, wp.sets.Simplex(3), start, method="fcfw", tol=1e-9)
    assert res.status == "nonfinite"
    np.testing.assert_array_equal(res.x, start)
