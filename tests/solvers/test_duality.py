"""Parallel Frank-Wolfe is Algorithm 1 on the smoothed dual, with H = f* and w = f* - <x_0, .>."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack import noise
from wolfpack.regularizers import Regularizer, Same

D, M_DRAWS, ALPHA, SEED, ROUNDS = 8, 5, 0.3, 11, 60
RNG = np.random.default_rng(0)
ROOT = RNG.standard_normal((D + 4, D))
Q = ROOT.T @ ROOT / D + 0.2 * np.eye(D)
C = RNG.standard_normal(D)


class Conjugate(Regularizer):
    """H(y) = f*(y) = <y - c, Q^-1 (y - c)>/2 for f(x) = <x, Qx>/2 + <c, x>."""

    def __init__(self, L):
        self.mu = 1.0 / L

    def value(self, y):
        return 0.5 * float((y - C) @ np.linalg.solve(Q, y - C))

    def argmin(self, g):
        # grad f*(y) = -g, so y = grad f(-g)
        return C - Q @ g


@pytest.mark.parametrize(
    ("K", "law"),
    [
        (wp.sets.L2Ball(D, 2.0), "gaussian"),
        (wp.sets.Box(-np.ones(D), np.ones(D)), "gumbel"),
        (wp.sets.Box(-np.ones(D), np.linspace(0, 1, D)), "logistic"),
        (wp.sets.Simplex(D), "gaussian"),
    ],
)
def test_pfw_is_algorithm_1_on_the_smoothed_dual(K, law):
    f = wp.objectives.Quadratic(Q, C)
    x0 = np.asarray(K.lmo(np.ones(D)))
    primal = []

    def keep(intermediate_result):
        primal.append(intermediate_result.state)

    options = {"tol": 0, "seed": SEED, "max_rounds": ROUNDS, "record_every": 1}
    pfw = wp.solvers.ParallelFrankWolfe(alpha=ALPHA, m=M_DRAWS)
    wp.minimize(f, K, x0, method=pfw, noise=law, callback=keep, **options)

    # G(y) = s_alpha(-y): its gradient is minus the perturbed answer to -y
    def draw(y, rng):
        delta = noise.get(law).sample(rng, (M_DRAWS, D))
        return -K.lmo(y - ALPHA * delta).to_dense().mean(axis=0)

    dual = []
    H = Conjugate(f.L)
    wp.minimize_composite(
        draw,
        H,
        w=Same(H, slope=x0),
        beta=primal[0].run.beta,
        callback=lambda intermediate_result: dual.append(intermediate_result.state),
        **options,
    )
    assert len(primal) == len(dual) == ROUNDS + 1
    np.testing.assert_allclose(dual[0].x, f.gradient(x0), atol=1e-12)
    for p, q in zip(primal, dual, strict=True):
        np.testing.assert_allclose(q.x, p.y, atol=1e-10)
        np.testing.assert_allclose(np.linalg.solve(Q, q.z - C), p.x, atol=1e-10)
        np.testing.assert_allclose(q.model.A_k, p.A_k, rtol=1e-12)
    assert np.linalg.norm(primal[-1].x - primal[-2].x) > 1e-6, "the noise still moves the iterates"
