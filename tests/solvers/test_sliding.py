"""Conditional gradient sliding: Lan and Zhou's bounds, exactly as printed."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from problems import minimum, small_logistic, small_simplex


@pytest.mark.parametrize("make", [small_simplex, small_logistic])
def test_the_rate_is_that_of_the_theorem(make):
    f, K, x0 = make()
    res = wp.minimize(f, K, x0, method="cgs", tol=0, max_rounds=60)
    k = res.history["round"][1:]
    error = res.history["fun"][1:] - minimum(make.__name__)
    bound = 15 * f.L * K.diameter**2 / (2 * (k + 1) * (k + 2))
    assert np.all(error <= bound + 1e-8)


def test_inner_calls_stay_within_their_bound():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="cgs", tol=0, max_rounds=40)
    calls = np.diff(res.history["nlmo"])
    k = res.history["round"][1:]
    # at most 18 k steps, the first question and the certificate
    assert np.all(calls <= 18 * k + 2)
    assert np.any(calls > 3)


def test_one_gradient_per_round():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="cgs", tol=0, max_rounds=30, record_every=30)
    # the start, 30 rounds, and f(y_30) for the record
    assert res.njev == 32


def reference(f, K, x0, rounds):
    """The printed iteration on the simplex."""
    L, D = f.L, K.diameter
    x, y = x0, x0
    for k in range(1, rounds + 1):
        gamma, beta, eta = 3 / (k + 2), 3 * L / (k + 1), L * D**2 / (k * (k + 1))
        g = f.gradient((1 - gamma) * y + gamma * x)
        u = x
        while True:
            p = g + beta * (u - x)
            v = np.eye(len(u))[np.argmin(p)]
            if p @ (u - v) <= eta:
                break
            u = u + min(1.0, p @ (u - v) / (beta * np.sum((v - u) ** 2))) * (v - u)
        x = u
        y = (1 - gamma) * y + gamma * x
    return y


def test_the_steps_are_the_printed_ones():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="cgs", tol=0, max_rounds=25)
    np.testing.assert_allclose(res.state.x, reference(f, K, x0, 25), atol=1e-12)


def test_L_is_asked_for():
    f = wp.objectives.Function(lambda x: (float(x @ x), 2 * x))
    with pytest.raises(ValueError, match="'cgs' needs L"):
        wp.minimize(f, wp.sets.Simplex(3), method="cgs")
    assert wp.minimize(f, wp.sets.Simplex(3), method="cgs", L=2.0, tol=1e-2).success
