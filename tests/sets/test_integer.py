"""Oracles of integer points within bounds, against all points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.sets._integer import IntegerHull
from wolfpack.sets._integer_programs import is_network

SETS = {
    "box": (wp.sets.Box(np.full(4, -1.0), np.full(4, 2.0)), (-1, 2)),
    "simplex": (wp.sets.Simplex(4, radius=3.0), (0, 3)),
    "capped": (wp.sets.CappedSimplex(4, cap=[1.0, 2.0, 3.0, 2.0], total=4.0), (0, 3)),
    "unit simplex": (wp.sets.UnitSimplex(4, radius=3.0), (0, 3)),
    "unit hypersimplex": (wp.sets.UnitHypersimplex(5, 2), (0, 1)),
    "birkhoff": (wp.sets.Birkhoff(3), (0, 1)),
    "transport": (wp.sets.TransportPolytope([2.0, 1.0], [1.0, 1.0, 1.0]), (0, 2)),
    "flow": (
        wp.sets.FlowPolytope(
            [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], [(0, 3, 2.0)], capacity=[2, 1, 1, 1, 2]
        ),
        (0, 2),
    ),
    "path": (wp.sets.DagFlow([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], 0, 3), (0, 1)),
    "differences": (
        wp.sets.MixedInteger([[1, -1, 0], [0, 1, -1]], [1, 0], bounds=(-1, 2)),
        (-1, 2),
    ),
    "matching": (wp.sets.Matching([(0, 2), (0, 3), (1, 2), (1, 3), (1, 2)]), (0, 1)),
    "product": (
        wp.sets.Product(
            wp.sets.Hypersimplex(3, 1), wp.sets.Box([-1.0], [1.0]), wp.sets.Birkhoff(2)
        ),
        (-1, 1),
    ),
    "programs": (
        wp.sets.Product(
            wp.sets.MixedInteger([[3.0, 2.0]], [4.5], bounds=(0, 2)), wp.sets.Simplex(2, radius=2.0)
        ),
        (0, 2),
    ),
    "program": (wp.sets.MixedInteger([[3.0, 2.0, 1.0, 2.0]], [6.5], bounds=(0, 2)), (0, 2)),
}


def points_of(K, ends):
    grid = itertools.product(range(ends[0], ends[1] + 1), repeat=K.dimension)
    found = (np.array(p, dtype=float) for p in grid)
    if isinstance(K, wp.sets.MixedInteger):
        return np.array([p for p in found if K.system.violation(p) <= 1e-9])
    return np.array([p for p in found if K.contains(p.reshape(K.shape))])


@pytest.mark.parametrize("name", SETS)
def test_answers_within_bounds_are_the_best_integer_points(name):
    K, ends = SETS[name]
    points, rng = points_of(K, ends), np.random.default_rng(0)
    hull = IntegerHull(K, np.ones(K.dimension, dtype=bool))
    empty = 0
    for _ in range(60):
        low, high = np.sort(rng.integers(ends[0], ends[1] + 1, (2, K.dimension)), axis=0)
        loose = rng.random(K.dimension) < 0.5
        low, high = np.where(loose, ends[0], low), np.where(loose, ends[1], high)
        inside = points[((points >= low) & (points <= high)).all(axis=1)]
        part = hull.within(low.astype(float), high.astype(float))
        assert (part is None) == (len(inside) == 0)
        if part is None:
            empty += 1
            continue
        assert (inside == part.start().reshape(-1)).all(axis=1).any()
        g = rng.standard_normal(K.shape)
        best = float((inside @ g.reshape(-1)).min())
        answer = part.lmo(g)
        assert float(answer.dot(g)) == pytest.approx(best, abs=1e-9)
        assert part.certify(g, answer) <= best + 1e-12
        prices = part.prices(g)
        if prices is not None:
            level, r = prices
            steps = np.where(r > 0, inside - part.low, part.high - inside)
            assert (level + steps @ abs(r) <= inside @ g.reshape(-1) + 1e-9).all()
            if name not in (
                "program",
                "programs",
            ):  # the bound is tight where vertices are integral
                assert level == pytest.approx(best, abs=1e-9)
    assert 0 < empty < 60 or name == "box"


NETWORKS = {
    "an assignment": ([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]], True),
    "a directed graph": ([[-1, -1, 0], [1, 0, -1], [0, 1, 1]], True),
    "differences of entries": ([[1, -1, 0, 0], [0, 1, -1, 0], [1, 0, 0, -1]], True),
    "a single sum": ([[1, 1, 1, 1]], True),
    "a triangle": ([[1, 1, 0], [1, 0, 1], [0, 1, 1]], False),
    "a weight": ([[2, 1]], False),
    "three sums": ([[1, 1, 1], [1, 1, 0], [1, 0, 1]], False),
    "a sum and a difference": ([[1, 1], [1, -1]], False),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_told_from_other_programs(name):
    rows, expected = NETWORKS[name]
    matrix = np.array(rows, dtype=float)
    system = wp.sets.MixedInteger(matrix, np.ones(len(rows)), bounds=(0, 3)).system
    assert is_network(system) is expected
    sizes = range(1, 1 + min(matrix.shape))
    minors = (
        np.linalg.det(matrix[np.ix_(r, c)])
        for size in sizes
        for r in itertools.combinations(range(matrix.shape[0]), size)
        for c in itertools.combinations(range(matrix.shape[1]), size)
    )
    unimodular = all(abs(minor) < 1.5 for minor in minors)
    assert unimodular or not expected
    half = wp.sets.MixedInteger(matrix, np.full(len(rows), 1.5), bounds=(0, 3)).system
    assert not is_network(half)


def test_factors_without_integers_keep_their_own_oracle():
    ball = wp.sets.L2Ball(2, radius=2.0)
    K = wp.sets.Product(wp.sets.Hypersimplex(2, 1), ball)
    hull = IntegerHull(K, np.array([True, True, False, False]))
    part = hull.within(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    assert part is not None
    answer = np.asarray(part.lmo(np.array([-1.0, 5.0, 3.0, -4.0])))
    np.testing.assert_allclose(answer, [0.0, 1.0, -1.2, 1.6])
    assert part.violation(answer) <= 1e-9
    with pytest.raises(wp.CapabilityError, match="takes bounds"):
        IntegerHull(K, np.ones(4, dtype=bool))


def test_entries_that_are_not_marked_keep_their_bounds():
    K = wp.sets.Box(np.array([0.0, -1.5]), np.array([3.0, 1.5]))
    hull = IntegerHull(K, np.array([True, False]))
    part = hull.within(np.array([1.0]), np.array([2.0]))
    assert part is not None
    assert np.asarray(part.lmo(np.array([-1.0, 1.0]))).tolist() == [2.0, -1.5]
