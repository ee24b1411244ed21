"""The vertices of an answer."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp

METHODS = ["corrective", "bpcg", "away", "pairwise", "fcfw"]


@pytest.fixture(scope="module")
def problem():
    target = np.random.default_rng(1).random((6, 6))
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Birkhoff(6)


@pytest.mark.parametrize("method", METHODS)
def test_vertices_and_weights_make_up_the_answer(problem, method):
    f, K = problem
    res = wp.minimize(f, K, method=method, tol=1e-8)
    found = res.active
    assert found.weights.min() > 0
    assert found.weights.sum() == pytest.approx(1.0)
    assert np.allclose(found.point, res.state.x, atol=1e-12)  # the last iterate, not the best one
    assert found.distance == pytest.approx(np.linalg.norm(res.state.x - res.x), abs=1e-12)
    assert found.distance <= 1e-6
    assert all(K.contains(v) for v in found.vertices)


def test_few_vertices_are_enough(problem):
    f, K = problem
    res = wp.minimize(f, K, method="bpcg", tol=1e-9, max_rounds=3000)
    whole = res.decompose()
    assert len(whole.weights) <= 26  # the dimension of K is 25
    assert whole.distance <= 1e-9
    errors = [res.decompose(count).distance for count in (2, 6, 12)]
    assert errors[0] > errors[1] > errors[2] > 0
    assert [len(res.decompose(count).weights) <= count for count in (2, 6, 12)] == [True] * 3
    few = res.decompose(6)
    assert few.distance == pytest.approx(np.linalg.norm(few.point - res.x))


def test_auto_has_the_vertices_of_its_last_method(problem):
    _, K = problem
    oracle = wp.sets.Oracle(K.lmo, shape=K.shape, radius=K.radius)
    res = wp.minimize(problem[0], oracle, tol=1e-6)
    assert res.active is None or np.allclose(res.active.point, res.x, atol=1e-6)


def test_methods_without_vertices_say_so(problem):
    f, K = problem
    res = wp.minimize(f, K, method="projected")
    assert res.active is None
    with pytest.raises(wp.CapabilityError, match="kept no vertices"):
        res.decompose()
    with pytest.raises((TypeError, ValueError), match="max_vertices must be"):
        res.decompose(0)
