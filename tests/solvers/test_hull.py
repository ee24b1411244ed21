"""Hulls: the one update, what is dropped, the sum, identities, the Gram matrix and ages."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.atoms import BlockAtoms, Corner, Dense, OneHot, Permutation, RankOne, Rows, Sparse
from wolfpack.solvers.parts.hull import PURGE, Hull, Metric, digest

ORIGIN = np.array([0.1, 0.2, 0.3, 0.4])


def example() -> Hull:
    active = Hull.start(ORIGIN)
    for i in range(3):
        active, _ = active.add(OneHot(i, 1.0, (4,)))
    return active.pruned(np.array([0.1, 0.2, 0.3, 0.4]))


MOVES = [(None, 1), (None, 0), (1, None), (0, None), (1, 3), (3, 0), (0, 2)]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_one_update_makes_every_kind_of_step(move, share):
    active = example()
    x = active.point()
    step = share * active.max_step(*move)
    after = active.transfer(step, *move)
    np.testing.assert_allclose(after.point(), x + step * active.direction(x, *move), atol=1e-15)
    assert after.weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert after.weights.min() >= 0
    source = move[0]
    if share == 1.0 and source is not None:
        # the emptied vertex is gone, the origin keeps its place without weight
        assert len(after.weights) == (4 if source == 0 else 3)
        assert source != 0 or (after.weights[0] == 0.0 and after.first == 1)


def test_weights_and_points_of_a_step_are_new():
    active = example()
    weights = active.weights.copy()
    active.transfer(0.05, 1, 2)
    active.add(OneHot(3, 1.0, (4,)))
    np.testing.assert_array_equal(active.weights, weights)
    assert len(active.keys) == 3


def test_a_step_from_a_vertex_to_itself_changes_nothing():
    active = example()
    np.testing.assert_array_equal(active.transfer(0.3, 2, 2).weights, active.weights)


def test_the_last_vertex_cannot_be_left():
    active, target = Hull.start(ORIGIN).add(OneHot(1, 1.0, (4,)))
    active = active.transfer(1.0, None, target)
    assert active.max_step(target, None) == 0.0
    np.testing.assert_array_equal(active.transfer(0.0, target, None).point(), [0, 1, 0, 0])


def test_a_step_of_no_length_forgets_the_vertex_it_did_not_reach():
    active, target = example().add(OneHot(3, 1.0, (4,)))
    assert len(active.transfer(0.0, None, target).weights) == 4


def test_best_and_worst_look_only_where_there_is_weight():
    active = example()
    scores = np.array([9.0, 3.0, 2.0, 5.0])
    assert (active.best(scores), active.worst(scores)) == (2, 0)
    emptied = active.transfer(active.max_step(0, 1), 0, 1)
    assert (emptied.best(-scores), emptied.worst(scores)) == (3, 3)


def test_repeated_answers_are_recognised():
    active = example()
    same, position = active.add(OneHot(1, 1.0, (4,)))
    assert same is active
    assert position == 2
    other, position = active.add(OneHot(1, -1.0, (4,)))
    assert position == 4
    np.testing.assert_array_equal(other.vertex(4), [0, -1, 0, 0])


def test_an_active_vertex_beats_an_inexact_answer():
    active = example()
    g = np.array([1.0, -2.0, 0.0, 1.0])
    scores = active.scores(g)
    np.testing.assert_allclose(scores, [g @ ORIGIN, 1.0, -2.0, 0.0])
    worse = OneHot(2, 1.0, (4,))
    assert active.admit(worse, 0.0, scores)[1] == 2
    better = Dense(np.array([0.0, 1.5, 0.0, 0.0]), (4,))
    grown, position = active.admit(better, -3.0, scores)
    assert position == 4
    np.testing.assert_array_equal(grown.vertex(4), better.array)


def test_tiny_weights_are_dropped_and_the_rest_adds_up():
    active = example().pruned(np.array([0.5, PURGE / 2, 0.5, 0.25]))
    assert len(active.weights) == 3
    assert active.weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(active.weights, [0.4, 0.4, 0.2])


def test_rounding_does_not_accumulate():
    rng = np.random.default_rng(0)
    K = wp.sets.Simplex(30)
    active = Hull.start(np.full(30, 1 / 30))
    for _ in range(3000):
        active, target = active.add(K.lmo(rng.standard_normal(30)))
        source = int(rng.choice(np.flatnonzero(active.weights)))
        move = [(None, target), (source, target), (source, None)][rng.integers(3)]
        step = rng.random() * min(1.0, active.max_step(*move))
        active = active.transfer(step, *move)
    x = active.point()
    assert K.violation(x) <= 4e-16
    dense = active.weights @ np.array([active.vertex(i) for i in range(len(active.weights))])
    np.testing.assert_allclose(x, dense, atol=1e-15)


def test_the_gram_matrix_grows_and_shrinks_with_the_set():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((6, 4))
    H = A.T @ A
    active = Hull.start(ORIGIN, Metric(lambda v: H @ v.to_dense()))
    for i in (2, 0, 3, 2, 1):
        active, _ = active.add(OneHot(i, 1.0, (4,)), Metric(lambda v: H @ v.to_dense()))
    active = active.pruned(np.array([0.2, 0.3, 0.0, 0.1, 0.4]))
    points = np.array([active.vertex(i) for i in range(len(active.weights))])
    assert active.gram is not None
    np.testing.assert_allclose(active.gram, points @ H @ points.T, atol=1e-12)
    assert len(points) == 4


def test_digests_identify_vertices_and_survive_the_process():
    # the hash of bytes differs from process to process; a saved state must not depend on it
    assert digest((3, 1.0)) == "c7b6c8f5f8df56b024b9c0c1ecefee52"
    keys = [
        OneHot(1, 1.0, (4,)).key(),
        OneHot(1, -1.0, (4,)).key(),
        Sparse(np.array([1, 2]), 1.0, (4,)).key(),
        RankOne(np.ones(2), np.ones(2)).key(),
        (b"ab", b"c"),
        (b"a", b"bc"),
        ((b"a",), b"bc"),
        b"abc",
    ]
    assert len(set(map(digest, keys))) == len(keys)


def structured() -> dict[str, tuple[wp.sets.Set, type]]:
    sets = wp.sets
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4)]
    return {
        "one-hot": (sets.L1Ball(6), OneHot),
        "permutations": (sets.Birkhoff(4), Permutation),
        "paths": (sets.DagFlow(edges, 0, 4), Sparse),
        "corners": (sets.Box(np.zeros(5), np.ones(5)), Corner),
        "rank one": (sets.TraceNormBall((4, 3)), RankOne),
        "blocks": (sets.Product(sets.Simplex(3), sets.Box(np.zeros(2), np.ones(2))), BlockAtoms),
        "rows": (sets.ConvexHull(np.random.default_rng(0).standard_normal((9, 3))), Rows),
    }


@pytest.mark.parametrize("name", structured())
@pytest.mark.parametrize("method", ["bpcg", "fcfw", "lazy"])
def test_vertices_stay_structured_in_a_run(name, method):
    K, kind = structured()[name]
    centre = np.random.default_rng(1).standard_normal(K.shape)
    f = wp.objectives.Quadratic(1.0, -centre, 0.5 * float((centre * centre).sum()))
    tol = {"bpcg": 1e-6, "fcfw": 1e-6, "lazy": 0.05}[method]
    res = wp.minimize(f, K, method=method, tol=tol, max_rounds=3000)
    assert res.success
    kept = res.state.active.atoms
    assert isinstance(kept, kind)
