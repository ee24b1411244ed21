"""What the contract suite does not ask of simplices, balls of vector norms, boxes and polytopes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wolfpack import noise, sets
from wolfpack.atoms import Corner
from wolfpack.problem import CapabilityError


@pytest.mark.parametrize(
    ("K", "g", "first"),
    [
        (sets.Simplex(4), [1, 0, 0, 0], [0, 1, 0, 0]),
        (sets.L1Ball(4), [1, -2, 2, 0], [0, 1, 0, 0]),
        (sets.WeightedL1Ball([1.0, 2.0, 4.0]), [1, 2, -4], [-1, 0, 0]),
        (sets.KSparse(4, 2), [0, 3, -1, 1], [0, -1, 1, 0]),
        (sets.KSparse(4, 3), [0, 0, 0, 0], [-1, -1, -1, 0]),
        (sets.Hypersimplex(5, 2), [1, 0, 1, 1, 1], [1, 1, 0, 0, 0]),
        (sets.CappedSimplex(4, 0.5, 1.25), [2, 2, 2, 2], [0.5, 0.5, 0.25, 0]),
        (sets.CappedSimplex(4, [0.5, 0.75, 1, 1], 1.0), [2, 2, 2, 2], [0.5, 0.5, 0, 0]),
        (sets.Permutahedron([1, 2, 3]), [0, 0, 0], [3, 2, 1]),
        (sets.GroupL1Ball([[0], [1], [2]]), [1, -1, 1], [-1, 0, 0]),
        (sets.Box([0, 0], [1, 1]), [0, -1], [0, 1]),
    ],
    ids=repr,
)
def test_ties_go_to_the_first_index(K, g, first):
    g = np.array(g, dtype=float)
    np.testing.assert_array_equal(K.lmo(g).to_dense(), first)
    np.testing.assert_array_equal(K.lmo(np.stack([g, -g, g])).take(2).to_dense(), first)


@pytest.mark.parametrize("exponent", [-300, -200, 200, 300])
@pytest.mark.parametrize(
    "K", [sets.L2Ball(3), sets.LpBall(3, 1.5), sets.GroupL1Ball([[0, 1], [2]])], ids=repr
)
def test_squares_and_powers_do_not_leave_the_range(K, exponent):
    g = np.array([3.0, -4.0, 1.0])
    scaled = K.lmo(g * 10.0**exponent).to_dense()
    np.testing.assert_allclose(scaled, K.lmo(g).to_dense(), rtol=1e-12)
    mixed = K.lmo(np.stack([g * 10.0**exponent, g, 0 * g])).to_dense()
    np.testing.assert_allclose(mixed[0], scaled, rtol=1e-12)
    np.testing.assert_allclose(mixed[1], K.lmo(g).to_dense(), rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 7.0, math.inf])
def test_lp_balls_agree_with_the_balls_of_their_own(p):
    own = {1.0: sets.L1Ball, 2.0: sets.L2Ball, math.inf: sets.LinfBall}.get(p)
    K = sets.LpBall((2, 3), p, radius=2.0)
    assert K.polytope == (p in (1.0, math.inf))
    if own is not None:
        g = np.random.default_rng(0).standard_normal((5, 2, 3))
        np.testing.assert_allclose(K.lmo(g).to_dense(), own((2, 3), 2.0).lmo(g).to_dense())
        assert K.radius == pytest.approx(own((2, 3), 2.0).radius)


def test_a_k_sparse_polytope_lies_between_the_l1_and_the_linf_ball():
    g = np.random.default_rng(1).standard_normal((6, 5))
    for k, ball in ((1, sets.L1Ball(5, 3.0)), (5, sets.LinfBall(5, 3.0))):
        K = sets.KSparse(5, k, radius=3.0)
        np.testing.assert_array_equal(K.lmo(g).to_dense(), ball.lmo(g).to_dense())
        assert K.radius == pytest.approx(ball.radius)


def test_a_capped_simplex_without_effective_caps_is_the_simplex():
    g = np.random.default_rng(2).standard_normal((6, 5))
    for cap in (math.inf, np.full(5, 7.0)):
        K = sets.CappedSimplex(5, cap, total=2.0)
        np.testing.assert_array_equal(K.lmo(g).to_dense(), sets.Simplex(5, 2.0).lmo(g).to_dense())
        assert K.radius == 2.0
        assert K.diameter == pytest.approx(2.0 * math.sqrt(2.0))


def test_a_capped_simplex_may_be_a_single_point():
    K = sets.CappedSimplex(3, [0.5, 0.25, 0.25], total=1.0)
    assert K.diameter == 0.0
    np.testing.assert_array_equal(K.lmo(np.array([3.0, -1.0, 2.0])).to_dense(), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(K.project(np.array([9.0, -9.0, 0.0])), [0.5, 0.25, 0.25])
    full = sets.Hypersimplex(3, 3)
    np.testing.assert_array_equal(full.lmo(np.array([1.0, 2.0, 3.0])).to_dense(), np.ones(3))


def test_a_cap_that_divides_the_total_leaves_no_rounded_rest():
    K = sets.CappedSimplex(10, cap=0.1, total=0.3)
    dense = K.lmo(np.arange(10.0)).to_dense()
    assert np.count_nonzero(dense) == 3


def test_groups_by_labels_and_by_positions_are_one_set():
    labels = np.array([[7, 2, 7], [2, 2, 5]])
    by_label = sets.GroupL1Ball(labels)
    by_position = sets.GroupL1Ball([[1, 3, 4], [5], [0, 2]])
    assert by_label.shape == (2, 3)
    for mine, theirs in zip(by_label.groups, by_position.groups, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    g = np.random.default_rng(3).standard_normal((4, 6))
    np.testing.assert_array_equal(
        by_label.lmo(g.reshape(4, 2, 3)).to_dense().reshape(4, 6), by_position.lmo(g).to_dense()
    )


@pytest.mark.parametrize("n", [2, 3, 30])
def test_the_smoothness_constants_are_attained(n):
    h, alpha = 1e-4, 0.7
    tie = np.zeros(n)
    tie[:2] = 40.0
    across = np.zeros(n)
    across[:2] = h / math.sqrt(2), -h / math.sqrt(2)
    along = np.eye(n)[0] * h
    for K, y, step in (
        (sets.Simplex(n, 2.0), tie, across),
        (sets.L1Ball(n, 2.0), tie, across),
        (sets.L2Ball(n, 2.0), np.zeros(n), along),
        (sets.LinfBall(n, 2.0), np.zeros(n), along),
    ):
        rise = K.smoothed(y + step, alpha) - K.smoothed(y - step, alpha)
        law = K.closed_forms[0]
        constant = K.smoothness(law if law == "lifted" else noise.get(law))
        assert np.linalg.norm(rise) / (2 * h) == pytest.approx(constant / alpha, rel=1e-5)


def test_the_l1_constant_holds_at_random_points_of_any_spread():
    rng = np.random.default_rng(4)
    for n in (2, 3, 5, 9):
        y = rng.standard_normal((400, n)) * 10 ** rng.uniform(-1, 1, (400, 1))
        cosh, sinh = np.cosh(y), np.sinh(y)
        total = cosh.sum(axis=1)
        q = sinh / total[:, None]
        covariance = np.eye(n) * (cosh / total[:, None])[:, None, :] - q[:, :, None] * q[:, None, :]
        worst = np.linalg.eigvalsh(covariance)[:, -1].max()
        assert worst <= sets.L1Ball(n).smoothness("lifted") * (1 + 1e-12)


def test_a_box_smooths_each_coordinate_with_its_own_scale():
    K = sets.Box([0.0, -1.0], [1.0, 3.0])
    law = noise.Logistic(scale=np.array([1.0, 5.0]))
    y = np.array([0.3, -0.4])
    apart = [
        sets.Box([low], [high]).smoothed([t], 0.5, noise.Logistic(scale))[0]
        for low, high, t, scale in ((0.0, 1.0, 0.3, 1.0), (-1.0, 3.0, -0.4, 5.0))
    ]
    np.testing.assert_allclose(K.smoothed(y, 0.5, law), apart, rtol=1e-13)
    assert K.smoothness(law) == pytest.approx(max(1.0 * 0.25, 4.0 * 0.25 / 5.0))


def test_unequal_scales_leave_no_closed_form_where_coordinates_compete():
    law = noise.Gumbel(scale=np.array([1.0, 2.0]))
    with pytest.raises(CapabilityError, match=r"Simplex\(2.*equal scales"):
        sets.Simplex(2).smoothed(np.zeros(2), 1.0, law)
    assert sets.Simplex(2).smoothed_at_zero(law) is None
    assert sets.L2Ball(2).smoothness(noise.Gaussian(scale=np.ones(2) * 2)) is None


def test_corners_with_equal_bounds_are_one_vertex():
    K = sets.Box([0.0, 2.0], [1.0, 2.0])
    one, other = K.lmo(np.array([1.0, 1.0])), K.lmo(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    assert one.key() == other.key()


def test_the_mean_of_very_many_corners():
    above = np.zeros((70_000, 2), dtype=bool)
    above[:35_000, 0] = True
    mean = Corner(above, np.array([0.0, 5.0]), np.array([2.0, 9.0]), (2,)).mean()
    np.testing.assert_array_equal(mean, [1.0, 5.0])


def test_a_selection_larger_than_the_scratch_memory():
    g = np.random.default_rng(5).standard_normal((3, 60_000))
    dense = sets.KSparse(60_000, 50).lmo(g).to_dense()
    for row, answer in zip(g, dense, strict=True):
        best = np.sort(np.argsort(-abs(row), kind="stable")[:50])
        np.testing.assert_array_equal(np.flatnonzero(answer), best)


def test_sets_that_are_special_cases_of_others():
    g = np.random.default_rng(7).standard_normal((50, 6))
    ones = np.concatenate([np.ones(3), np.zeros(3)])
    for K, same in (
        (sets.KNormBall(6, 3, 2.0), sets.OrderedWeightedL1(ones, 2.0)),
        (sets.KNormBall(6, 6, 2.0), sets.L1Ball(6, 2.0)),
        (sets.KNormBall(6, 1, 2.0), sets.LinfBall(6, 2.0)),
        (sets.UnitHypersimplex(6, 2), sets.Knapsack(np.ones(6), 2.0)),
        (sets.UnitSimplex(6, 2.0), sets.Knapsack(np.ones(6), 2.0, np.inf)),
        (sets.UnitHypersimplex(6, 6), sets.Box(np.zeros(6), np.ones(6))),
    ):
        np.testing.assert_allclose(K.support(g), same.support(g), rtol=1e-13, atol=1e-15)
        assert K.radius == pytest.approx(same.radius)
        assert K.diameter == pytest.approx(same.diameter)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_no_centre_is_nearer_to_sets_with_interior(n):
    for k in range(1, n + 1):
        K = sets.UnitHypersimplex(n, k)
        # by symmetry the best centre has equal entries c; j ones are at this distance
        best = min(
            max(j * (1 - c) ** 2 + (n - j) * c * c for j in range(k + 1))
            for c in np.linspace(0.0, 1.0, 4 * n * 50 + 1)
        )
        assert K.centred_radius == pytest.approx(best**0.5, rel=1e-3)
    assert sets.UnitSimplex(n, 2.0).centred_radius == pytest.approx(
        2.0 * sets.UnitHypersimplex(n, 1).centred_radius
    )


def test_points_near_a_knapsack_are_made_feasible():
    K = sets.Knapsack([1.0, 2.0, 0.0, 3.0], 4.0)
    z = np.array([1.0 + 1e-6, 1e-6, -1e-6, 1.0])
    x = K.polyhedron().round(z)
    assert K.contains(x, 1e-15)
    np.testing.assert_allclose(x, z, rtol=0, atol=1e-5)


def test_the_smoothness_of_a_simplex_with_its_interior_is_sharp():
    # two coordinates that tie far above 0 behave like the simplex, whose constant is sharp
    K, y, h = sets.UnitSimplex(2, 3.0), np.array([50.0, 50.0]), np.array([1e-4, -1e-4])
    slope = (K.smoothed(y + h, 1.0) - K.smoothed(y - h, 1.0)) @ h / (2 * h @ h)
    assert slope == pytest.approx(K.smoothness("gumbel"), rel=1e-6)


def test_a_large_fantope_asks_for_few_eigenvectors():
    g = np.random.default_rng(8).standard_normal((310, 310))
    K = sets.Fantope(310, 2)
    least = float(np.linalg.eigvalsh(0.5 * (g + g.T))[:2].sum())
    vertex = K.lmo(g)
    assert vertex.dot(g) == pytest.approx(least, rel=1e-9)
    assert least - 1e-9 * abs(least) <= K.certify(g, vertex) <= least


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: sets.Simplex(0), ValueError, "n must be at least 1, found 0"),
        (lambda: sets.Simplex(2.5), TypeError, "n must be a positive integer"),
        (lambda: sets.L1Ball(3, -1.0), ValueError, "radius must be a positive finite number"),
        (lambda: sets.LinfBall(3, math.nan), ValueError, "radius must be a positive"),
        (lambda: sets.L2Ball(3, "big"), TypeError, "radius must be a positive finite number"),
        (lambda: sets.LpBall(3, 0.5), ValueError, "p must be a number >= 1, found 0.5"),
        (lambda: sets.LpBall(3, math.nan), ValueError, "p must be a number >= 1"),
        (lambda: sets.LpBall(3, "two"), TypeError, "p must be a number"),
        (lambda: sets.WeightedL1Ball([1.0, 0.0]), ValueError, "weights must be positive, found 1"),
        (lambda: sets.WeightedL1Ball([]), ValueError, "weights must be a non-empty array"),
        (lambda: sets.WeightedL1Ball([1, math.inf]), ValueError, "weights has 1 NaN or infinite"),
        (
            lambda: sets.Box([0, 2], [1, 1]),
            ValueError,
            "lower must not exceed upper, found",
        ),
        (lambda: sets.Box([0, 2], [1, 1, 1]), ValueError, "must have one shape"),
        (lambda: sets.Box(0, 1), ValueError, "pass arrays"),
        (lambda: sets.Box([], []), ValueError, "must not be empty"),
        (
            lambda: sets.CappedSimplex(3, 0.2, 1.0),
            ValueError,
            "to total = 1 or more, found 0.6",
        ),
        (lambda: sets.CappedSimplex(3, [1, 1]), ValueError, r"cap must be a number or have shape"),
        (lambda: sets.CappedSimplex(3, [1, -1, 1]), ValueError, "nonnegative, found 1"),
        (lambda: sets.CappedSimplex(3, math.nan), ValueError, "cap must be nonnegative"),
        (lambda: sets.Hypersimplex(3, 4), ValueError, "k must be at most n = 3, found 4"),
        (lambda: sets.KSparse(3, 4), ValueError, "k must be at most n = 3, found 4"),
        (lambda: sets.KSparse(3, 0), ValueError, "k must be an integer >= 1"),
        (lambda: sets.KSparse(3, 1.5), TypeError, "k must be an integer >= 1"),
        (lambda: sets.UnitHypersimplex(3, 4), ValueError, "k must be at most n = 3, found 4"),
        (lambda: sets.KNormBall(3, 4), ValueError, "k must be at most n = 3, found 4"),
        (lambda: sets.Fantope(3, 4), ValueError, "k must be at most n = 3, found 4"),
        (lambda: sets.OrderedWeightedL1([1.0, -1.0]), ValueError, "found 1 of 2 that are not"),
        (lambda: sets.OrderedWeightedL1([0.0, 0.0]), ValueError, "not all 0, found only zeros"),
        (lambda: sets.Knapsack([1.0, -1.0], 1.0), ValueError, "weights must be nonnegative"),
        (lambda: sets.Knapsack([1.0, 0.0], 1.0, math.inf), ValueError, "set is not compact"),
        (lambda: sets.Knapsack([1.0, 2.0], 1.0, [1.0] * 3), ValueError, "upper must be a number"),
        (lambda: sets.Knapsack([1.0, 2.0], 1.0, math.nan), ValueError, "upper must be nonneg"),
        (lambda: sets.Knapsack([1.0, 2.0], 0.0), ValueError, "capacity must be a positive"),
        (lambda: sets.Permutahedron([[1.0]]), ValueError, "one-dimensional"),
        (lambda: sets.Permutahedron([1.0, math.nan]), ValueError, "vector has 1 NaN"),
        (lambda: sets.GroupL1Ball([[0, 1], [1]]), ValueError, r"each of 0..2 exactly once"),
        (lambda: sets.GroupL1Ball([[0], [2]]), ValueError, r"1 positions"),
        (lambda: sets.GroupL1Ball([[0], []]), ValueError, r"groups\[1\] must be a non-empty"),
        (lambda: sets.GroupL1Ball([0.5, 1.5]), TypeError, "integer array of labels"),
        (lambda: sets.Simplex(2).smoothed([0, 0], 0.0), ValueError, "alpha must be a positive"),
        (lambda: sets.Box([0], [1]).smoothed([0, 0], 1.0), ValueError, "y must have shape"),
        (lambda: sets.L1Ball(1).smoothed([math.nan], 1.0), ValueError, "y has 1 NaN"),
    ],
)
def test_bad_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()
