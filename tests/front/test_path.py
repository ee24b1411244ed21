"""Sequences of problems: what later ones save, sets that change, certificates, tables."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.atoms import Dense, OneHot, RankOne
from wolfpack.solvers.parts.hull import Hull
from wolfpack.solvers.parts.warm import scaled

S = wp.sets
RNG = np.random.default_rng(3)
A = RNG.standard_normal((150, 100))
TARGETS = A @ RNG.dirichlet(np.full(100, 0.05)) + 0.02 * RNG.standard_normal((11, 150)).cumsum(0)


def least_squares(b):
    return wp.objectives.LeastSquares(A, b)


@pytest.mark.parametrize(
    ("method", "most"),
    [("corrective", 1 / 3), ("bpcg", 1 / 3), ("away", 1 / 3), ("pairwise", 1 / 3), ("fcfw", 1 / 3)],
)
def test_near_problems_cost_a_third_of_a_cold_start(method, most):
    K = S.UnitSimplex(100, 0.8)
    res = wp.path(least_squares, K, TARGETS, method=method)
    cold = [wp.minimize(least_squares(b), K, method=method) for b in TARGETS]
    assert res.success
    assert res.nlmo[0] == cold[0].nlmo
    assert res.nlmo[1:].sum() <= most * sum(run.nlmo for run in cold[1:])
    for run, alone, b in zip(res, cold, TARGETS, strict=True):
        assert K.contains(run.x)
        assert run.fun == least_squares(b).value(run.x)
        # each certificate owes nothing to the run before
        assert run.lower_bound <= alone.fun
        assert alone.lower_bound <= run.fun
        # and is as good as that of a cold start
        start = least_squares(b).value(K.start())
        assert run.gap <= 1.01e-6 * (start - run.fun) + 1e-9 * abs(run.fun)


def test_a_path_of_radii_costs_less_than_cold_starts():
    f, radii = least_squares(2.0 * TARGETS[0]), np.linspace(0.1, 1.8, 29)
    res = wp.path(lambda r: f, lambda r: S.L1Ball(100, float(r)), radii)
    cold = [wp.minimize(f, S.L1Ball(100, float(r)), method="corrective") for r in radii]
    assert res.success
    assert res.nlmo.sum() <= 0.4 * sum(run.nlmo for run in cold)
    assert (np.diff(res.fun) < 0.0).all()
    for run, alone, r in zip(res, cold, radii, strict=True):
        assert abs(run.x).sum() <= r * (1 + 1e-9)
        assert run.fun <= alone.fun + run.gap
        assert alone.fun <= run.fun + alone.gap


@pytest.mark.parametrize("method", ["corrective", "bpcg", "projected", "auto", "fw-ls", "lazy"])
@pytest.mark.parametrize(
    "K_of",
    [
        lambda r: S.L1Ball(6, r),
        lambda r: S.LinfBall(6, r),
        lambda r: S.Box(np.zeros(6), np.full(6, r)),
        lambda r: S.L2Ball(6, r) if r > 1 else S.Simplex(6, r),
        lambda r: S.ConvexHull(r * np.eye(6)),
        lambda r: S.KSparse(6, 2, r),
    ],
)
def test_sets_may_change_from_value_to_value(method, K_of):
    if method == "projected" and not K_of(2.0).has("project"):
        return
    f = wp.objectives.Quadratic(np.diag(np.arange(1.0, 7.0)), np.linspace(-3.0, 1.0, 6))
    radii = [1.5, 0.7, 1.0, 0.4, 2.0]
    tol = 3e-2 if method in ("fw-ls", "lazy") else 1e-3
    res = wp.path(lambda r: f, K_of, radii, method=method, tol=tol)
    assert res.success
    for run, r in zip(res, radii, strict=True):
        assert K_of(r).contains(run.x)
        alone = wp.minimize(f, K_of(r), tol=1e-6)
        assert run.lower_bound <= alone.fun
        assert run.fun <= alone.fun + 1.1 * tol


def test_scaled_vertices_are_those_of_the_larger_set():
    for atoms in (
        OneHot(np.array([1, 3]), np.array([2.0, -2.0]), (4,)),
        OneHot(np.array([1, 3]), 2.0, (4,)),
        RankOne(np.eye(3)[:2], np.eye(2), 2.0),
        Dense(np.array([[1.0, 2.0], [0.0, -1.0]]), (2,)),
        S.Birkhoff(3).lmo(np.arange(18.0).reshape(2, 3, 3) ** 1.5 % 7),
    ):
        hull, places = Hull.start(np.ones(atoms.vertex_shape)).extend(atoms)
        weights = np.full(len(hull.weights), 1.0 / len(hull.weights))
        grown = scaled(hull.reweighted(weights), 1.5)
        assert np.allclose(grown.point(), 1.5 * hull.reweighted(weights).point())
        for i in range(len(hull.weights)):
            assert np.allclose(grown.vertex(i), 1.5 * hull.vertex(i))
        assert len(places) == 2
    # a vertex of a scaled ball is known by the same key as the ball's own answer
    grown, place = scaled(Hull.start(np.zeros(3)).add(S.L1Ball(3).lmo(-np.eye(3)[1]))[0], 4.0).add(
        S.L1Ball(3, 4.0).lmo(-np.eye(3)[1])
    )
    assert place == 1
    assert len(grown.weights) == 2


def test_functions_of_your_own_and_one_set_for_all():
    def f_of(centre):
        return lambda x: (0.5 * float((x - centre) @ (x - centre)), x - centre)

    centres = RNG.random((4, 5))
    res = wp.path(f_of, S.Simplex(5), centres, method="bpcg", convex=True, tol=1e-6)
    for run, centre in zip(res, centres, strict=True):
        assert np.allclose(run.x, S.Simplex(5).project(centre), atol=2e-3)


def test_the_result_is_a_list_with_a_table():
    res = wp.path(least_squares, S.Simplex(100), TARGETS[:3])
    assert len(res) == 3
    assert [run.fun for run in res] == res.fun.tolist()
    assert res[-1] is res.results[2]
    assert isinstance(res[:2], wp.PathResult)
    assert res[:2].x.shape == (2, 100)
    assert res.seconds == pytest.approx(sum(run.seconds for run in res))
    table = res.table
    assert {len(column) for column in table.values()} == {3}
    assert table["status"] == ["converged"] * 3
    assert (res.gap == res.fun - res.lower_bound).all()
    named = wp.path(lambda r: least_squares(TARGETS[0]), S.Simplex(100), [0.25, "last"])
    lines = repr(named).splitlines()
    assert len(lines) == 3
    assert lines[1].split()[0] == "0.25"
    assert "<td>last</td>" in named._repr_html_()
    assert (res.nit >= 0).all()
    assert len(wp.path(least_squares, S.Simplex(100), [])) == 0


def test_limits_hold():
    res = wp.path(least_squares, S.Simplex(100), TARGETS, max_seconds=0.0)
    assert len(res) == 11
    assert not res.success
    assert all(str(run.status) == "max_seconds" for run in res)
    res = wp.path(least_squares, S.Simplex(100), TARGETS[:3], max_lmo=5, tol=0)
    assert (res.nlmo <= 5).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wp.path(least_squares, np.eye(2), [1]), "K must be a set"),
        (lambda: wp.path(least_squares, lambda r: r, [1.0]), "K"),
        (lambda: wp.path(3, S.Simplex(2), [1.0]), "f_of"),
        (lambda: wp.path(least_squares, S.Simplex(100), TARGETS, checkpoint="x"), "checkpoint"),
        (lambda: wp.path(least_squares, S.Simplex(100), TARGETS, starts=2), "starts"),
        (lambda: wp.path(least_squares, S.Simplex(100), TARGETS, max_seconds=-1.0), "max_seconds"),
    ],
)
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()
