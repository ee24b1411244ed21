"""Smoothings and samplings: unbiased, with the constants they declare."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_trace_ball, small_simplex
from wolfpack.problem import Problem
from wolfpack.smoothing import Ambient, ImageSpace, Lifted, Oracles, make_smoothing


def mean_of(oracles, v, alpha, m, rounds):
    means = np.array([oracles.mean(v, alpha, m, k) for k in range(rounds)])
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(rounds), means


@pytest.mark.parametrize("sampling", ["iid", "antithetic", "sobol"])
@pytest.mark.parametrize("law", ["gumbel", "gaussian", "logistic"])
def test_draws_are_unbiased(sampling, law):
    K = wp.sets.Box(-np.ones(3), np.array([1.0, 2.0, 3.0]))
    f = wp.objectives.Quadratic(1.0, np.zeros(3))
    oracles = Oracles(Problem(f, K), Ambient(K, wp.noise.get(law)), 1, sampling)
    v = np.array([0.3, -0.2, 0.05])
    mean, error, _ = mean_of(oracles, v, 0.5, 16, 300)
    np.testing.assert_array_less(abs(mean - K.smoothed(-v, 0.5, law)), 5 * error + 1e-12)


@pytest.mark.parametrize("sampling", ["antithetic", "sobol"])
def test_coupled_draws_have_less_variance(sampling):
    f, K, _ = small_simplex()
    v = np.linspace(0, 0.5, 8)

    def spread(kind):
        oracles = Oracles(Problem(f, K), make_smoothing("ambient", f, K, wp.noise.get("gumbel")), 0)
        oracles = Oracles(oracles.problem, oracles.smoothing, 0, kind)
        return mean_of(oracles, v, 0.3, 16, 200)[2].var(axis=0).sum()

    assert spread(sampling) < 0.9 * spread("iid")


def test_direct_draws_have_the_law_of_perturbed_oracles():
    f, K, _ = small_simplex()
    law, v = wp.noise.get("gumbel"), np.linspace(0, 0.5, 8)
    direct = Oracles(Problem(f, K), Ambient(K, law))
    mean, error, _ = mean_of(direct, v, 0.3, 50, 200)
    streams = wp.arrays.Streams(5)
    plain = K.lmo(v - 0.3 * law.sample(streams.at(0), (20_000, 8))).mean()
    np.testing.assert_allclose(mean, plain, atol=5 * error.max() + 0.02)
    np.testing.assert_allclose(K.smoothed(-v, 0.3), plain, atol=0.02)


def test_image_noise_answers_the_direction_perturbed_through_A():
    f, K, _ = small_simplex()
    law = wp.noise.get("gaussian")
    smoothing = ImageSpace(K, law, f)
    v = np.linspace(0, 0.5, 8)
    rng = wp.arrays.Streams(2).at(0)
    delta = law.sample(wp.arrays.Streams(2).at(0), (5, 20))
    expected = [np.argmin(v - 0.1 * (f.A.T @ one)) for one in delta]
    answers = smoothing.answers(v, 0.1, 5, rng)
    assert answers.to_dense().argmax(axis=1).tolist() == expected


def test_image_smoothing_obeys_its_constants():
    f, K, _ = small_simplex()
    smoothing = ImageSpace(K, wp.noise.get("gaussian"), f)
    # R_{AK} is at most the largest column norm, which the declared constant must not be below
    assert smoothing.smoothness >= np.linalg.norm(f.A, axis=0).max()
    draws = np.random.default_rng(0).standard_normal((20_000, 20)) @ f.A
    assert smoothing.bias == pytest.approx(draws.max(axis=1).mean(), rel=0.05)


@pytest.mark.parametrize("problem", [small_simplex, paper_trace_ball])
def test_image_smoothing_solves(problem):
    f, K, x0 = problem()
    res = wp.minimize(
        f, K, x0, method="anytime", smoothing="image", m=8, noise="gaussian", tol=1e-2
    )
    assert res.success


def test_lifted_smoothing_is_used_for_the_l1_ball():
    f, _, _ = small_simplex()
    K = wp.sets.L1Ball(8)
    res = wp.minimize(f, K, method="anytime", tol=1e-4)
    assert res.success
    assert np.all(np.isinf(res.history["m"]))
    smoothing = Lifted(K)
    assert smoothing.bias == pytest.approx(np.log(16))


def test_lifted_noise_is_another_name_for_lifted_smoothing():
    f, _, _ = small_simplex()
    K = wp.sets.L1Ball(8)
    run = {"method": "anytime", "m": 4, "tol": 0, "max_rounds": 20}
    by_noise = wp.minimize(f, K, noise="lifted", **run)
    by_smoothing = wp.minimize(f, K, smoothing="lifted", **run)
    assert by_noise.x.tobytes() == by_smoothing.x.tobytes()


def test_missing_ways_are_explained():
    f, K, x0 = paper_trace_ball()
    with pytest.raises(wp.CapabilityError, match=r"smoothing='lifted'.*does not offer"):
        wp.minimize(f, K, x0, method="anytime", smoothing="lifted")
    opaque = wp.objectives.Function(f.value_and_gradient)
    with pytest.raises(wp.CapabilityError, match=r"of the form loss\(Ax\)"):
        wp.minimize(opaque, K, x0, method="anytime", smoothing="image")


def test_blocks_do_not_change_with_m_beyond_their_number():
    # 3 blocks of the same stream numbers: the sum is by block, in block order
    f, K, _ = small_simplex()
    smoothing = Ambient(K, wp.noise.get("gaussian"))
    oracles = Oracles(Problem(f, K), smoothing)
    m, v = 2 * smoothing.block + 7, np.linspace(0, 1, 8)
    streams = wp.arrays.Streams(0)
    parts = [
        smoothing.answers(v, 0.4, count, streams.at(3, block)).to_dense()
        for block, count in enumerate((smoothing.block, smoothing.block, 7))
    ]
    np.testing.assert_allclose(oracles.mean(v, 0.4, m, 3), np.concatenate(parts).mean(axis=0))


def test_measured_variance_is_that_of_single_answers():
    f, K, _ = small_simplex()
    oracles = Oracles(Problem(f, K), Ambient(K, wp.noise.get("gumbel")))
    v = np.linspace(0, 0.5, 8)
    p = K.smoothed(-v, 0.3)
    measured = np.mean([oracles.sample(v, 0.3, 50, k).variance for k in range(100)])
    assert measured == pytest.approx(1 - p @ p, rel=0.02)
