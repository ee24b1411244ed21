"""Theorems B1 and B2: no method that mixes answers is below them, and some come close."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack import sets, theory


def test_theorem_b1_as_printed():
    m = [3, 1, 4, 1, 5]
    bound = theory.lower_bound(np.arange(6), 40, m=lambda i: np.array(m)[i - 1], L=6.0, radius=2.0)
    calls = np.array([0, 3, 4, 8, 9, 14])
    np.testing.assert_allclose(bound, 0.5 * 6.0 * 4.0 * (1 / (1 + calls) - 1 / 40), rtol=1e-12)
    assert theory.lower_bound(200, 40) == 0.0


def test_theorem_b1_is_the_best_that_so_many_answers_allow():
    # the mean of n + 1 different vertices attains it
    d, n = 30, 6
    x = np.zeros(d)
    x[: n + 1] = 1 / (n + 1)
    assert 0.5 * x @ x - 0.5 / d == pytest.approx(theory.lower_bound(n, d), rel=1e-12)
    assert theory.lower_bound(2, d, m=3) == pytest.approx(theory.lower_bound(6, d), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_theorem_b2_against_all_supports(seed):
    from itertools import combinations

    rng = np.random.default_rng(seed)
    d, r = 6, 1.7
    t = rng.standard_normal(d) * (1.0 if seed % 2 else 0.2)
    errors = []
    for s in range(1, d + 1):
        found = []
        for support in combinations(range(d), s):
            x = np.zeros(d)
            x[list(support)] = sets.Simplex(s, r).project(t[list(support)])
            found.append(np.sum((x - t) ** 2))
        errors.append(min(found))
    expected = 1.5 * (np.array(errors) - errors[-1])
    bound = theory.lower_bound(np.arange(d), L=3.0, radius=r, target=t)
    np.testing.assert_allclose(bound, expected, atol=1e-12)
    zero = theory.lower_bound(np.arange(d), target=np.zeros(d))
    np.testing.assert_allclose(zero, theory.lower_bound(np.arange(d), d), atol=1e-12)


METHODS = {
    "fw": {}, "fw-ls": {}, "away": {}, "pairwise": {}, "bpcg": {}, "fcfw": {}, "momentum": {},
    "lazy": {}, "anytime": {"m": 4}, "pfw": {"m": 4, "alpha": 0.01}, "corrective": {"m": 4},
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_no_method_is_below_theorem_b1(method):
    d = 300
    f, K = wp.objectives.Quadratic(1.0, np.zeros(d)), sets.Simplex(d)
    options = METHODS[method]
    res = wp.minimize(f, K, np.eye(d)[0], method=method, tol=0, max_rounds=40, **options)
    excess = res.history["fun"] - 0.5 / d
    calls = res.history["nlmo"]
    assert np.all(excess >= theory.lower_bound(calls, d) * (1 - 1e-9))
    if method == "fcfw":  # a new vertex a round, weighed in the best way: the bound itself
        rounds = res.history["round"]
        np.testing.assert_allclose(excess, theory.lower_bound(rounds, d), rtol=1e-6)


def test_closed_forms_are_not_held_by_it():
    d = 300
    f, K = wp.objectives.Quadratic(1.0, np.zeros(d)), sets.Simplex(d)
    res = wp.minimize(f, K, np.eye(d)[0], method="anytime", m="exact", tol=0, max_rounds=10)
    assert res.fun - 0.5 / d < 0.1 * theory.lower_bound(10, d)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": -1, "d": 3}, "k must be an integer .* >= 0"),
        ({"k": 1}, "needs the dimension d, or a target"),
        ({"k": 1, "d": 3, "m": 0.5}, "m must be at least 1 in every round"),
        ({"k": 1, "d": 3, "L": 0.0}, "L must be a positive finite number"),
        ({"k": 1, "d": 3, "target": [1.0, 2.0]}, "target must hold 3 finite numbers"),
        ({"k": 1, "target": [1.0, np.nan]}, "target has 1 NaN"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        theory.lower_bound(**arguments)
