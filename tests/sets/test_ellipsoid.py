"""Ellipsoids: axes, projections and what is no ellipsoid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from wolfpack import sets


def test_violation_is_the_distance():
    K = sets.Ellipsoid([1.0, 0.0], [4.0, 0.25])
    assert K.violation(np.array([4.0, 0.0])) == pytest.approx(1.0)
    assert K.violation(np.array([1.0, -2.5])) == pytest.approx(2.0)
    assert K.violation(np.array([1.0, 0.0])) <= 0.0


@pytest.mark.parametrize("seed", range(5))
def test_projections_onto_thin_ellipsoids(seed):
    rng = np.random.default_rng(seed)
    a = 10.0 ** rng.uniform(-6, 2, 8)
    V = np.linalg.qr(rng.standard_normal((8, 8))).Q
    K = sets.Ellipsoid(np.zeros(8), a**2)
    for x in (V @ (10.0 * a), rng.standard_normal(8), 1e4 * rng.standard_normal(8)):
        p = K.project(x)
        assert K.contains(p, 1e-12)
        # the slope x - p is a multiple of the normal p/a^2 at p
        normal = p / a**2
        assert (x - p) @ normal >= (1 - 1e-9) * np.linalg.norm(x - p) * np.linalg.norm(normal)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_covers_rounding(seed):
    rng = np.random.default_rng(seed)
    c, a, g = 1e3 * rng.standard_normal(6), rng.random(6), rng.standard_normal(6)
    g -= (c @ g) / (c @ c) * c  # <c, g> consists of rounding errors
    K = sets.Ellipsoid(c, a * a)
    bound = Fraction(K.certify(g, K.lmo(g)))
    exact = [[Fraction(float(v)) for v in row] for row in (c, np.sqrt(a * a), g)]
    centre = sum(ci * gi for ci, _, gi in zip(*exact, strict=True))
    square = sum((ai * gi) ** 2 for _, ai, gi in zip(*exact, strict=True))
    # bound <= <c, g> - sqrt(square)
    assert centre - bound >= 0
    assert (centre - bound) ** 2 >= square


def test_a_singular_matrix_gives_a_flat_ellipsoid():
    axis = np.array([3.0, 4.0])
    K = sets.Ellipsoid(np.zeros(2), np.outer(axis, axis))
    assert K.diameter == pytest.approx(10.0)
    assert K.contains(0.5 * axis)
    assert not K.contains(0.5 * axis + [4e-6, -3e-6])
    np.testing.assert_allclose(K.project(0.5 * axis + [4.0, -3.0]), 0.5 * axis)
    np.testing.assert_allclose(K.project([8.0, -6.0]), 0.0, atol=1e-12)


def test_a_point_is_an_ellipsoid():
    K = sets.Ellipsoid([1.0, 2.0], [0.0, 0.0])
    np.testing.assert_array_equal(K.lmo(np.array([1.0, -1.0])), [1.0, 2.0])
    np.testing.assert_array_equal(K.project([5.0, 5.0]), [1.0, 2.0])
    assert K.diameter == 0.0


@pytest.mark.parametrize(
    ("center", "matrix", "message"),
    [
        ([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]], "symmetric, found entries that differ by 0.5"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "semidefinite, found an eigenvalue of -1"),
        ([0.0, 0.0], [1.0, -1.0], "semidefinite, found an eigenvalue of -1"),
        ([0.0, 0.0], np.eye(3), r"shape \(2, 2\), or \(2,\) for a diagonal, found \(3, 3\)"),
        (0.0, 1.0, r"center must be a vector that is not empty, found shape \(\)"),
    ],
)
def test_what_is_no_ellipsoid_is_refused(center, matrix, message):
    with pytest.raises(ValueError, match=message):
        sets.Ellipsoid(center, matrix)
