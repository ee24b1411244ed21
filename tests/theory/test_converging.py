"""Theorem C1: the weights meet its condition, its bound holds and tends to zero."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack import theory

CASES = [(1.0, 0.01, 1.0, 0.5), (1.0, 1.0, 0.3, 0.5), (10.0, 0.1, 1.0, 0.0), (1.0, 5.0, 1.0, 0.9)]


@pytest.mark.parametrize(("beta", "mu", "nu", "theta"), CASES)
def test_weights_meet_the_condition(beta, mu, nu, theta):
    A = theory.converging_weight(np.arange(2000), beta, mu, nu, theta=theta)
    a = np.diff(A)
    free = mu * A[:-1] + beta * nu
    assert np.all(beta * a**2 / A[1:] <= (1 - theta) * free * (1 + 1e-12))
    k = np.arange(1, 1999)
    switch = theory.converging_switch(beta, mu, theta)
    tau = a[1:] / A[2:]
    np.testing.assert_allclose(tau, np.where(k < switch, 2 / (k + 2), 3 / (k + 3)), rtol=1e-9)


@pytest.mark.parametrize(("beta", "mu", "nu", "theta"), CASES)
def test_switch_is_the_first_round_that_can(beta, mu, nu, theta):
    switch = theory.converging_switch(beta, mu, theta)
    need = 9 * beta / ((1 - theta) * mu)
    assert switch * (switch + 3) >= need * (1 - 1e-12)
    assert switch == 1 or (switch - 1) * (switch + 2) < need


def test_rates():
    problem = {"beta": 50.0, "mu": 0.2, "nu": 2.0, "divergence": 3.0}
    N = np.array([10, 100, 1000, 10_000])
    quiet = theory.bound_converging(N, **problem)
    assert np.all(quiet <= 4 * 50.0 * 3.0 / (0.5 * 2.0 * N * (N + 1.0)) * (1 + 1e-12))
    assert quiet[-1] / quiet[-2] == pytest.approx(1e-3, rel=0.01)
    noisy = theory.bound_converging(10**6, **problem, variance=0.7)
    assert noisy * 10**6 == pytest.approx(2.25 * 0.7 / 0.2, rel=0.01)
    batches = theory.bound_converging(10**6, **problem, variance=0.7, m=lambda k: k + 1)
    assert batches * 10**12 == pytest.approx(4.5 * 0.7 / 0.2, rel=0.02)


@pytest.mark.parametrize(("beta", "mu", "nu", "theta"), CASES)
@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_mean_error_is_below_the_bound(beta, mu, nu, theta, sigma):
    # Algorithm 1 with G quadratic, H = mu/2 ||.||^2, w = nu/2 ||.||^2, runs side by side
    runs, rounds, d = (1 if sigma == 0 else 60), 300, 20
    rng = np.random.default_rng(0)
    curvature, slope = np.linspace(0, beta, d), beta * rng.standard_normal(d)
    y_star = slope / (curvature + mu)
    A = theory.converging_weight(np.arange(rounds + 1), beta, mu, nu, theta=theta)
    y, z, total = (np.zeros((runs, d)) for _ in range(3))
    mean = []
    for k in range(rounds):
        a = A[k + 1] - A[k]
        tau = a / A[k + 1]
        v = (1 - tau) * y + tau * z
        noise = sigma / np.sqrt(d) * rng.standard_normal((runs, d))
        total = total + a * (curvature * v - slope + noise)
        z = -total / (A[k + 1] * mu + beta * nu)
        y = (1 - tau) * y + tau * z
        mean.append(0.5 * np.mean(np.sum((curvature + mu) * (y - y_star) ** 2, axis=1)))
    bound = theory.bound_converging(
        np.arange(1, rounds + 1), beta, mu, nu, 0.5 * nu * y_star @ y_star, sigma**2, theta=theta
    )
    assert np.all(mean <= bound)
    # past the paper: below the radius sigma^2 / (2 sqrt(mu beta)) of Algorithm 1's ball
    assert sigma == 0 or mean[-1] < sigma**2 / (2 * np.sqrt(mu * beta))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"N": 0}, "N must be an integer .* >= 1"),
        ({"theta": 1.0}, "theta must be a number in .0, 1"),
        ({"mu": 0.0}, "mu must be a positive finite number"),
        ({"nu": -1.0}, "nu must be a positive finite number"),
        ({"variance": -1.0}, "variance must be a number >= 0"),
        ({"m": 0}, "m must be at least 1"),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"N": 5, "beta": 1.0, "mu": 1.0, "nu": 1.0, "divergence": 1.0} | change
    with pytest.raises(ValueError, match=message):
        theory.bound_converging(**arguments)


@pytest.mark.parametrize(("beta", "mu", "theta"), [(1.0, 1.0, 0.5), (900.0, 0.1, 0.0)])
def test_the_weights_of_solvers_are_these(beta, mu, theta):
    weights = theory.converging_weight(np.arange(400), beta, mu, 2.0, theta=theta)
    for k in range(399):
        A_next, tau = theory.next_converging_weight(k, weights[k], beta, mu, 2.0, theta)
        assert A_next == pytest.approx(weights[k + 1], rel=1e-14)
        assert tau == pytest.approx(1 - weights[k] / weights[k + 1], abs=1e-14)
