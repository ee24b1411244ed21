"""Algorithms 2 and 3: as printed, feasible, below the theorems' bounds, with valid certificates."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wolfpack as wp
from problems import minimum, paper_simplex, paper_trace_ball, small_logistic, small_simplex


def as_printed(f, K, x0, alpha, M, draws):
    """Algorithm 2 transcribed line by line from the paper; ``draws`` are the perturbations."""
    L, R = f.L, K.radius
    A, d, y, x = 0.0, np.zeros_like(x0), f.gradient(x0), x0
    beta, mu = R * M / alpha, 1 / L
    for deltas in draws:
        root = math.sqrt(
            mu**2 * (beta + A) ** 2
            + 4 * A * beta**2 * mu
            + 5 * A**2 * mu * beta
            + 2 * A * mu * math.sqrt(mu * beta) * (beta + A)
        )
        A_next = (A * (mu + 2 * beta + math.sqrt(mu * beta)) + beta * mu + root) / (
            2 * (beta + math.sqrt(mu * beta))
        )
        tau = 1 - A / A_next
        v = (1 - tau) * y + tau * f.gradient(x)
        answers = [-K.lmo(-(-v + alpha * delta)).to_dense() for delta in deltas]
        g = sum(answers) / len(answers)
        d = d + (A_next - A) * g
        x = beta / (A_next + beta) * x0 - d / (A_next + beta)
        y = (1 - tau) * y + tau * f.gradient(x)
        A = A_next
    return x, y


@pytest.mark.parametrize("m", [1, 5])
def test_pfw_equals_the_printed_algorithm(m):
    f, K, x0 = small_simplex()
    law, streams = wp.noise.get("gaussian"), wp.arrays.Streams(7)
    draws = [law.sample(streams.at(k, 0), (m, *K.shape)) for k in range(60)]
    x, y = as_printed(f, K, x0, 0.05, 2.0, draws)
    res = wp.minimize(
        f,
        K,
        x0,
        method="pfw",
        alpha=0.05,
        M=2.0,
        m=m,
        noise="gaussian",
        seed=7,
        tol=0,
        max_rounds=60,
    )
    np.testing.assert_allclose(res.state.x, x, rtol=0, atol=1e-12)
    np.testing.assert_allclose(res.state.y, y, rtol=0, atol=1e-11 * abs(y).max())


@pytest.mark.parametrize("problem", [paper_simplex, paper_trace_ball, small_logistic])
@pytest.mark.parametrize("method", ["pfw", "r-pfw"])
def test_every_iterate_is_feasible_and_every_bound_valid(problem, method):
    f, K, x0 = problem()
    best = minimum(problem.__name__)
    options = {"alpha": 0.01} if method == "pfw" else {}
    outside = []
    res = wp.minimize(
        f,
        K,
        x0,
        method=method,
        tol=0,
        max_rounds=150,
        record_every=1,
        callback=lambda r: outside.append(K.violation(r.state.x)),
        **options,
    )
    assert max(outside) <= 1e-12
    assert np.all(res.history["lower_bound"] <= best + 1e-6)
    assert np.all(res.history["fun"] >= best - 1e-6)


def gaps_over_seeds(seeds, rounds, **options):
    """f(x_k) - d(y_k) of each round (not the best so far), one row per seed."""
    f, K, x0 = paper_simplex()
    rows = []
    for seed in seeds:
        run = {"method": "pfw", "tol": 0, "max_rounds": rounds, "record_every": 1, "seed": seed}
        res = wp.minimize(f, K, x0, **run, **options)
        rows.append(res.history["fun"] - res.history["lower_bound"])
    return np.array(rows)


@pytest.mark.parametrize("constants", ["paper", "sharp"])
@pytest.mark.parametrize(("alpha", "m"), [(1e-1, 1), (1e-1, 4), (1e-2, 10)])
def test_theorem_2(constants, alpha, m):
    f, K, x0 = paper_simplex()
    k = np.array([100, 300, 1000])
    gaps = gaps_over_seeds(range(8), 1000, alpha=alpha, m=m, constants=constants)[:, k]
    law = wp.noise.get("gumbel")
    M = wp.theory.smoothness(K, law, 1.0, constants)
    bound = wp.theory.bound_pfw(
        k,
        L=f.L,
        R=K.radius,
        M=M,
        alpha=alpha,
        m=m,
        initial_gap=f.value(x0) - minimum("paper_simplex"),
        s1=wp.theory.s1(K, law).value,
        constants=constants,
    )
    assert np.all(gaps.mean(axis=0) <= bound)


def test_theorem_2_would_notice_a_gap_above_its_floor():
    # the neighbourhood is not vacuous: a large alpha stays well above a small one's bound
    large = gaps_over_seeds(range(4), 1000, alpha=1.0, m=1)[:, -1].mean()
    small = gaps_over_seeds(range(4), 1000, alpha=1e-2, m=10)[:, -1].mean()
    assert large > 20 * small


def test_theorem_3_reaches_its_target():
    f, K, x0 = small_simplex()
    law, epsilon, m = wp.noise.get("gumbel"), 0.1, 8
    choice = wp.theory.parameters_for(
        epsilon,
        L=f.L,
        R=K.radius,
        M=wp.theory.smoothness(K, law, 1.0, "sharp"),
        m=m,
        initial_gap=f.value(x0) - minimum("small_simplex"),
        s1=wp.theory.s1(K, law).value,
        constants="sharp",
    )
    gaps = []
    for seed in range(5):
        res = wp.minimize(
            f,
            K,
            x0,
            method="pfw",
            alpha=choice.alpha,
            m=m,
            tol=0,
            max_rounds=choice.rounds,
            record_every=choice.rounds,
            seed=seed,
        )
        gaps.append(res.history["fun"][-1] - res.history["lower_bound"][-1])
    assert np.mean(gaps) <= epsilon


def test_long_runs_do_not_overflow():
    f, K, x0 = small_simplex()
    res = wp.minimize(
        f, K, x0, method="pfw", alpha=50.0, m=2, tol=0, max_rounds=3000, record_every=3000
    )
    assert math.isinf(res.state.A_k)
    assert K.contains(res.x)
    assert np.isfinite(res.gap)


def test_restarts_follow_the_printed_schedule():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="r-pfw", tol=0, max_rounds=400, shrink=0.5, record_every=1)
    alpha, m = res.history["alpha"][1:], res.history["m"][1:]
    expected_alpha, expected_m = [], []
    a = 1.0
    while len(expected_alpha) < 400:
        T = max(1, math.ceil(math.sqrt(f.L / a) * math.log(1 / a)))
        expected_alpha += [a] * T
        expected_m += [math.ceil(1 / math.sqrt(a))] * T
        a *= 0.5
    np.testing.assert_allclose(alpha, expected_alpha[:400])
    np.testing.assert_array_equal(m, expected_m[:400])


def test_certificate_restarts_do_not_lag_behind_the_schedule():
    f, K, x0 = paper_simplex()
    runs = {
        restart: wp.minimize(f, K, x0, method="r-pfw", restart=restart, tol=0, max_rounds=3000)
        for restart in ("schedule", "certificate")
    }
    assert runs["certificate"].gap <= 1.2 * runs["schedule"].gap
    assert runs["certificate"].state.alpha < runs["schedule"].state.alpha


@pytest.mark.parametrize("method", ["pfw", "r-pfw", "anytime"])
def test_same_seed_same_bits(method):
    f, K, x0 = paper_trace_ball()
    options = {"alpha": 0.01} if method == "pfw" else {}

    def one(seed):
        return wp.minimize(f, K, x0, method=method, m=4, tol=0, max_rounds=40, seed=seed, **options)

    assert one(3).x.tobytes() == one(3).x.tobytes()
    assert one(3).x.tobytes() != one(4).x.tobytes()


def test_reference_values_of_the_simplex_problem():
    f, K, x0 = paper_simplex()
    run = {"tol": 0, "max_rounds": 1000}
    assert wp.minimize(f, K, x0, method="fw", **run).gap == pytest.approx(0.15, rel=0.2)
    res = wp.minimize(f, K, x0, method="r-pfw", M=1.0, **run)
    assert res.gap == pytest.approx(4e-2, rel=0.3)


def test_reference_values_of_the_trace_ball_problem():
    f, K, x0 = paper_trace_ball()
    run = {"tol": 0, "max_rounds": 1000, "record_every": 10}
    assert wp.minimize(f, K, x0, method="fw", **run).gap == pytest.approx(6.3e-3, rel=0.2)
    res = wp.minimize(f, K, x0, method="r-pfw", M=1.0, **run)
    assert res.gap == pytest.approx(2.7e-3, rel=0.3)
