"""Theorem C4 with the weights that it is proved for, for batches of every size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack import theory

GRID = [
    (beta, mu, ell, m)
    for beta in (1e-2, 1.0, 1e3)
    for mu in (1e-6 * beta, 1e-3 * beta, 0.3 * beta, 20 * beta)
    for ell in (beta, 50 * beta)
    for m in (1, 7, 9 * ell / beta, 8 * ell / math.sqrt(mu * beta) + 1, 1e5)
    if m >= 1
]


def test_formulas():
    assert theory.anchor_rho(1.0, 1e-2, 5.0, 4, q=0.5) == pytest.approx(2 * 5 / (0.5 * 4))
    assert theory.anchor_rho(1.0, 1e-2, 5.0, 1e6) == pytest.approx(0.1)
    A = theory.step_weights(9, 1.0, 1e-2, 1.0, 10.0)[-1]
    assert theory.bound_anchor(9, 1.0, 1e-2, 5.0, 4) == pytest.approx(0.25 + 1.0 / (1e-2 * A))
    # rho = 8 * 5 / 4
    expected = math.ceil(math.sqrt(2) * 1e3) + math.ceil(math.log(5) / math.log1p(1e-3 / 3))
    assert theory.rounds_to_halve(1.0, 1e-2, 5.0, 4) == expected


@pytest.mark.parametrize("rho", [0.05, 1.0, 40.0])
def test_weights_keep_rho_for_noise(rho):
    # Proposition P2: beta a^2/A' + rho a = mu A + beta nu
    beta, mu, nu = 3.0, 1e-3, 0.7
    A = theory.step_weights(60, beta, mu, nu, rho)
    a = np.diff(A)
    np.testing.assert_allclose(beta * a**2 / A[1:] + rho * a, mu * A[:-1] + beta * nu, rtol=1e-9)
    own = theory.step_weights(60, beta, mu, nu, math.sqrt(mu * beta))
    np.testing.assert_allclose(own, theory.step_weights(60, beta, mu, nu), rtol=1e-12)


def test_the_excess_is_halved_for_every_batch():
    for beta, mu, ell, m in GRID:
        rounds = theory.rounds_to_halve(beta, mu, ell, m)
        if rounds > 200_000:
            continue
        assert theory.bound_anchor(rounds, beta, mu, ell, m) <= 0.5 * (1 + 1e-9)
        # no more than six times as many as the weights themselves ask for
        assert theory.bound_anchor(max(1, rounds // 6), beta, mu, ell, m) > 0.5


def test_rows_to_halve_do_not_depend_on_the_batch():
    beta, mu, ell = 1.0, 1e-4, 10.0
    least = theory.rounds_to_halve(beta, mu, ell, 1)
    for m in (10, 81, 1000, 8000):  # beyond 8 l/beta = 80, up to 8 l/sqrt(mu beta) = 8,000
        rows = m * theory.rounds_to_halve(beta, mu, ell, m)
        assert rows <= 1.02 * least
        assert rows <= 50 * ell / mu + 4 * m
    # and with larger batches rounds stay where acceleration ends
    assert theory.rounds_to_halve(beta, mu, ell, 1e6) == theory.rounds_to_halve(beta, mu, ell, 8000)


def epoch(A, b, mu, anchor, m, rounds, rho, beta, rng):
    """Algorithm 1 around an anchor, on mean of squares / 2 + mu/2 ||y||^2; its last point."""
    n = len(A)
    full = A.T @ (A @ anchor - b) / n
    y, z, d, A_k = anchor, anchor, np.zeros_like(anchor), 0.0
    for _ in range(rounds):
        A_next, tau = theory.next_weight(A_k, beta, mu, 1.0, rho=rho)
        v = (1 - tau) * y + tau * z
        rows = A[rng.integers(n, size=m)]
        g = rows.T @ (rows @ (v - anchor)) / m + full
        d = d + (A_next - A_k) * g
        # argmin <d, y> + A' mu/2 ||y||^2 + beta/2 ||y - anchor||^2
        z = (beta * anchor - d) / (A_next * mu + beta)
        y, A_k = (1 - tau) * y + tau * z, A_next
    return y


@pytest.mark.parametrize("m", [1, 60, 2000])
def test_theorem_c4_over_seeds(m):
    rng = np.random.default_rng(0)
    n, d = 40, 4
    A = rng.standard_normal((n, d)) * np.array([2.0, 1.0, 0.5, 0.2])
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    H = A.T @ A / n
    beta, ell = np.linalg.eigvalsh(H)[-1], np.max(np.sum(A**2, axis=1))
    mu = 0.02 * beta
    Q = H + mu * np.eye(d)
    best = np.linalg.solve(Q, A.T @ b / n)
    anchor = best + rng.standard_normal(d)

    def excess(y):
        return 0.5 * (y - best) @ Q @ (y - best)

    regimes = [1, 8 * ell / beta, 8 * ell / math.sqrt(mu * beta)]
    assert regimes[0] <= m
    rho = theory.anchor_rho(beta, mu, ell, m)
    rounds = min(theory.rounds_to_halve(beta, mu, ell, m), 2500)
    bound = theory.bound_anchor(rounds, beta, mu, ell, m)
    assert bound <= 0.5 or m == 1
    runs = [
        excess(epoch(A, b, mu, anchor, m, rounds, rho, beta, np.random.default_rng(s)))
        for s in range(8)
    ]
    assert np.mean(runs) <= bound * excess(anchor)


def test_steps_of_algorithm_1_alone_are_too_long_for_one_row():
    # the theorem's rho matters: without it single rows diverge
    rng = np.random.default_rng(1)
    A = rng.standard_normal((40, 4)) * np.array([3.0, 0.1, 0.1, 0.1])
    b = rng.standard_normal(40)
    beta, mu = np.linalg.eigvalsh(A.T @ A / 40)[-1], 1e-3
    ell = np.max(np.sum(A**2, axis=1))
    safe = theory.anchor_rho(beta, mu, ell, 1)
    start = np.ones(4)
    far = epoch(A, b, mu, start, 1, 400, None, beta, np.random.default_rng(2))
    near = epoch(A, b, mu, start, 1, 400, safe, beta, np.random.default_rng(2))
    assert np.linalg.norm(far) > 1e3 * np.linalg.norm(near)
