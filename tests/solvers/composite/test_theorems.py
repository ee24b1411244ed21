"""Theorems 1 and C1: measured errors below the bounds, the bound above the worst case."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from PEPit import PEP
from PEPit.functions import SmoothConvexFunction, StronglyConvexFunction
from PEPit.primitive_steps import proximal_step

import wolfpack as wp
from wolfpack import theory
from wolfpack.regularizers import ElasticNet, Entropy, SimplexRidge, SquaredNorm

N, D = 24, 5
RNG = np.random.default_rng(3)
A = RNG.standard_normal((N, D))
B = A @ np.array([0.5, 0.2, 0.0, 0.3, 0.0]) + 0.3 * RNG.standard_normal(N)
LEAST_SQUARES = wp.objectives.LeastSquares(A, B)
LOGISTIC = wp.objectives.Logistic(A, np.sign(B))

# variances are bounded: least squares on bounded domains only
PROBLEMS = {
    "ridge": (LOGISTIC, SquaredNorm(0.1)),
    "elastic net": (LOGISTIC, ElasticNet(0.02, 0.05)),
    "simplex": (LEAST_SQUARES, SimplexRidge(D, 3.0)),
    "entropy": (LEAST_SQUARES, Entropy(1.0)),
    "entropy, logistic": (LOGISTIC, Entropy(0.05)),
}


def divergence(H, y, y0):
    """D_w(y, y0) for H's own geometry."""
    if isinstance(H, Entropy):
        return float((y * np.log(y / y0)).sum())
    return 0.5 * float((y - y0) @ (y - y0))


def exact_variance(G, H, v, batch):
    """The variance at v of a uniform batch, in the dual norm or (large batches) in l2 above it."""
    rows = np.array([G.minibatch_gradient(v, np.array([i])) for i in range(N)]) - G.gradient(v)
    if H.norm == "l2" or batch > 2:
        return (rows**2).sum(axis=1).mean() * (N - batch) / (batch * (N - 1))
    batches = np.array(list(combinations(range(N), batch)))
    return float((abs(rows[batches].mean(axis=1)).max(axis=1) ** 2).mean())


def measure(G, H, batch, rounds, method, seeds=12):
    """Return the mean of F(y_k) - min F over seeds, and the constants of the theorems."""
    best = wp.minimize_composite(G, H, tol=1e-10, max_rounds=20_000)
    assert best.success
    total, variance = 0.0, 0.0
    for seed in range(seeds):
        states = []
        res = wp.minimize_composite(
            G,
            H,
            method=method,
            batch=batch,
            seed=seed,
            tol=0,
            max_rounds=rounds,
            record_every=1,
            variance=1.0,
            callback=lambda intermediate_result, states=states: states.append(
                intermediate_result.state
            ),
        )
        total = total + res.history["fun"] - best.lower_bound
        for now, after in list(pairwise(states))[:: 1 + rounds // 6]:
            tau = 1 - now.model.A_k / after.model.A_k
            v = (1 - tau) * now.x + tau * now.z
            variance = max(variance, exact_variance(G, H, v, batch))
    D_w = divergence(H, best.x, states[0].x)
    constants = {"beta": res.beta, "mu": H.mu, "nu": 1.0, "divergence": D_w, "variance": variance}
    return total / seeds, constants


@pytest.mark.parametrize("batch", [1, 2, 12])
@pytest.mark.parametrize("name", PROBLEMS)
def test_theorem_1(name, batch):
    G, H = PROBLEMS[name]
    k = np.array([1, 2, 5, 10, 30, 100])
    error, constants = measure(G, H, batch, 100, "accelerated")
    for options in ({}, {"constants": "sharp"}, {"exact_weights": True}):
        assert np.all(error[k] <= theory.bound_composite(k, **constants, **options))
    neighbourhood = constants["variance"] / (2 * math.sqrt(constants["mu"] * constants["beta"]))
    assert error[50:].mean() >= 1e-3 * neighbourhood, "the noise is felt"


@pytest.mark.parametrize("name", PROBLEMS)
def test_theorem_1_without_noise(name):
    G, H = PROBLEMS[name]
    best = wp.minimize_composite(G, H, tol=1e-11, max_rounds=20_000)
    res = wp.minimize_composite(G, H, tol=0, max_rounds=60)
    D_w = divergence(H, best.x, H.argmin(np.zeros(D)))
    k = res.history["round"][1:]
    error = res.history["fun"][1:] - best.fun
    bound = theory.bound_composite(k, res.beta, H.mu, 1.0, D_w, exact_weights=True)
    assert np.all(error <= bound + 1e-12)
    assert error[0] >= 1e-3 * bound[0]


def worst_case(beta, mu, rounds):
    """PEPit's worst F(y_k) - min F of Algorithm 1 for w = ||y - y0||^2/2, ||y* - y0|| <= 1."""
    problem = PEP()
    G = problem.declare_function(SmoothConvexFunction, L=beta)
    H = problem.declare_function(StronglyConvexFunction, mu=mu)
    F = G + H
    y_star = F.stationary_point()
    y0 = problem.set_initial_point()
    problem.set_initial_condition((y0 - y_star) ** 2 <= 1)
    weights = theory.step_weights(rounds, beta, mu, 1.0)
    y, z, d = y0, y0, 0 * y0
    for A_k, A_next in pairwise(weights):
        tau = 1 - A_k / A_next
        v = (1 - tau) * y + tau * z
        d = d + (A_next - A_k) * G.gradient(v)
        z, _, _ = proximal_step(y0 - d / beta, H, A_next / beta)
        y = (1 - tau) * y + tau * z
    problem.set_performance_metric(F(y) - F(y_star))
    return problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)


def hard_quadratics(beta, mu):
    """Problems on the line and in the plane whose solution is at distance 1 from 0."""
    for curvature in (0.0, 0.1 * beta, beta):
        yield wp.objectives.Quadratic(np.array([[curvature]]), np.array([-(curvature + mu)]))
        slope = np.array([curvature + mu, beta + mu]) / math.sqrt(2)
        yield wp.objectives.Quadratic(np.diag([curvature, beta]), -slope)


@pytest.mark.parametrize("rounds", [1, 2, 4])
@pytest.mark.parametrize(("beta", "mu"), [(1.0, 0.1), (2.0, 1.0), (1.0, 0.001)])
def test_theorem_1_against_the_worst_case(beta, mu, rounds):
    worst = worst_case(beta, mu, rounds)
    bound = theory.bound_composite(rounds, beta, mu, 1.0, 0.5, exact_weights=True)
    assert worst <= bound * (1 + 1e-5)
    for G in hard_quadratics(beta, mu):
        res = wp.minimize_composite(
            G, SquaredNorm(mu), np.zeros(G.shape), beta=beta, tol=0, max_rounds=rounds
        )
        best = wp.minimize_composite(G, SquaredNorm(mu), beta=beta, tol=1e-12)
        assert np.linalg.norm(best.x) == pytest.approx(1.0, rel=1e-3)
        assert res.history["fun"][-1] - best.fun <= worst * (1 + 1e-3)


@pytest.mark.parametrize("name", PROBLEMS)
def test_theorem_c1(name):
    G, H = PROBLEMS[name]
    error, constants = measure(G, H, 2, 400, "converging", seeds=5)
    k = np.array([1, 3, 10, 30, 100, 200, 400])
    assert np.all(error[k] <= theory.bound_converging(k, **constants))
    # past the switch the rate is 1/k: exponents of -0.85 to -1.13 with these seeds (other groups
    # of five scatter by about 0.2), while Algorithm 1 stays at its floor, within 0.1 of exponent 0
    accelerated, _ = measure(G, H, 2, 400, "accelerated", seeds=5)
    k = np.arange(2 * theory.converging_switch(constants["beta"], constants["mu"]), 401)
    rate, floor = (np.polyfit(np.log(k), np.log(e[k]), 1)[0] for e in (error, accelerated))
    assert rate <= -0.5 < -0.25 <= floor
    assert error[350:].mean() <= accelerated[350:].mean() / 5


def test_theorem_c1_with_growing_batches():
    """Batches that grow like k restore 1/k^2."""
    G, H = PROBLEMS["elastic net"]
    best = wp.minimize_composite(G, H, tol=1e-11, max_rounds=20_000)
    sigma = 0.5

    def draw(y, rng):
        return G.gradient(y) + sigma / math.sqrt(D) * rng.standard_normal(D)

    noisy = wp.objectives.Stochastic(draw, G.L, sigma**2, (D,), G.value)
    options = {"method": "converging", "batch": lambda k: k + 1, "max_rounds": 200, "tol": 0}
    options["record_every"] = 1
    runs = [wp.minimize_composite(noisy, H, seed=seed, **options) for seed in range(4)]
    error = np.mean([res.history["fun"] for res in runs], axis=0) - best.fun
    D_w = divergence(H, best.x, np.zeros(D))
    k = np.array([10, 50, 100, 200])
    bound = theory.bound_converging(k, G.L, H.mu, 1.0, D_w, sigma**2, m=lambda k: k + 1)
    assert np.all(error[k] <= bound)
    assert error[180:].mean() <= error[18:20].mean() / 50
