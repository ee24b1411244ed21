"""Frank-Wolfe: the printed steps, the guarantee, line searches."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from problems import minimum, paper_simplex, small_logistic, small_simplex


def test_open_loop_takes_the_printed_steps():
    f, K, x0 = small_simplex()
    x = x0
    for k in range(30):
        g = f.A.T @ (f.A @ x - f.b)
        v = np.eye(8)[np.argmin(g)]
        x = x + 2 / (k + 2) * (v - x)
    seen = []
    wp.minimize(
        f, K, x0, method="fw", tol=0, max_rounds=30, callback=lambda r: seen.append(r.state.x)
    )
    np.testing.assert_allclose(seen[-1], x, rtol=1e-13)


def test_first_step_stays_in_the_set():
    f, K, x0 = paper_simplex()
    iterates = []
    wp.minimize(
        f, K, x0, method="fw", tol=0, max_rounds=3, callback=lambda r: iterates.append(r.state.x)
    )
    assert all(K.contains(x) for x in iterates)


@pytest.mark.parametrize("method", ["fw", "fw-short", "fw-ls"])
@pytest.mark.parametrize("problem", [small_simplex, small_logistic])
def test_gap_is_valid_and_obeys_the_rate(method, problem):
    f, K, x0 = problem()
    best = minimum(problem.__name__)
    res = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=300)
    assert res.fun - best <= 2 * f.L * K.diameter**2 / 302
    # the independent solver is accurate to about 1e-8
    assert res.lower_bound <= best + 1e-7 <= res.fun + 2e-7
    assert np.all(np.diff(res.history["gap"]) <= 0)


def test_line_search_is_exact_for_a_quadratic():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw-ls", tol=0, max_rounds=1)
    v = np.eye(8)[np.argmin(f.gradient(x0))]
    values = [f.value(x0 + t * (v - x0)) for t in np.linspace(0, 1, 2001)]
    assert res.fun <= min(values) + 1e-12


def test_line_search_agrees_with_the_closed_form():
    f, K, x0 = small_simplex()
    opaque = wp.objectives.Function(f.value_and_gradient, L=f.L)
    exact = wp.minimize(f, K, x0, method="fw-ls", tol=0, max_rounds=20)
    searched = wp.minimize(opaque, K, x0, method="fw-ls", tol=0, max_rounds=20)
    np.testing.assert_allclose(searched.x, exact.x, atol=1e-7)
    assert searched.njev > exact.njev


def test_line_search_never_raises_f():
    f, K, x0 = small_logistic()
    res = wp.minimize(f, K, x0, method="fw-ls", tol=0, max_rounds=100)
    assert np.all(np.diff(res.history["fun"]) <= 1e-15)


def test_slopes_along_a_line_are_derivatives():
    f, _, x0 = small_logistic()
    d = np.eye(6)[0] * 3 - x0
    slope = f.slope_along(x0, d)
    h = 1e-6
    difference = (f.value(x0 + (0.3 + h) * d) - f.value(x0 + (0.3 - h) * d)) / (2 * h)
    assert slope(0.3) == pytest.approx(difference, rel=1e-6)


def test_counts_are_one_gradient_and_one_oracle_per_round():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50)
    assert (res.nit, res.njev, res.nlmo) == (50, 51, 51)


def test_open_loop_needs_a_positive_ell():
    f, K, x0 = small_simplex()
    with pytest.raises(ValueError, match="ell must be a positive finite number"):
        wp.minimize(f, K, x0, method="fw", ell=-1.0)
