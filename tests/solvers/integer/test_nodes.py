"""What one node shows, against all its points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.problem import Problem
from wolfpack.sets._integer import IntegerHull
from wolfpack.solvers.integer.node import Aim, Node
from wolfpack.solvers.integer.relaxation import Relaxation
from wolfpack.solvers.integer.search import Search


def root(f, K):
    hull = IntegerHull(K, np.ones(K.dimension, dtype=bool))
    none = np.zeros((0, K.dimension)), np.zeros(0)
    return Problem(f, hull), Node(hull.low, hull.high, -np.inf, 0, 0, -1, 0, 0.0, *none)


SETS = {
    "box": (wp.sets.Box(np.full(4, -2.0), np.full(4, 2.0)), range(-2, 3)),
    "simplex": (wp.sets.Simplex(4, radius=4.0), range(5)),
    "program": (wp.sets.MixedInteger([[2.0, 1.0, 1.0, 3.0]], [6.5], bounds=(0, 3)), range(4)),
}


@pytest.mark.parametrize("name", SETS)
def test_tightening_keeps_every_better_point(name):
    K, entries = SETS[name]
    violated = K.system.violation if name == "program" else K.violation
    grid = (np.array(p, dtype=float) for p in itertools.product(entries, repeat=4))
    points = [p for p in grid if violated(p) <= 1e-9]
    tightened = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((5, 4))
        f = wp.objectives.LeastSquares(A, 3.0 * rng.standard_normal(5))
        values = np.array([f.value(p) for p in points])
        # an incumbent that a few points improve on
        aim = Aim(float(np.sort(values)[4]), 0.0)
        problem, node = root(f, K)
        relaxed = Relaxation(problem, node)
        relaxed.run(Aim(aim.fun, 1e-9), 0.0)
        low, high = relaxed.tightened(aim)
        tightened += int((low > node.low).sum() + (high < node.high).sum())
        for p in np.array(points)[values < aim.fun]:
            assert (p >= low).all()
            assert (p <= high).all()
    assert tightened > 10


def test_rounding_finds_the_nearest_whole_point():
    K = wp.sets.UnitHypersimplex(6, 4)
    points = [np.array(p, dtype=float) for p in itertools.product((0, 1), repeat=6) if sum(p) <= 4]
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = K.project(rng.standard_normal(6))
        f = wp.objectives.Quadratic(1.0, -x)  # smallest at the whole point nearest to x
        problem, _ = root(f, K)
        search = Search(problem, np.inf)
        search.round(x)
        assert search.fun == pytest.approx(min(f.value(p) for p in points))
