"""The weights A_k against the paper's printed formula and against the equation they solve."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from wolfpack import theory

CASES = [(1.0, 1.0, 1.0), (1e4, 1e-3, 1e-3), (50.0, 0.02, 3.0), (1e-3, 10.0, 0.1), (0.3, 0.1, 7.0)]


def printed(A, beta, mu, nu):
    """The update of Algorithm 1, letter for letter."""
    rho = math.sqrt(mu * beta)
    inside = (
        (beta * nu + mu * A) ** 2
        + 4 * A * beta**2 * nu
        + 5 * A**2 * mu * beta
        + 2 * A * rho * (beta * nu + A * mu)
    )
    return (A * (mu + 2 * beta + rho) + beta * nu + math.sqrt(inside)) / (2 * (beta + rho))


@pytest.mark.parametrize(("beta", "mu", "nu"), CASES)
def test_weights_are_the_printed_ones(beta, mu, nu):
    A = theory.step_weights(60, beta, mu, nu)
    assert A[0] == 0.0
    for k in range(60):
        assert A[k + 1] == pytest.approx(printed(A[k], beta, mu, nu), rel=1e-13)


@pytest.mark.parametrize(("beta", "mu", "nu"), [(4.0, 1.0, 1.0), (9.0, 4.0, 0.5), (0.25, 1.0, 2.0)])
def test_weights_solve_their_equation(beta, mu, nu):
    # in exact arithmetic (sqrt(mu beta) is rational here) the residual of the quadratic is rounding
    rho = Fraction(math.sqrt(mu * beta))
    A = theory.step_weights(40, beta, mu, nu)
    for a, b in pairwise(A[1:]):
        A_k, A_next = Fraction(a), Fraction(b)
        step = A_next - A_k
        left = Fraction(beta) * step**2 + rho * A_next * step
        right = A_next * (Fraction(mu) * A_k + Fraction(beta * nu))
        assert abs(float(left / right) - 1.0) < 1e-13


@pytest.mark.parametrize(("beta", "mu", "nu"), CASES)
def test_weights_are_the_largest_that_the_proof_allows(beta, mu, nu):
    rho = math.sqrt(mu * beta)
    A_k = theory.step_weights(7, beta, mu, nu)[-1]
    A_next, tau = theory.next_weight(A_k, beta, mu, nu)

    def slack(A):  # coefficient of -||z_{k+1} - z_k||^2 / 2 in the proof of Proposition 3
        return mu * A_k + beta * nu - beta * (A - A_k) ** 2 / A - rho * (A - A_k)

    assert slack(A_next * (1 - 1e-9)) > 0 > slack(A_next * (1 + 1e-9))
    assert tau == pytest.approx(1 - A_k / A_next, rel=1e-9)


def test_overflow_is_infinity_and_steps_stay_finite():
    A = theory.step_weights(3000, 1.0, 1.0, 1.0)
    assert A[-1] == math.inf
    assert not np.any(np.isnan(A))
    last = float(A[np.isfinite(A)][-1])
    _, tau = theory.next_weight(last, 1.0, 1.0, 1.0)
    assert theory.next_weight(math.inf, 1.0, 1.0, 1.0) == (math.inf, pytest.approx(tau, rel=1e-12))


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_weights_do_not_depend_on_the_unit(unit):
    # beta and mu in another unit leave A_k, whose unit is nu's, as it is
    np.testing.assert_allclose(
        theory.step_weights(30, 5.0 * unit, 0.1 * unit, 2.0),
        theory.step_weights(30, 5.0, 0.1, 2.0),
        rtol=1e-12,
    )


def test_algorithm_2_depends_on_its_constants_through_one_ratio():
    # A_k / beta for mu = nu = 1/L is a function of alpha / (L R M) alone
    def reduced(L, R, M, alpha):
        beta = R * M / alpha
        return theory.step_weights(50, beta, 1 / L, 1 / L) / beta

    np.testing.assert_allclose(
        reduced(2.0, 3.0, 0.5, 0.01), reduced(60.0, 1.0, 1.0, 0.2), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": -1}, "n must be an integer >= 0, found -1"),
        ({"n": 2.5}, "n must be an integer"),
        ({"beta": 0.0}, "beta must be a positive finite number, found 0.0"),
        ({"mu": -1.0}, "mu must be a positive finite number"),
        ({"nu": math.nan}, "nu must be a positive finite number, found nan"),
        ({"nu": "one"}, "nu must be a positive finite number, found 'one'"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"n": 3, "beta": 1.0, "mu": 1.0, "nu": 1.0} | change
    with pytest.raises(ValueError, match=message):
        theory.step_weights(**arguments)
