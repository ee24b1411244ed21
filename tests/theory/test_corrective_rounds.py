"""Theorem R4: rounds of the corrective method as a function of m."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

import wolfpack as wp
from wolfpack import sets, theory


def test_formula():
    assert theory.corrective_rounds(1, 0.25) == pytest.approx(5.0)
    assert theory.corrective_rounds(3, 0.5, 2) == pytest.approx((1 + 1 / 2 + 1 / 3) / 0.75 + 1)
    assert theory.corrective_rounds(4, 1.0, 7) == pytest.approx(25 / 12 + 1)
    assert theory.corrective_rounds(2, 1e-12, 3) == pytest.approx(1.5 / 3e-12, rel=1e-6)
    for bad in ({"vertices": 0}, {"probability": 0.0}, {"probability": 1.5}, {"m": 0}):
        with pytest.raises(ValueError, match="must"):
            theory.corrective_rounds(**{"vertices": 2, "probability": 0.5, "m": 1} | bad)


def rounds_to_find_all(q, m, rng):
    """Rounds of m uniform answers until each of q vertices was one of them."""
    missing, rounds = set(range(q)), 0
    while missing:
        missing -= set(rng.integers(q, size=m).tolist())
        rounds += 1
    return rounds


@pytest.mark.parametrize("q", [1, 2, 20])
def test_one_answer_a_round_attains_the_theorem(q):
    # the coupon collector needs q H_q draws: with p = 1/q and m = 1 the theorem is an equality
    rng = np.random.default_rng(q)
    found = np.array([rounds_to_find_all(q, 1, rng) for _ in range(1000)])
    error = found.std() / math.sqrt(len(found))
    assert found.mean() + 1 == pytest.approx(theory.corrective_rounds(q, 1 / q), abs=4 * error)


@pytest.mark.parametrize("m", [2, 8, 32, 128])
def test_many_answers_a_round_stay_below(m):
    rng, q = np.random.default_rng(m), 40
    found = np.array([rounds_to_find_all(q, m, rng) for _ in range(300)])
    bound = theory.corrective_rounds(q, 1 / q, m)
    assert found.mean() + 1 <= bound + 4 * found.std() / math.sqrt(len(found))
    assert bound <= 2.5 * (found.mean() + 1)


@pytest.mark.parametrize("m", [3, 6, 18])
def test_rounds_of_the_method(m):
    # Projection of the middle of the simplex, from a vertex. All vertices are optimal; those that
    # are missing have the smallest slopes, all equal, so that each perturbed answer is each of
    # them with probability 1/q at least. One question is clean and one is the average's.
    q, seeds = 30, range(12)
    f = wp.objectives.Quadratic(1.0, np.full(q, -1.0 / q))

    def best_axis(g):
        points = np.zeros_like(g)
        np.put_along_axis(points, g.argmin(axis=-1)[..., None], 1.0, axis=-1)
        return points

    K = sets.Oracle(best_axis, q, 1.0, batched=True)  # cannot list its k best vertices
    runs = [
        wp.minimize(f, K, np.eye(q)[0], method="corrective", m=m, tol=1e-12, seed=seed)
        for seed in seeds
    ]
    assert all(run.status in ("converged", "stalled") for run in runs)
    rounds = np.mean([run.nit for run in runs])
    # q - 1 vertices are missing, and every round has one clean answer as well
    assert rounds <= theory.corrective_rounds(q - 1, 1 / q, m - 1)
    assert rounds >= (q - 1) / m


def test_probability_after_identification():
    # Lemma R5: Gumbel noise of scale alpha on N scores, q of them optimal, the others worse by
    # delta, and the gradient off by at most r alpha between any two vertices
    rng = np.random.default_rng(0)
    N, q, delta = 50, 7, 0.4
    scores = np.concatenate([np.zeros(q), delta + rng.random(N - q)])
    for alpha in (1.0, 0.1, 0.01):
        for r in (0.0, 0.5, 3.0):
            bound = math.exp(-r) / (q + (N - q) * math.exp(-delta / alpha))
            for _ in range(50):
                off = r * alpha * rng.random(N)
                assert softmax(-(scores + off) / alpha)[:q].min() >= bound
    tied = softmax(-np.array([0.0, 0.0, 0.4, 0.4]) / 0.1)
    assert tied[0] == pytest.approx(1 / (2 + 2 * math.exp(-4.0)), rel=1e-12)
