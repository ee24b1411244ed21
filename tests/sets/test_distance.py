"""Separation by the linear oracle alone, against sets whose distance has a formula."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack.sets import Box, Hypersimplex, L1Ball, L2Ball, Simplex
from wolfpack.sets._distance import separation

SETS = [
    Simplex(6),
    L1Ball(30),
    Box(-np.ones(5), np.arange(5.0)),
    L2Ball((3, 4)),
    Hypersimplex(9, 4),
]


@pytest.mark.parametrize("K", SETS, ids=repr)
def test_outside_it_proves_at_least_half_of_the_distance(K):
    rng = np.random.default_rng(0)
    for size in (1e-8, 1e-3, 1.0, 1e6):
        g = rng.standard_normal(K.shape)
        x = K.lmo(g).to_dense() - size * g
        if K.has("project"):
            distance = float(np.linalg.norm(x - K.project(x)))
            assert 0.5 * distance - 1e-12 * (1 + size) <= separation(K, x)
            assert separation(K, x) <= distance * (1 + 1e-9) + 1e-12 * (1 + size)
        assert separation(K, x) > 1e-9


@pytest.mark.parametrize("K", SETS, ids=repr)
def test_inside_it_proves_nothing(K):
    rng = np.random.default_rng(1)
    answers = K.lmo(rng.standard_normal((20, *K.shape)))
    inside = [K.start(), answers.mean(), *answers.to_dense()]
    assert max(separation(K, x) for x in inside) <= 1e-12 * K.radius


@pytest.mark.parametrize("size", [1e-10, 1e-8, 1e-5])
@pytest.mark.parametrize("K", [K for K in SETS if K.polytope], ids=repr)
def test_just_off_a_face_it_finds_the_faces_direction(K, size):
    # points inside a face, whose direction has to be found among the rounding of the others
    for seed in range(10):
        rng = np.random.default_rng(seed)
        g = rng.standard_normal(K.shape) * (rng.random(K.shape) < 0.3)
        g.reshape(-1)[0] += 1.0
        on_face = K.lmo(g + 1e-9 * rng.standard_normal((30, *K.shape))).mean()
        found = separation(K, on_face - size * g / np.linalg.norm(g))
        assert 0.45 * size <= found <= 1.01 * size


def test_what_is_not_finite_is_outside():
    assert separation(Simplex(2), np.array([np.nan, 0.0])) == np.inf


def test_no_more_oracle_calls_than_allowed():
    class Counting(Simplex):
        calls = 0

        def _lmo(self, g):
            self.calls += 1
            return super()._lmo(g)

    K = Counting(50)
    x = np.random.default_rng(2).dirichlet(np.ones(50))
    assert separation(K, x, rounds=7) <= 0.0
    assert K.calls == 7
