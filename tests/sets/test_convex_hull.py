"""Hulls of points: ties, repetitions, sizes and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from wolfpack.sets import ConvexHull, convex_hull


def test_of_equal_scores_the_first_point_is_taken_in_any_batch():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((40, 37))
    K = ConvexHull(np.concatenate([points, points[::-1], points]))
    G = rng.standard_normal((100, 37))
    index = K.lmo(G).index
    assert (index < 40).all()
    for size in (1, 2, 3, 7):
        again = np.concatenate([K.lmo(G[i : i + size]).index for i in range(0, 100, size)])
        np.testing.assert_array_equal(again, index)
    np.testing.assert_array_equal([K.lmo(g).index for g in G], index)


def test_means_and_products_need_no_copy_of_the_rows():
    rng = np.random.default_rng(1)
    K = ConvexHull(rng.standard_normal((5, 2, 3)))
    for count in (2, 50):  # fewer and more vertices than points
        atoms = K.draw(np.zeros((2, 3)), 1.0, count, rng)
        dense = atoms.to_dense()
        np.testing.assert_allclose(atoms.mean(), dense.mean(axis=0), rtol=0, atol=1e-14)
        u = rng.standard_normal((2, 3))
        np.testing.assert_allclose(atoms.dot(u), (dense * u).sum(axis=(1, 2)), rtol=0, atol=1e-13)
        assert atoms.table is K.table


def test_equal_points_have_equal_keys():
    K = ConvexHull([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0]])
    assert len({K.k_best(np.zeros(2), 3).take(i).key() for i in range(3)}) == 2


def test_repeated_points_count_as_often_as_they_stand():
    K = ConvexHull([[0.0], [1.0], [1.0]])
    np.testing.assert_allclose(K.smoothed(np.zeros(1), 1.0), [2 / 3])
    assert K.smoothed_at_zero("lifted") == pytest.approx(np.log(3))


def test_the_diameter_of_many_points_is_bounded(monkeypatch):
    points = np.random.default_rng(2).standard_normal((50, 4)) + 10.0
    exact = pdist(points).max()
    monkeypatch.setattr(convex_hull, "_ALL_PAIRS_UP_TO", 10)
    assert exact <= ConvexHull(points).diameter <= 2 * exact


def test_the_points_are_copied():
    points = np.eye(2)
    K = ConvexHull(points)
    points[:] = 7.0
    vertex = K.lmo(np.array([1.0, 0.0])).to_dense()
    np.testing.assert_array_equal(vertex, [0.0, 1.0])
    vertex[:] = 7.0
    np.testing.assert_array_equal(K.points, np.eye(2))


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        (np.zeros((0, 3)), ValueError, r"points must be a non-empty array.*found shape \(0, 3\)"),
        ([1.0, 2.0], ValueError, r"points must be .*\(N, \*shape\), found shape \(2,\)"),
        ([[1.0], [np.nan]], ValueError, "points has 1 NaN or infinite entries of 2"),
        ([["a"]], TypeError, "points must be an array of real numbers"),
        ([[1.0], [1.0, 2.0]], TypeError, "points must be an array of numbers"),
    ],
)
def test_what_are_no_points_is_refused(points, error, message):
    with pytest.raises(error, match=message):
        ConvexHull(points)
