"""Products, moved and scaled sets, and sums: what the contract suite does not see."""

from __future__ import annotations

import numpy as np
import pytest

from wolfpack import noise
from wolfpack.atoms import Affine, BlockAtoms, OneHot, Sums
from wolfpack.problem import CapabilityError
from wolfpack.sets import (
    Box,
    ConvexHull,
    L1Ball,
    L2Ball,
    LinfBall,
    MinkowskiSum,
    Oracle,
    Product,
    Scale,
    Simplex,
    TraceNormBall,
    Translate,
)


def test_split_and_join_are_inverse_for_points_and_batches():
    K = Product(TraceNormBall((2, 3)), Simplex(4))
    x = np.arange(10.0)
    matrix, vector = K.split(x)
    assert matrix.shape == (2, 3)
    assert vector.shape == (4,)
    np.testing.assert_array_equal(K.join([matrix, vector]), x)
    batch = np.arange(30.0).reshape(3, 10)
    assert [part.shape for part in K.split(batch)] == [(3, 2, 3), (3, 4)]
    np.testing.assert_array_equal(K.join(K.split(batch)), batch)
    with pytest.raises(ValueError, match=r"x must have 10 entries, found shape \(9,\)"):
        K.split(np.zeros(9))
    with pytest.raises(ValueError, match="join needs 2 points, found 1"):
        K.join([matrix])
    with pytest.raises(ValueError, match=r"point 1 must have shape \(4,\), found \(3,\)"):
        K.join([matrix, np.zeros(3)])


def test_the_vertices_of_combinations_keep_the_structure_of_their_parts():
    g = np.arange(6.0).reshape(2, 3)
    product = Product(Simplex(2), Simplex(1)).lmo(g)
    assert isinstance(product, BlockAtoms)
    assert isinstance(product.parts[0], OneHot)
    moved = Translate(Scale(Simplex(3), -2.0), 1.0).lmo(g)
    assert isinstance(moved, Affine)
    assert isinstance(moved.base.base, OneHot)
    total = MinkowskiSum(Simplex(3), L2Ball(3)).lmo(g)
    assert isinstance(total, Sums)
    for atoms in (product, moved, total):
        np.testing.assert_allclose(atoms.mean(), atoms.to_dense().mean(axis=0), rtol=1e-14)


def test_a_law_with_a_scale_per_coordinate_is_split_among_the_factors():
    K = Product(Box([0.0, 0.0], [1.0, 2.0]), Box([-1.0], [1.0]))
    whole = Box([0.0, 0.0, -1.0], [1.0, 2.0, 1.0])
    law = noise.Gaussian(np.array([0.5, 1.0, 3.0]))
    y = np.array([0.3, -0.2, 0.7])
    np.testing.assert_allclose(K.smoothed(y, 0.4, law), whole.smoothed(y, 0.4, law), rtol=1e-14)
    assert K.smoothed_support(y, 0.4, law) == pytest.approx(whole.smoothed_support(y, 0.4, law))
    assert K.smoothed_at_zero(law) == pytest.approx(whole.smoothed_at_zero(law))


def test_a_closed_form_needs_the_same_one_of_all_parts():
    mixed = [Product(Simplex(2), L1Ball(2)), MinkowskiSum(Simplex(2), ConvexHull(np.eye(2)))]
    for K in mixed:
        assert K.closed_forms == ()
        assert not K.has("smoothed")
        assert not K.has("draw")
        with pytest.raises(CapabilityError, match="has a closed form for no law"):
            K.smoothed(np.zeros(K.shape), 1.0)
        with pytest.raises(CapabilityError, match="draw"):
            K.draw(np.zeros(K.shape), 1.0, 1, np.random.default_rng(0))
    assert Product(Simplex(2), LinfBall(2)).closed_forms == ("gumbel",)
    assert Product(Simplex(2), LinfBall(2)).default_noise == "gumbel"


def test_optional_methods_are_those_that_all_parts_have():
    K = Product(Simplex(2), Oracle(lambda g: -np.sign(g), 1, 1.0))
    assert not K.has("project")
    with pytest.raises(CapabilityError, match=r"no 'project': Oracle\("):
        K.project(np.zeros(3))
    assert Product(Simplex(2), Box([0.0], [1.0])).has("project")
    assert not Product(Simplex(2), Simplex(2)).has("k_best")
    assert Translate(Simplex(2), 1.0).has("k_best")
    assert not Translate(L2Ball(2), 1.0).has("k_best")


def test_a_combination_answers_like_its_slowest_part():
    slow = Oracle(lambda g: -np.sign(g), 2, 2.0)
    assert Product(Simplex(2), slow).batch_hint == slow.batch_hint == 1
    assert Translate(slow, 1.0).one_by_one
    assert not Product(Simplex(2), slow).one_by_one
    assert MinkowskiSum(Simplex(2), Simplex(2)).batch_hint is None


def test_a_reflection_loses_the_closed_form_of_an_asymmetric_law():
    assert Scale(Simplex(3), 2.0).closed_forms == ("gumbel",)
    K = Scale(Simplex(3), -2.0)
    assert K.closed_forms == ()
    assert not K.has("draw")
    assert K.smoothed_at_zero(noise.Gumbel()) is None
    assert K.smoothness(noise.Gumbel()) is None
    assert Scale(Box([0.0], [1.0]), -2.0).closed_forms == ("gaussian", "logistic")


def test_products_are_as_smooth_as_their_worst_factor():
    law = noise.Gaussian()
    ball = TraceNormBall((2, 2), radius=2.0)
    assert ball.smoothness(law) is None  # R M then, with M = 1 for this law
    assert Product(Box([0.0], [1.0]), ball).smoothness(law) == pytest.approx(2.0)
    assert Scale(ball, -3.0).smoothness(law) == pytest.approx(6.0)
    assert MinkowskiSum(ball, Translate(ball, 1.0)).smoothness(law) == pytest.approx(4.0)


def test_the_bound_of_an_inexact_part_is_kept():
    class Careful(Simplex):
        def certify(self, g, vertex):
            return super().certify(g, vertex) - 0.25

    g = np.array([2.0, 3.0])
    for K, sets in (
        (Product(Careful(2), Simplex(1)), 2.0 + 5.0 - 0.25),
        (Translate(Careful(2), [1.0, 1.0]), 2.0 + 5.0 - 0.25),
        (Scale(Careful(2), -2.0), 2.0 * (-3.0 - 0.25)),
        (MinkowskiSum(Careful(2), Careful(2)), 4.0 - 0.5),
    ):
        direction = np.append(g, 5.0) if K.shape == (3,) else g
        assert K.certify(direction, K.lmo(direction)) == pytest.approx(sets, rel=1e-14)


def test_a_bound_does_not_gain_from_cancellation():
    K = Translate(Box([0.1], [0.3]), 1e9)
    g = np.array([1.0])
    assert K.certify(g, K.lmo(g)) <= 1e9 + 0.1
    K = MinkowskiSum(Box([1e9], [1e9]), Box([-1e9 + 0.1], [0.0]))
    assert K.certify(g, K.lmo(g)) <= 0.1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Product(), ValueError, "Product needs at least one set, found none in sets"),
        (
            lambda: Product(Simplex(2), 3),
            TypeError,
            "K must be a set .*, found 3 at position 1",
        ),
        (lambda: MinkowskiSum(), ValueError, "MinkowskiSum needs at least one set"),
        (lambda: MinkowskiSum(Simplex(2), Simplex(3)), ValueError, r"one shape, found Simplex\(2"),
        (lambda: Translate(Simplex(2), [1.0, 2.0, 3.0]), ValueError, r"offset must have the shape"),
        (lambda: Translate(Simplex(2), [1.0, np.nan]), ValueError, "offset has 1 NaN"),
        (lambda: Translate(2, 1.0), TypeError, "Translate is made of sets: K must be a set"),
        (
            lambda: Scale(Simplex(2), 0),
            ValueError,
            "factor must be finite and not 0, found 0",
        ),
        (
            lambda: Scale(Simplex(2), np.inf),
            ValueError,
            "factor must be a finite number",
        ),
        (lambda: Scale(Simplex(2), "x"), TypeError, "factor must be a finite number, found 'x'"),
    ],
)
def test_what_cannot_be_composed_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_combination_says_what_it_is_made_of():
    simplex = Simplex(3)
    assert repr(Scale(simplex, 2.0)) == "Scale(Simplex(3, radius=1), factor=2)"
    assert repr(Translate(simplex, np.ones(3))) == "Translate(Simplex(3, radius=1))"
    assert repr(Product(simplex, simplex)).startswith("Product(2 sets: Simplex, Simplex;")
