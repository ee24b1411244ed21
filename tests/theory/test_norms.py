"""Norms other than the Euclidean one: their constants, and Theorem 2 in them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

import wolfpack as wp
from wolfpack import sets, theory


def dual_exponent(p):
    return math.inf if p == 1 else 1.0 if p == math.inf else p / (p - 1)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_constants_of_lp_norms_are_reached(p):
    d = 5
    norm = theory.norm_of(p, d)
    points = np.concatenate([np.eye(d), np.ones((1, d))])
    ratios = np.linalg.norm(points, p, axis=1) / np.linalg.norm(points, axis=1)
    assert ratios.min() == pytest.approx(norm.c, rel=1e-12)
    assert ratios.max() == pytest.approx(norm.C, rel=1e-12)
    assert norm.rho == pytest.approx(min(theory.rho(p, d), (norm.C / norm.c) ** 2), rel=1e-12)
    assert theory.norm_of(f"l{p}", d) == norm


def test_variance_in_a_norm():
    norm = theory.norm_of((0.5, 2.0), 3)
    assert norm.rho == 16.0
    assert norm.variance(3.0, 6, "paper") == 4 * 9 * 16 / 6
    assert norm.variance(3.0, 6, "sharp") == 9 * 16 / 6
    assert theory.EUCLIDEAN.variance(3.0, 6, "sharp") == 9 / 6
    # for large p Assumption 2 is better than the comparison with the Euclidean norm
    assert theory.norm_of("linf", 10**6).variance(1.0, 1, "sharp") == 4 * theory.rho(
        math.inf, 10**6
    )


def test_the_variance_in_the_l1_norm_is_nearly_reached():
    # signs of all coordinates: E||mean of m||_1^2 is about 2 d^2 / (pi m), R = d and rho = d
    rng, d, m = np.random.default_rng(0), 400, 16
    means = rng.choice([-1.0, 1.0], (300, m, d)).mean(axis=1)
    found = np.mean(abs(means).sum(axis=1) ** 2)
    # in terms of the Euclidean radius sqrt(d): C^2 R_2^2 / m
    norm = theory.norm_of("l1", d)
    bound = norm.C**2 * d / m
    assert 0.6 * bound < found <= bound
    assert bound <= norm.variance(float(d), m, "sharp")


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0])
def test_curvature_of_the_softmax_in_a_norm(p):
    # sup of h' (diag q - q q') h over ||h||_dual <= 1, at the worst q = (1/2, 1/2, 0, ...)
    d, r, scale = 4, 3.0, 0.5
    q = np.array([0.5, 0.5, 0.0, 0.0])
    hessian = r / scale * (np.diag(q) - np.outer(q, q))
    K, law = sets.Simplex(d, r), wp.noise.Gumbel(scale=scale)
    bound = theory.smoothness(K, law, 1.0, norm=p)
    h = np.array([1.0, -1.0, 0.0, 0.0])
    h /= np.linalg.norm(h, dual_exponent(p))
    reached = h @ hessian @ h
    assert reached <= bound * (1 + 1e-12)
    if p in (1.0, 2.0):
        assert reached == pytest.approx(bound, rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(300):
        q = softmax(3 * rng.standard_normal(d))
        h = rng.standard_normal(d)
        h /= np.linalg.norm(h, dual_exponent(p))
        assert h @ (r / scale * (np.diag(q) - np.outer(q, q))) @ h <= bound


def test_curvature_of_lifted_smoothing_in_the_l1_norm():
    # vertices +-r e_i: the variance of numbers in [-r, r] is at most r^2, reached by two of them
    K = sets.L1Ball(3, 2.0)
    assert theory.smoothness(K, "lifted", 1.0, norm="l1") == pytest.approx(4.0)
    assert theory.smoothness(K, "lifted", 1.0) == pytest.approx(2.0)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_smoothness_of_f_in_a_norm(p):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((8, 5))
    f = wp.objectives.LeastSquares(A, np.zeros(8))
    norm, q = theory.norm_of(p, 5), dual_exponent(p)
    L = norm.smoothness_of(f.L, f.L1)
    points = [*rng.standard_normal((2000, 5)), *np.eye(5), np.linalg.eigh(A.T @ A)[1][:, -1]]
    ratios = [np.linalg.norm(A.T @ A @ h, q) / np.linalg.norm(h, p) for h in points]
    assert max(ratios) <= L * (1 + 1e-9)
    if p in (1.0, 2.0):
        assert max(ratios) == pytest.approx(L, rel=1e-4)


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_radius_in_a_norm(p):
    rng = np.random.default_rng(2)
    K = sets.Simplex(6, 2.0)
    norm = theory.norm_of(p, 6)
    for constants in ("paper", "sharp"):
        R = norm.radius_of(K, constants)
        vertices = np.linalg.norm(2.0 * np.eye(6), p, axis=1)
        centred = np.linalg.norm(2.0 * np.eye(6) - 1 / 3, p, axis=1)
        assert min(vertices.max(), centred.max()) <= R * (1 + 1e-12)
        assert R <= 2.0 * (1 + 1e-12)
    moved = theory.norm_of((1.0, 2.0), 6).radius_of(sets.Translate(K, rng.standard_normal(6)))
    assert moved == pytest.approx(2 * K.centred_radius)


def collinear(d, seed=0, n=12):
    """Least squares with nearly equal columns: L grows with d, and L1 does not."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    A = (common + 0.3 * rng.standard_normal((n, d))) / np.linalg.norm(common)
    return wp.objectives.LeastSquares(A, 0.5 * A.mean(axis=1) + 0.1 * rng.standard_normal(n))


def test_theorem_2_holds_in_the_l1_norm_and_needs_fewer_rounds():
    f, K = collinear(200), sets.Simplex(200)
    x0 = np.eye(200)[0]
    options = {"method": "pfw", "m": "exact", "alpha": 1e-2, "tol": 0}
    best = wp.minimize(f, K, tol=1e-9).lower_bound
    gaps = {}
    for name in ("l1", "l2"):
        res = wp.minimize(f, K, x0, norm=name, max_rounds=100, **options)
        gaps[name] = res.history["fun"] - res.history["lower_bound"]
        norm = theory.norm_of(name, 200)
        L = norm.smoothness_of(f.L, f.L1)
        R = norm.radius_of(K)
        B = theory.smoothness(K, "gumbel", 1.0, norm=norm)
        bound = theory.bound_pfw(
            np.arange(1, 101), L=L, R=R, M=B / R, alpha=1e-2, m=math.inf, constants="sharp",
            initial_gap=f.value(x0) - best, s1=math.log(200), norm=norm, exact_weights=True,
        )  # fmt: skip
        assert np.all(gaps[name][1:] <= bound)
        assert res.state.run.beta == pytest.approx(B / 1e-2)
        assert res.state.run.mu == pytest.approx(1 / L)
    assert f.L > 20 * f.L1
    assert gaps["l1"][100] < 0.1 * gaps["l2"][100]


@pytest.mark.parametrize("kind", ["l0.5", "two", -1.0, (2.0, 1.0), (1.0, 2.0, 3.0), (0.0, 1.0)])
def test_bad_norms(kind):
    with pytest.raises(ValueError, match=r"norm must be|norm=|c must be"):
        theory.norm_of(kind, 3)
    with pytest.raises(ValueError, match=r"norm must be|norm=|c must be"):
        wp.solvers.ParallelFrankWolfe(norm=kind)
