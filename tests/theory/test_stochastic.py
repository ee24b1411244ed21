"""Theorems N1 and N3: sums against loops, orders of decay, and arguments that are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack import theory

PROBLEM = {"L": 2.0, "C": 0.7, "s1": 3.0, "initial_gap": 1.5}


def bound(N, variance, sampling=0.0, theta=0.0):
    """Evaluate (3) of docs/theory/stochastic.md term by term."""
    L, C, b = PROBLEM["L"], PROBLEM["C"], PROBLEM["s1"]

    def A(k):
        return k * (k + 1) * (k + 2) / 6

    def alpha(k):
        tau = 3 / (k + 3)
        return max(
            2 * L * C * tau**2 / ((1 - theta) * (1 - tau)), math.sqrt(4.5 * variance * C / (b * k))
        )

    total = PROBLEM["initial_gap"] + alpha(1) * b
    for k in range(1, N):
        a = A(k + 1) - A(k)
        total += a * alpha(k) * b
        total += a**2 * C / (2 * alpha(k) * A(k + 1)) * 3 * variance
        total += a**2 * L * sampling / (2 * theta * A(k)) if sampling else 0.0
    return total / A(N)


@pytest.mark.parametrize("N", [1, 2, 7, 60])
@pytest.mark.parametrize(("sampling", "theta"), [(0.0, 0.0), (0.4, 0.5), (0.4, 0.2)])
def test_sums_are_those_of_the_theorem(N, sampling, theta):
    found = theory.bound_stochastic(
        N, variance=0.8, sampling=sampling, theta=theta if sampling else None, **PROBLEM
    )
    assert found == pytest.approx(bound(N, 0.8, sampling, theta))


def test_the_order_of_decay():
    noisy = theory.bound_stochastic([10**4, 10**6], variance=0.8, **PROBLEM)
    limit = 5.0912 * math.sqrt(0.8 * PROBLEM["C"] * PROBLEM["s1"])
    np.testing.assert_allclose(noisy * [100, 1000], limit, rtol=5e-3)
    exact = theory.bound_stochastic([10**3, 10**5], variance=0.0, **PROBLEM)
    assert exact[0] / exact[1] == pytest.approx(1e4, rel=1e-2)


def test_without_noise_it_is_theorem_a1_with_twice_the_smoothing():
    N = np.array([5, 50, 500])
    alone = theory.bound_stochastic(N, variance=0.0, **PROBLEM)
    double = theory.bound_anytime(
        N, L=2 * PROBLEM["L"], R=1.0, M=PROBLEM["C"], s1=PROBLEM["s1"], initial_gap=1.5, m="exact"
    )
    np.testing.assert_allclose(alone, double)


def test_a_table_of_all_rows_has_the_bound_of_frank_wolfe():
    N = np.array([1, 9, 99])
    whole = theory.bound_table(N, width=5.0, curvature=3.0, first=7.0)
    np.testing.assert_allclose(whole, 6.0 / (N + 1))
    old = theory.bound_table(N, width=5.0, curvature=3.0, first=7.0, age=4)
    np.testing.assert_allclose(old, (16 * 4 * 5.0 + 6.0) / (N + 1) + 8 * 9 * 7.0 / (N * (N + 1)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.bound_table(3, width=-1.0, curvature=1.0, first=1.0), "width"),
        (lambda: theory.bound_table(3, width=1.0, curvature=1.0, first=1.0, age=-1), "age"),
        (lambda: theory.bound_stochastic(0, variance=1.0, **PROBLEM), "N"),
        (lambda: theory.bound_stochastic(3, variance=-1.0, **PROBLEM), "variance"),
        (
            lambda: theory.bound_stochastic(3, variance=1.0, sampling=1.0, theta=0.0, **PROBLEM),
            "theta must be positive",
        ),
        (lambda: theory.stochastic_alpha(0, L=1.0, C=1.0, s1=1.0, variance=1.0), "k"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
