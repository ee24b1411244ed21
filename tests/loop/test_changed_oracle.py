"""Resumed runs notice an oracle of the user's own that has changed in a single vertex."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp

D, COUNT = 12, 60


def hull(points):
    """The hull of points, by an oracle that tells nothing about itself."""
    return wp.sets.Oracle(
        lambda g: points[np.argmin(points @ g)], shape=D, radius=2.0 * np.sqrt(D), polytope=True
    )


def started(tmp_path, method, seed, **options):
    """A run over the hull of random points, with its objective and the path of its checkpoint."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, (COUNT, D))
    f = wp.objectives.LeastSquares(rng.standard_normal((20, D)), rng.standard_normal(20))
    path = tmp_path / "run.ckpt"
    result = wp.minimize(
        f, hull(points), method=method, max_rounds=12, tol=0, checkpoint=path, **options
    )
    return f, points, path, result


def used(points, result):
    """Positions of the points with weight in the result."""
    vertices = result.active.vertices
    return [int(np.argmin(((points - v) ** 2).sum(axis=1))) for v in vertices]


@pytest.mark.parametrize("factor", [0.5, 1.3])
@pytest.mark.parametrize("method", ["bpcg", "away", "corrective"])
def test_a_changed_vertex_is_noticed(tmp_path, method, factor):
    tried = 0
    for seed in range(4):
        f, points, path, result = started(tmp_path, method, seed)
        for i in used(points, result):
            other = points.copy()
            other[i] *= factor
            tried += 1
            with pytest.raises(ValueError, match=r"K has changed|another problem"):
                wp.resume(path, f, hull(other), max_rounds=13, checkpoint=None)
    assert tried > 20


@pytest.mark.parametrize("method", ["fw", "bpcg", "corrective", "anytime", "momentum"])
def test_the_last_answer_is_asked_again(tmp_path, method):
    f, points, path, _ = started(tmp_path, method, 0, record_every=1)
    asked: list[np.ndarray] = []

    def lmo(g):
        asked.append(points[np.argmin(points @ g)])
        return asked[-1]

    K = wp.sets.Oracle(lmo, shape=D, radius=2.0 * np.sqrt(D), polytope=True)
    wp.minimize(f, K, method=method, max_rounds=12, tol=0, record_every=1)
    last = int(np.argmin(((points - asked[-1]) ** 2).sum(axis=1)))
    other = points.copy()
    other[last] *= 1.001
    with pytest.raises(ValueError, match=r"K has changed|another problem"):
        wp.resume(path, f, hull(other), max_rounds=13, checkpoint=None)


@pytest.mark.parametrize("method", ["fw", "bpcg", "corrective", "anytime", "momentum"])
def test_the_same_oracle_is_accepted(tmp_path, method):
    for seed in range(3):
        f, points, path, _ = started(tmp_path, method, seed)
        straight = wp.minimize(f, hull(points), method=method, max_rounds=20, tol=0)
        resumed = wp.resume(path, f, hull(points), max_rounds=20)
        np.testing.assert_array_equal(resumed.x, straight.x)


def test_an_inexact_oracle_is_accepted(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1.0, 1.0, (COUNT, D))

    def lmo(g):
        values = points @ g
        good = np.flatnonzero(values <= values.min() + 0.01 * np.linalg.norm(g))
        return points[rng.choice(good)]

    K = wp.sets.Oracle(lmo, shape=D, radius=np.sqrt(D), inexact=0.01)
    f = wp.objectives.LeastSquares(rng.standard_normal((20, D)), rng.standard_normal(20))
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, method="bpcg", max_rounds=12, tol=0, checkpoint=path)
