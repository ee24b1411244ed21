"""Linear images of sets, and invariant points."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack import sets
from wolfpack.problem import CapabilityError

RNG = np.random.default_rng(4)
A = RNG.standard_normal((4, 6))
TRANSPOSE = [np.arange(16).reshape(4, 4).T.reshape(-1)]


def test_dense_and_sparse_matrices_map_alike():
    K, thin = sets.Image(A, sets.L1Ball(6)), sets.Image(sparse.csr_array(A), sets.L1Ball(6))
    g = RNG.standard_normal((3, 4))
    np.testing.assert_allclose(K.lmo(g).to_dense(), thin.lmo(g).to_dense(), rtol=1e-14)
    # the sparse one has a bound on the norm
    assert K.radius == pytest.approx(np.linalg.norm(A, 2))
    assert K.radius <= thin.radius


def exactly(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_of_an_image_covers_the_rounding_of_the_direction(seed):
    # A'g nearly vanishes, so that its floats consist of rounding errors
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((8, 3))
    g = np.linalg.qr(matrix, mode="complete").Q[:, -1]
    K, rows = sets.Image(matrix, sets.LinfBall(3)), exactly(g)
    sums = [sum(a * b for a, b in zip(exactly(c), rows, strict=True)) for c in matrix.T]
    assert Fraction(K.certify(g, K.lmo(g))) <= -sum(map(abs, sums))


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_of_invariant_points_covers_the_rounding_of_the_mean(seed):
    g = np.random.default_rng(seed).standard_normal(9)
    g[-1] = -g[:-1].sum()
    K = sets.Symmetric(sets.LinfBall(9), [np.roll(np.arange(9), 1)])
    assert Fraction(K.certify(g, K.lmo(g))) <= -abs(sum(exactly(g)))


def test_a_matrix_must_fit_the_set():
    with pytest.raises(ValueError, match=r"matrix with 5 columns.*found shape \(4, 6\)"):
        sets.Image(A, sets.Simplex(5))


def test_the_image_of_a_simplex_is_a_hull():
    K, hull = sets.Image(A, sets.Simplex(6)), sets.ConvexHull(A.T)
    for g in RNG.standard_normal((10, 4)):
        assert K.support(g) == pytest.approx(hull.support(g))
    f = wp.objectives.Quadratic(1.0, RNG.standard_normal(4))
    best = wp.minimize(f, hull, tol=1e-9).fun
    assert wp.minimize(f, K, tol=1e-9).fun == pytest.approx(best, abs=1e-8)


def test_generators_stand_for_their_group():
    # a shift generates the cyclic group: all entries of an orbit are equal
    K = sets.Symmetric(sets.L2Ball(6), [[1, 2, 0, 3, 4, 5], [0, 1, 2, 4, 3, 5]])
    assert K.orbits == 3
    x = K.project(np.array([3.0, 0.0, 0.0, 1.0, 3.0, 0.0]))
    np.testing.assert_allclose(x, np.array([1, 1, 1, 2, 2, 0]) / np.sqrt(11))


def test_invariant_points_hold_a_minimiser_of_an_invariant_function():
    c = RNG.standard_normal((4, 4))
    f = wp.objectives.Quadratic(1.0, c + c.T)
    K = sets.Symmetric(sets.Birkhoff(4), TRANSPOSE)
    free, found = wp.minimize(f, sets.Birkhoff(4), tol=1e-9), wp.minimize(f, K, tol=1e-9)
    assert found.fun == pytest.approx(free.fun, abs=1e-8)
    np.testing.assert_array_equal(found.x, found.x.T)


def test_a_set_that_the_group_moves_is_refused():
    with pytest.raises(ValueError, match="K must be mapped to itself by the group, found that"):
        sets.Symmetric(sets.Box([0.0, 0.0], [1.0, 2.0]), [[1, 0]])


@pytest.mark.parametrize(
    ("group", "found"),
    [([[0, 0, 1]], "none in row 0"), ([[0, 1]], r"shape \(1, 2\)"), ([0, 1, 2], r"shape \(3,\)")],
)
def test_what_is_no_permutation_is_refused(group, found):
    with pytest.raises(ValueError, match=f"permutations of 0, ..., 2.*{found}"):
        sets.Symmetric(sets.Simplex(3), group)


def test_an_image_has_what_its_set_has():
    assert sets.Image(A, sets.Simplex(6)).has("polyhedron")
    assert not sets.Image(A, sets.L2Ball(6)).has("polyhedron")
    with pytest.raises(CapabilityError, match="'polyhedron': L2Ball"):
        sets.Image(A, sets.L2Ball(6)).polyhedron()
    assert sets.Image(A, sets.L1Ball(6)).closed_forms == ("lifted",)
    assert not sets.Image(A, sets.L2Ball(6)).closed_forms
