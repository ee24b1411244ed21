"""What every set promises, against all its vertices in small and a solver in larger dimension."""

from __future__ import annotations

import pickle

import cvxpy as cp
import numpy as np
import pytest

import wolfpack as wp
from wolfpack import sets
from wolfpack.atoms import Atoms
from wolfpack.problem import CapabilityError

from .case import Case, probes, solve
from .registry import CASES

every_set = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
solved = [c for c in CASES if c.large is not None]
ranked = [c for c in CASES if c.small().has("k_best")]
projected = [c for c in CASES if c.small().has("project")]


def norm(x) -> float:
    return float(np.linalg.norm(np.asarray(x).reshape(-1)))


def inner(g, v) -> float:
    return float(np.vdot(np.asarray(g, dtype=float), np.asarray(v, dtype=float)))


def slack(case: Case, K, g) -> float:
    return case.rtol * norm(g) * K.radius


@every_set
def test_the_oracle_finds_the_best_of_all_vertices(case):
    K = case.small()
    for g in [*probes(K, seed=1), *np.sign(probes(K, seed=2, count=20)).round()]:
        vertex = K.lmo(g)
        assert isinstance(vertex, Atoms)
        dense = vertex.to_dense()
        assert dense.shape == K.shape
        assert inner(g, dense) == pytest.approx(case.min_small(g), rel=0, abs=slack(case, K, g))
        assert K.contains(dense)


@pytest.mark.parametrize("case", solved, ids=lambda case: case.name)
def test_the_oracle_agrees_with_a_solver(case):
    K = case.large()
    rng = np.random.default_rng(3)
    g = rng.standard_normal(K.shape)
    for direction in (g, np.round(g)):  # the rounded one has ties
        found = inner(direction, K.lmo(direction))
        tol = max(case.rtol, 1e-6) * norm(direction) * K.radius
        assert found == pytest.approx(case.min_large(direction), rel=0, abs=tol)
        assert K.contains(K.lmo(direction).to_dense())


@every_set
def test_a_batch_is_answered_like_its_rows(case):
    K = case.small()
    batch = np.concatenate([probes(K, seed=4, count=8)[-12:], np.zeros((1, *K.shape))])
    batch[2] = np.round(batch[2])
    answers = K.lmo(batch)
    dense = answers.to_dense()
    assert answers.count == len(batch)
    assert dense.shape == batch.shape
    for i, g in enumerate(batch):
        single = K.lmo(g)
        assert inner(g, dense[i]) == pytest.approx(inner(g, single), abs=2 * slack(case, K, g))
        if K.polytope:
            np.testing.assert_array_equal(dense[i], single.to_dense())
            assert answers.take(i).key() == single.key()
    one = K.lmo(batch[:1])
    assert one.shape == (1, *K.shape)


@every_set
def test_an_empty_batch_has_an_empty_answer(case):
    K = case.small()
    answers = K.lmo(np.zeros((0, *K.shape)))
    assert isinstance(answers, Atoms)
    assert answers.count == 0
    assert answers.to_dense().shape == (0, *K.shape)
    assert answers.dot(np.ones(K.shape)).shape == (0,)
    assert K.support(np.zeros((0, *K.shape))).shape == (0,)


@every_set
def test_the_vertices_compute_like_their_arrays(case):
    K = case.small()
    batch = probes(K, seed=5, count=9)[-9:]
    answers = K.lmo(batch)
    dense = answers.to_dense()
    rows = dense.reshape(len(dense), -1)
    u = batch[0]
    tol = {"rtol": 1e-12, "atol": 1e-12 * K.radius * (1 + norm(u))}
    np.testing.assert_allclose(answers.dot(u), rows @ u.reshape(-1), **tol)
    np.testing.assert_allclose(answers.dot(batch), (dense * batch).reshape(9, -1).sum(1), **tol)
    np.testing.assert_allclose(answers.mean(), dense.mean(axis=0), **tol)
    np.testing.assert_allclose(answers.norms_squared(), (rows * rows).sum(1), **tol)
    vertex = K.lmo(u)
    np.testing.assert_allclose(
        vertex.add_scaled(u, 0.5, 2.0), 0.5 * u + 2.0 * vertex.to_dense(), **tol
    )
    np.testing.assert_allclose(answers.take([2, 0]).to_dense(), dense[[2, 0]], **tol)


@every_set
def test_support_is_minus_the_minimum_of_the_opposite_direction(case):
    K = case.small()
    batch = probes(K, seed=6, count=6)[-6:]
    values = K.support(batch)
    for u, value in zip(batch, values, strict=True):
        single = K.support(u)
        assert isinstance(single, float)
        assert single == pytest.approx(-case.min_small(-u), rel=0, abs=slack(case, K, u))
        assert value == pytest.approx(single, rel=0, abs=2 * slack(case, K, u))


@every_set
def test_certify_never_exceeds_the_minimum(case):
    K = case.small()
    for g in probes(K, seed=7, count=10):
        least, scale = case.min_small(g), norm(g) * K.radius
        proved = K.certify(g, K.lmo(g))
        assert proved <= least + 1e-13 * scale
        assert proved >= least - case.certify_rtol * scale


@every_set
def test_radius_and_diameter_are_those_of_the_vertices(case):
    K = case.small()
    points = case.answers(K).reshape(-1, K.dimension)
    farthest = np.linalg.norm(points, axis=1).max()
    widest = max(np.linalg.norm(points - p, axis=1).max() for p in points)
    assert farthest <= K.radius * (1 + 1e-12)
    assert widest <= K.diameter * (1 + 1e-12) + 1e-15
    assert K.diameter <= 2 * K.radius * (1 + 1e-12)
    # whatever the centre, it is half a distance at least, and at least the spread about the mean
    spread = np.sum((points - points.mean(axis=0)) ** 2, axis=1).mean()
    assert max(0.5 * widest, spread**0.5) <= K.centred_radius * (1 + 1e-12) + 1e-15
    assert K.centred_radius <= K.radius * (1 + 1e-12)
    assert sets.Translate(K, 1e3).centred_radius == K.centred_radius
    if case.exact_radius:
        assert farthest == pytest.approx(K.radius, rel=1e-9)
    if case.exact_diameter:
        assert widest == pytest.approx(K.diameter, rel=1e-9, abs=1e-12)


@every_set
def test_contains_vertices_and_averages_and_nothing_beyond(case):
    K = case.small()
    points = case.answers(K)
    rng = np.random.default_rng(8)
    weights = rng.dirichlet(np.full(len(points), 0.3), size=10)
    averages = np.tensordot(weights, points, axes=1)
    for x in [*points[:50], *averages, points.mean(axis=0)]:
        assert K.contains(x), K.violation(x)
    for g in probes(K, seed=9, count=10)[-11:]:
        # <g, x> is below the minimum, hence x at this distance of K at least
        x = K.lmo(g).to_dense() - 1e-3 * max(1.0, K.radius) * g / norm(g)
        assert not K.contains(x)
        assert K.contains(x, tol=10.0)
        # so is a point beyond a vertex, seen from the middle: it stays in the affine hull of K
        vertex, middle = K.lmo(g).to_dense(), points.mean(axis=0)
        if inner(g, middle - vertex) > 0.1 * norm(g) * norm(middle - vertex) > 0:
            assert not K.contains(vertex + 0.01 * (vertex - middle))
    for value in (np.nan, np.inf, -np.inf):
        assert not K.contains(np.full(K.shape, value))


@every_set
def test_contains_no_point_that_a_direction_separates(case):
    K = case.small()
    points, rng = case.answers(K), np.random.default_rng(14)
    middle = points.mean(axis=0)
    us = probes(K, seed=15, count=case.directions)
    us = np.concatenate([us, np.sign(probes(K, seed=16, count=case.directions // 15))])
    room = K.support(us) - us.reshape(len(us), -1) @ middle.reshape(-1)
    seen = room > 1e-9 * K.radius * np.linalg.norm(us.reshape(len(us), -1), axis=1)
    for _ in range(20):
        z = np.tensordot(rng.dirichlet(np.ones(len(points))), points, axes=1) - middle
        reached = (us.reshape(len(us), -1) @ z.reshape(-1))[seen] / room[seen]
        if seen.any() and reached.max() > 0:
            # <u, x> exceeds s(u) by 2% of the room in the direction u that z uses up first
            assert not K.contains(middle + (1.02 / reached.max()) * z)


@every_set
def test_it_starts_inside_with_a_fresh_array(case):
    for make in filter(None, (case.small, case.large)):
        K = make()
        x = K.start()
        assert x.shape == K.shape
        assert K.contains(x)
        x += 1.0
        assert K.contains(K.start())


@every_set
def test_a_zero_direction_is_answered_by_a_point(case):
    K = case.small()
    vertex = K.lmo(np.zeros(K.shape))
    assert K.contains(vertex.to_dense())
    assert K.support(np.zeros(K.shape)) == 0.0
    assert K.contains(K.lmo(-np.zeros((3, *K.shape))).take(1).to_dense())


@every_set
def test_ties_are_broken_the_same_way_each_time(case):
    K = case.small()
    for g in (np.ones(K.shape), -np.ones(K.shape), np.zeros(K.shape)):
        first = K.lmo(g).to_dense()
        again = [K.lmo(g.copy()).to_dense(), case.small().lmo(g).to_dense()]
        again += list(K.lmo(np.stack([g] * 3)).to_dense())
        for dense in again:
            tol = 0.0 if K.polytope else 1e-12 * K.radius
            np.testing.assert_allclose(dense, first, rtol=0, atol=tol)


@every_set
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_direction_with_nan_or_inf_is_an_error_that_counts_them(case, bad):
    K = case.small()
    g = np.ones((2, *K.shape))
    g.reshape(-1)[[0, -1]] = bad
    for direction, count in ((g, 2), (g[1], 1)):
        with pytest.raises(ValueError, match=f"{count} NaN or infinite") as error:
            K.lmo(direction)
        assert repr(K) in str(error.value)
        with pytest.raises(ValueError, match="NaN or infinite"):
            K.support(direction)


@every_set
def test_a_direction_of_another_shape_is_an_error_that_names_both(case):
    K = case.small()
    wrong = np.zeros((*K.shape[:-1], K.shape[-1] + 1))
    for g in (wrong, wrong[None], np.zeros((1, 1, *K.shape))):
        with pytest.raises(ValueError, match="shape") as error:
            K.lmo(g)
        assert repr(K) in str(error.value)
    with pytest.raises(ValueError, match="x must have shape"):
        K.contains(wrong)


@every_set
def test_a_copy_sent_to_a_worker_answers_alike(case):
    K = case.small()
    copy = pickle.loads(pickle.dumps(K))
    g = probes(K, seed=10)[-1]
    np.testing.assert_array_equal(copy.lmo(g).to_dense(), K.lmo(g).to_dense())
    assert copy.shape == K.shape
    assert copy.radius == K.radius


@every_set
def test_its_name_is_short_and_says_what_it_is(case):
    K = case.small()
    assert repr(K).startswith(f"{type(K).__name__}(")
    assert len(repr(K)) < 120
    assert "object at" not in repr(K)


@pytest.mark.parametrize("case", ranked, ids=lambda case: case.name)
def test_k_best_are_the_first_of_all_vertices_when_sorted(case):
    K = case.small()
    for g in [*probes(K, seed=11, count=5)[-5:], np.ones(K.shape), np.zeros(K.shape)]:
        if case.k_best_values is not None:
            values = np.asarray(case.k_best_values(g))
        else:
            assert case.vertices is not None
            values = np.sort(case.vertices().reshape(-1, K.dimension) @ g.reshape(-1))
        tol = 10 * slack(case, K, g) + 1e-300
        for k in range(1, len(values) + 1):
            best = K.k_best(g, k)
            assert best.count == k
            np.testing.assert_allclose(best.dot(g), values[:k], rtol=0, atol=tol)
            assert len({best.take(i).key() for i in range(k)}) == k
            assert all(K.contains(best.take(i).to_dense()) for i in range(k))
        assert K.k_best(g, len(values) + 3).count == len(values)
    with pytest.raises(ValueError, match="k must be"):
        K.k_best(np.ones(K.shape), 0)


@pytest.mark.parametrize("case", projected, ids=lambda case: case.name)
def test_the_projection_makes_an_obtuse_angle_with_the_set(case):
    for make in filter(None, (case.small, case.large)):
        K = make()
        rng = np.random.default_rng(12)
        for size in (0.1, 1.0, 10.0):
            x = size * K.radius * rng.standard_normal(K.shape)
            kept = x.copy()
            p = K.project(x)
            np.testing.assert_array_equal(x, kept)
            assert K.contains(p)
            # optimality: <p - x, v - p> >= 0 for every v in K
            assert inner(p - x, p) + K.support(x - p) <= 1e-9 * norm(x) * K.radius
            np.testing.assert_allclose(K.project(p), p, rtol=0, atol=1e-9 * K.radius)
        inside = K.start()
        np.testing.assert_allclose(K.project(inside), inside, rtol=0, atol=1e-9 * K.radius)


@pytest.mark.parametrize(
    "case", [c for c in projected if c.constraints], ids=lambda case: case.name
)
def test_the_projection_agrees_with_a_solver(case):
    K = case.large()
    x = 0.7 * K.radius * np.random.default_rng(13).standard_normal(K.shape)
    _, p = solve(case.constraints, K.shape, lambda v: cp.sum_squares(v - x))
    np.testing.assert_allclose(K.project(x), p, rtol=0, atol=2e-5 * K.radius)


@pytest.mark.parametrize("case", projected, ids=lambda case: case.name)
def test_what_cannot_be_projected_is_an_error_that_names_the_set(case):
    K = case.small()
    bad = np.ones(K.shape)
    bad.reshape(-1)[0] = np.nan
    wrong = np.zeros((*K.shape[:-1], K.shape[-1] + 1))
    for x, message in ((bad, "1 NaN or infinite"), (wrong, "must have shape"), (3.0, "shape")):
        with pytest.raises(ValueError, match=message) as error:
            K.project(x)
        assert repr(K) in str(error.value)
    with pytest.raises(TypeError, match="point must be an array") as error:
        K.project("nowhere")
    assert repr(K) in str(error.value)
    integers = np.arange(K.dimension).reshape(K.shape)
    np.testing.assert_array_equal(K.project(integers.tolist()), K.project(1.0 * integers))


@pytest.mark.parametrize(
    "case", [c for c in CASES if c not in projected], ids=lambda case: case.name
)
def test_a_missing_projection_is_an_error_that_names_the_set(case):
    K = case.small()
    with pytest.raises(CapabilityError, match="no 'project'") as error:
        K.project(np.zeros(K.shape))
    assert repr(K) in str(error.value)


@every_set
def test_minimize_projects_a_point_onto_it(case):
    K = case.small()
    target = 2.0 * K.radius * probes(K, seed=17, count=1)[-1]
    f = wp.objectives.Quadratic(1.0, -target)
    result = wp.minimize(f, K, tol=1e-6 * K.radius**2)
    assert result.success, result.message
    assert K.contains(result.x, 1e-8)
    if K.has("project"):
        np.testing.assert_allclose(result.x, K.project(target), rtol=0, atol=2e-3 * K.radius)
