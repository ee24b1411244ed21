"""Nearest points of two sets: known distances, certificates, alternations, coupled functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize as slsqp

import wolfpack as wp

S = wp.sets
RNG = np.random.default_rng(0)
CLOUD, OTHER = RNG.standard_normal((30, 5)), RNG.standard_normal((25, 5)) + 3.0


def shifted(K, *centre):
    return S.Translate(K, np.array(centre, dtype=float))


PAIRS = {
    "balls": (S.L2Ball(2), shifted(S.L2Ball(2, 2.0), 3.0, 4.0), 2.0),
    "boxes": (S.Box([0.0, 0.0], [1.0, 1.0]), S.Box([4.0, 5.0], [6.0, 9.0]), 5.0),
    "ball and l1 ball": (S.L2Ball(3), shifted(S.L1Ball(3), 0.0, 0.0, -4.0), 2.0),
    "segment and point": (
        S.ConvexHull([[0.0, 0.0], [2.0, 0.0]]),
        S.ConvexHull([[1.0, 0.5]]),
        0.5,
    ),
    "matrices": (
        S.Spectrahedron(3),
        S.Translate(S.TraceNormBall((3, 3)), -np.eye(3)),
        math.sqrt(3),
    ),
    "far away": (S.L2Ball(2), shifted(S.L2Ball(2), 1e6, 0.0), 1e6 - 2.0),
    "overlap": (S.Simplex(3), S.Box([0.0] * 3, [0.5] * 3), 0.0),
    "touching": (S.L2Ball(2), shifted(S.Box([0.0, -1.0], [1.0, 1.0]), 1.0, 0.0), 0.0),
    "inside": (S.L1Ball(4, 0.1), S.LinfBall(4), 0.0),
}


@pytest.mark.parametrize("method", ["auto", "corrective", "projections"])
@pytest.mark.parametrize("pair", PAIRS)
def test_known_distances_are_found_and_proved(pair, method):
    K1, K2, distance = PAIRS[pair]
    res = wp.between(K1, K2, method=method, tol=1e-7 * max(1.0, distance))
    assert res.success
    assert K1.contains(res.x)
    assert K2.contains(res.y)
    assert res.fun == res.distance == np.linalg.norm(res.x - res.y)
    assert res.distance_bound <= distance + 1e-9 * distance <= res.distance + 2e-9 * distance
    assert res.lower_bound == res.distance_bound
    assert res.gap == res.distance - res.distance_bound <= 1e-7 * max(1.0, distance)
    assert res.meet is (distance == 0.0)
    assert res.history["fun"][-1] == pytest.approx(res.distance, abs=1e-7)
    assert res.history["gap"][-1] <= 1e-7 * max(1.0, distance)
    assert (np.diff(res.history["gap"]) <= 0.0).all()


@pytest.mark.parametrize("method", ["auto", "block", "projections", "bpcg"])
def test_the_hyperplane_separates_all_vertices(method):
    res = wp.between(S.ConvexHull(CLOUD), S.ConvexHull(OTHER), method=method, max_rounds=300)
    half = 0.5 * res.distance_bound
    assert res.meet is False
    assert half > 0.0
    assert np.linalg.norm(res.normal) == pytest.approx(1.0, abs=1e-14)
    assert (CLOUD @ res.normal).min() >= res.offset + half - 1e-12
    assert (OTHER @ res.normal).max() <= res.offset - half + 1e-12


def test_the_bound_of_a_rough_pair_is_that_of_its_direction():
    # at this pair the tangent of the half square proves nothing, and its scaled copy does
    K1, K2 = S.Box([0.0, 0.0], [1.0, 8.0]), S.Box([2.0, 0.0], [3.0, 8.0])
    res = wp.between(K1, K2, x0=([0.0, 1.0], [3.0, 0.0]), method="fw", max_rounds=0)
    z = np.array([-3.0, 1.0])
    # min <z, K1> - max <z, K2> = -3 - (-6 + 8)
    assert res.distance == pytest.approx(np.linalg.norm(z))
    assert res.distance_bound == 0.0
    assert res.meet is None
    res = wp.between(K1, K2, x0=([0.0, 0.1], [3.0, 0.0]), method="fw", max_rounds=0)
    z = np.array([-3.0, 0.1])
    assert res.distance_bound == pytest.approx((-3.0 - (-6.0 + 0.8)) / np.linalg.norm(z))
    assert res.distance_bound > math.sqrt(2.0 * max(0.0, 2.2 - 0.5 * z @ z))


def test_tolerances_are_of_the_distance():
    K1, K2 = S.ConvexHull(CLOUD), S.ConvexHull(OTHER)
    exact = wp.between(K1, K2, tol=1e-10).distance
    rough, finer = (wp.between(K1, K2, method="bpcg", tol=tol) for tol in (0.1, 1e-3))
    assert rough.nit < finer.nit
    for res, tol in ((rough, 0.1), (finer, 1e-3)):
        assert res.success
        assert res.distance - exact <= res.gap <= tol
    relative = wp.between(K1, K2, method="bpcg", tol=0.0, rtol=1e-3)
    assert relative.gap <= 1e-3 * relative.distance
    # 128 times as far and as large, 128 times the tolerance: the same rounds
    big = [S.ConvexHull(128 * points) for points in (CLOUD, OTHER)]
    big = wp.between(*big, method="bpcg", tol=0.128)
    assert big.nit == finer.nit


def test_sets_that_nearly_meet_are_told_apart_where_the_tolerance_allows():
    K1, K2 = S.L2Ball(2), shifted(S.L2Ball(2), 2.0 + 1e-6, 0.0)
    assert wp.between(K1, K2, tol=1e-9).meet is False
    apart = wp.between(
        S.Simplex(3), shifted(S.Simplex(3), 1e-3, 1e-3, 1e-3), method="block", tol=0.1
    )
    assert apart.distance <= 0.1
    assert apart.meet in (True, False)


def test_block_alternates_and_projections_alternate():
    K1, K2 = S.L2Ball(2), S.Box([2.0, -1.0], [3.0, 3.0])
    res = wp.between(K1, K2, x0=([0.0, 0.0], [2.0, 3.0]), method="projections", max_rounds=1, tol=0)
    x = np.array([2.0, 3.0]) / math.sqrt(13.0)
    assert np.allclose(res.x, x)
    assert np.allclose(res.y, [2.0, x[1]])
    steps = [
        wp.between(K1, K2, x0=([0.0, 0.0], [2.0, 3.0]), method="block", max_rounds=k, tol=0)
        for k in (1, 2)
    ]
    assert np.array_equal(steps[0].y, [2.0, 3.0])
    assert not np.array_equal(steps[0].x, [0.0, 0.0])
    assert np.array_equal(steps[1].x, steps[0].x)
    assert not np.array_equal(steps[1].y, steps[0].y)


def test_projections_by_oracles_end_where_formulas_do():
    class Veiled(S.ConvexHull):
        """A hull, which has no formula for its projection."""

    square = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    K2 = shifted(S.L2Ball(2), 5.0, 3.0)
    by_oracle = wp.between(Veiled(square), K2, method="projections", tol=1e-9)
    by_formula = wp.between(S.LinfBall(2), K2, method="projections", tol=1e-9)
    assert not Veiled(square).has("project")
    assert by_oracle.success
    assert by_oracle.distance == pytest.approx(by_formula.distance, abs=2e-9)
    assert by_oracle.nlmo > by_formula.nlmo


def coupling(x, y):
    """Return a function that is convex in the pair, with its gradients."""
    s, t = x - np.array([1.0, 2.0, 0.0]), x + y
    return 0.5 * s @ s + 0.25 * t @ t, s + 0.5 * t, 0.5 * t


@pytest.mark.parametrize("penalty", [0.0, 1.0, 10.0])
def test_coupled_functions_are_minimised_as_scipy_does(penalty):
    K1, K2 = S.Simplex(3), S.Box([-1.0] * 3, [0.1] * 3)

    def joint(w):
        return coupling(w[:3], w[3:])[0] + 0.5 * penalty * ((w[:3] - w[3:]) ** 2).sum()

    bounds = [(0, 1)] * 3 + [(-1, 0.1)] * 3
    total = {"type": "eq", "fun": lambda w: w[:3].sum() - 1}
    best = slsqp(joint, np.full(6, 0.1), bounds=bounds, constraints=total, tol=1e-12)
    for method, tol in (("auto", 1e-6), ("block", 3e-3)):
        res = wp.between(K1, K2, coupling, penalty=penalty, method=method, convex=True, tol=tol)
        assert res.success
        assert res.fun == pytest.approx(best.fun, abs=3 * tol)
        assert res.lower_bound <= best.fun + 1e-9
        assert res.fun == pytest.approx(joint(np.append(res.x, res.y)))
        assert res.distance == np.linalg.norm(res.x - res.y)
        # the sets are that far apart, whatever f is
        assert res.distance_bound <= wp.between(K1, K2).distance


def test_vertices_of_the_pair_are_kept_and_results_are_saved(tmp_path):
    res = wp.between(S.ConvexHull(CLOUD), S.ConvexHull(OTHER), method="bpcg", tol=1e-6)
    assert np.allclose(res.active.point, np.append(res.x, res.y))
    assert res.decompose().distance <= 1e-9
    again = wp.load(res.save(tmp_path / "pair"))
    for name in ("x", "y", "normal"):
        assert np.array_equal(again[name], res[name])
    for name in ("distance", "distance_bound", "offset", "meet"):
        assert again[name] == res[name]
    assert res.to_dict()["y"] == res.y.tolist()


def test_shapes_limits_and_failures():
    K = S.Birkhoff(3)
    res = wp.between(K, S.Translate(K, np.ones((3, 3))), max_lmo=20)
    assert res.x.shape == res.y.shape == res.normal.shape == (3, 3)
    assert res.distance == pytest.approx(3.0)
    assert wp.between(S.ConvexHull(CLOUD), S.ConvexHull(OTHER), max_lmo=9, tol=0).nlmo <= 9
    with pytest.raises(wp.ConvergenceError) as error:
        wp.between(
            S.ConvexHull(CLOUD), S.ConvexHull(OTHER), max_rounds=1, tol=0, raise_on_failure=True
        )
    assert error.value.result.y.shape == (5,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wp.between(S.Simplex(2), S.Simplex(3)), "same shape"),
        (lambda: wp.between(S.Simplex(2), np.eye(2)), "K2 must be a set"),
        (lambda: wp.between(S.Simplex(2), S.Simplex(2), x0=[1.0, 0.0, 0.0]), "pair of points"),
        (lambda: wp.between(S.Simplex(2), S.Simplex(2), x0=([1.0, 1.0], [1.0, 0.0])), "outside"),
        (lambda: wp.between(S.Simplex(2), S.Simplex(2), starts=3), "'starts'"),
        (lambda: wp.between(S.Simplex(2), S.Simplex(2), penalty=-1.0), "penalty"),
        (lambda: wp.between(S.Simplex(2), S.Simplex(2), convex=False), "convex"),
        (
            lambda: wp.between(S.Simplex(3), S.Simplex(3), coupling, method="projections"),
            "'block'",
        ),
        (
            lambda: wp.between(S.Simplex(3), S.Simplex(3), lambda x, y: (0.0, x)),
            "gradient in y",
        ),
        (
            lambda: wp.minimize(
                wp.objectives.Quadratic(1.0, np.zeros(2)),
                S.Simplex(2),
                method=wp.solvers.AlternatingProjections(),
            ),
            "wp.between",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises((ValueError, TypeError, wp.CapabilityError), match=words):
        call()


@pytest.mark.extras
def test_points_stay_on_the_device_of_the_start():
    torch = pytest.importorskip("torch")
    K1, K2 = S.L2Ball(3), shifted(S.L1Ball(3), 0.0, 0.0, -4.0)
    x0 = (torch.zeros(3, dtype=torch.float64), torch.tensor([0.0, 0.5, -4.0]).double())
    res = wp.between(K1, K2, x0=x0, method="projections", tol=1e-8)
    assert isinstance(res.y, torch.Tensor)
    assert isinstance(res.normal, torch.Tensor)
    assert res.distance == pytest.approx(2.0)
    assert res.meet is False
