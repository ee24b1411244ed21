"""What corrections are made of: quadratics over weights, hulls, scales, sure steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wolfpack.atoms import Dense, OneHot
from wolfpack.solvers.parts.armijo import descend
from wolfpack.solvers.parts.barycentric import minimize_weights
from wolfpack.solvers.parts.hull import Hull, Metric
from wolfpack.solvers.parts.scales import Scales
from wolfpack.solvers.parts.stall import Stall


def quadratic(seed: int, n: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gram matrix, linear term and starting weights of n points in d dimensions."""
    rng = np.random.default_rng(seed)
    V = (
        rng.integers(0, 2, (n, d)).astype(float)
        if kind == "binary"
        else rng.standard_normal((n, d))
    )
    if kind == "repeated":
        V[1 : n // 2] = V[0]
    c = rng.standard_normal(n) if kind == "unbounded" else V @ rng.standard_normal(d)
    w = rng.random(n) * (rng.random(n) < 0.3)
    w[0] += 0.1
    return V @ V.T, c, w / w.sum()


@pytest.mark.parametrize("kind", ["normal", "binary", "repeated", "unbounded"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 5), (40, 8), (30, 60), (200, 20)])
def test_weights_are_optimal(kind, n, d):
    for seed in range(3):
        G, c, w = quadratic(seed, n, d, kind)
        found, _ = minimize_weights(G, G @ w + c, w, 1e-9)
        assert found.min() >= 0
        assert abs(found.sum() - 1) <= 1e-12
        slopes = G @ found + c
        mean = slopes @ found
        assert mean - slopes.min() <= 1e-8
        assert slopes[found > 0].max() - mean <= 1e-8
        value = [0.5 * u @ G @ u + c @ u for u in (found, w)]
        assert value[0] <= value[1] + 1e-12


def test_a_loose_tolerance_is_met_and_the_value_falls():
    G, c, w = quadratic(7, 300, 50, "binary")
    last = 0.5 * w @ G @ w + c @ w
    for tol in (1e-1, 1e-3, 1e-5):
        w, _ = minimize_weights(G, G @ w + c, w, tol)
        slopes, value = G @ w + c, 0.5 * w @ G @ w + c @ w
        assert slopes @ w - slopes.min() <= tol
        assert value <= last + 1e-12
        last = value


def one_hots(*index: int) -> OneHot:
    return OneHot(np.array(index), 1.0, (5,))


identity = Metric(lambda v: v.to_dense())


def test_a_hull_knows_what_it_has_and_grows_its_gram_matrix():
    hull = Hull.start(np.full(5, 0.2), identity)
    hull, places = hull.extend(one_hots(3, 1, 3), identity)
    np.testing.assert_array_equal(places, [1, 2, 1])
    hull, places = hull.extend(one_hots(1, 4), identity)
    np.testing.assert_array_equal(places, [2, 3])
    points = np.array([hull.vertex(i) for i in range(len(hull.weights))])
    np.testing.assert_allclose(hull.gram, points @ points.T)
    g, w = np.arange(5.0), np.array([0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(hull.scores(g), points @ g)
    np.testing.assert_allclose(hull.point(w), w @ points)


def test_a_hull_forgets_what_is_old_or_too_much_but_nothing_that_has_weight():
    hull = Hull.start(np.full(5, 0.2), identity)
    hull, _ = hull.extend(one_hots(0, 1, 2, 3, 4), identity)
    weights = np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.0])
    hull = hull.reweighted(weights).reweighted(weights)
    np.testing.assert_array_equal(hull.idle, [2, 0, 2, 0, 2, 2])
    scores = np.array([0.0, 9.0, 3.0, 9.0, 1.0, 2.0])
    assert hull.trimmed(10, 5, scores) is hull
    old = hull.trimmed(10, 1, scores)
    assert old.keys == (hull.keys[0], hull.keys[2])
    np.testing.assert_array_equal(old.weights, [0.0, 0.5, 0.5])
    full = hull.trimmed(4, 5, scores)
    assert full.keys == (hull.keys[0], hull.keys[2], hull.keys[3])
    assert hull.gram is not None
    np.testing.assert_array_equal(full.gram, hull.gram[np.ix_([0, 1, 3, 4], [0, 1, 3, 4])])
    assert hull.trimmed(1, 5, scores).weights.size == 3


def test_a_hull_of_dense_answers_and_float32():
    hull = Hull.start(np.zeros(2, dtype=np.float32))
    hull, _ = hull.extend(Dense(np.array([[1.0, 0.0], [0.0, 1.0]]), (2,)))
    assert hull.point(np.array([0.5, 0.25, 0.25])).dtype == np.float32


def learn(useful: set[int], known: set[int], rounds: int, start: int = 0) -> Scales:
    """Answers of useful rungs get weight, those of known rungs are no news."""
    scales = Scales.start(start)
    for k in range(rounds):
        rungs = scales.rungs(12, k)
        new = np.array([j not in known for j in rungs])
        scales = scales.learned(rungs, new, new & np.array([j in useful for j in rungs]))
    return scales


def test_scales_move_to_what_is_useful():
    assert learn({-4, -5}, set(), 12).rung in (-4, -5)
    assert learn({3}, set(range(-30, 3)), 12).rung == 3
    # from far above: new answers without use call for less noise; from below: known ones for more
    assert learn({-9}, set(range(-30, -9)), 30, start=6).rung == -9
    assert learn({6}, set(range(-30, 6)), 30, start=-9).rung == 6


def test_scales_stay_on_the_ladder():
    assert learn(set(), set(), 100).rung == -24
    assert learn(set(), set(range(-30, 30)), 100).rung == 16
    assert Scales.start(-24).rungs(9, 0).min() == -24
    assert Scales.start(0).learned(np.zeros(0, dtype=int), np.zeros(0), np.zeros(0)).rung == 0


def test_a_third_of_the_answers_at_each_of_three_scales():
    np.testing.assert_array_equal(Scales.start(2).rungs(6, 0), [1, 1, 2, 2, 3, 3])
    assert [int(Scales.start(2).rungs(1, k)[0]) for k in range(4)] == [2, 1, 3, 2]


def test_few_answers_do_not_move_the_scale():
    scales, nothing = Scales.start(0), np.zeros(1)
    for k in range(4):
        scales = scales.learned(scales.rungs(1, k), np.ones(1), nothing)
    assert scales.rung == 0


class Value:
    def __init__(self, value: float) -> None:
        self.value = value


@pytest.mark.parametrize("L", [1e-3, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("g", [1e-4, 1.0, 50.0])
def test_lemma_r1(L, g):
    # phi of slope -g at 0 and curvature at most L: a parabola, and one that is straight at first
    for late in (0.0, 0.3):

        def phi(t: float, late: float = late) -> float:
            return -g * t + 0.5 * L * max(0.0, t - late) ** 2

        down = descend(lambda t: Value(phi(t)), 0.0, -g)
        assert down.found is not None
        assert -phi(down.step) >= min(g / 2, g**2 / (4 * L)) * (1 - 1e-12)
        assert down.bend <= L * (1 + 1e-9)


def test_a_ray_that_does_not_lead_down_is_left_alone():
    assert descend(lambda t: Value(t), 0.0, 0.0).found is None
    assert descend(lambda t: Value(1.0), 0.0, -1e-300).found is None


def test_rounding_is_no_progress():
    stall = Stall.beyond_rounding(1.0, 0.0, np.zeros(1))
    for i in range(2 * stall.limit):
        stall = stall.updated(1.0 - 1e-6 * i, 0.0)
    assert not stall.reached
    for i in range(stall.limit):
        stall = stall.updated(stall.fun - 1e-17 * i, stall.bound + 1e-16)
    assert stall.reached


def test_without_rounding_any_improvement_of_value_or_bound_is_progress():
    stall = Stall(1.0, 0.0)
    for i in range(1, 3 * stall.limit):
        stall = stall.updated(1.0 - 1e-15 * i, 0.0) if i % 2 else stall.updated(2.0, 1e-15 * i)
    assert stall.idle == 0
    for _ in range(stall.limit):
        assert not stall.reached
        stall = stall.updated(1.0, 0.0)
    assert stall.reached


def test_progress_counts_the_bound_too():
    stall = Stall.beyond_rounding(1.0, 0.0, np.zeros(1))
    for bound in itertools.accumulate([0.01] * 50):
        stall = stall.updated(1.0, bound)
    assert not stall.reached
