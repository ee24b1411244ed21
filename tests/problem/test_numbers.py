"""Numbers of problems that certificates and steps rest on, one by one."""

import math

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import norm
from wolfpack.loop.digest import DataReader
from wolfpack.loop.history import COLUMNS, ENGINE_COLUMNS, TREE_COLUMNS, History
from wolfpack.loop.tracker import Tracker
from wolfpack.problem import Problem, accumulation, underflow
from wolfpack.regularizers.pairs import as_mirror, composite_problem

EPS = 2.0**-52
RNG = np.random.default_rng(3)


def composite(G, H, w=None):
    return composite_problem(G, H, as_mirror(w, H))


def test_an_average_that_is_off_counts_with_the_radius():
    A = RNG.standard_normal((6, 4))
    f, K = (
        wp.objectives.LeastSquares(A, RNG.standard_normal(6)),
        wp.sets.Box(np.full(4, 4.0), np.full(4, 5.0)),
    )
    problem = Problem(f, K)
    at = problem.evaluate(K.start())
    exact = problem.dual_bound(at.gradient, at.dual, K.lmo(at.gradient), averaged=True)
    off = np.full(4, 1e-3)
    y = at.gradient + off
    lower = problem.dual_bound(y, at.dual, K.lmo(y), averaged=True)
    # <y, v> is higher by <off, v> at the vertex, and the error lower by ||off|| R
    most = float(off @ K.lmo(y).to_dense()) - norm(off) * K.radius
    assert lower - exact == pytest.approx(most, abs=1e-9)


def test_what_rounding_may_move_out_of_the_set():
    K = wp.sets.Box(np.full(4, 4.0), np.full(4, 5.0))
    problem = Problem(wp.objectives.Quadratic(1.0, -np.ones(4)), K)
    x = K.start()
    at = problem.evaluate(x)
    for _ in range(9):
        problem.evaluate(x)
    wanted = 2.0 * accumulation(10) * 0.5 * EPS * K.radius * norm(at.gradient)
    assert problem.outside(x, at) == pytest.approx(wanted)


def test_smoothness_in_between_is_interpolated():
    G = wp.objectives.LeastSquares(np.ones((3, 3)), np.ones(3))  # L = 9, L1 = 3
    ridge = composite(G, wp.regularizers.SquaredNorm(0.5))
    assert (ridge.norm, ridge.own_smoothness()) == ("l2", G.L)
    between = composite(G, wp.regularizers.SquaredPNorm(0.5, 1.5))
    assert between.norm == "l1.5"
    assert between.own_smoothness() == pytest.approx(G.L1 ** (1 / 3) * G.L ** (2 / 3))


def test_composite_bounds_allow_for_both_terms():
    G, H = wp.objectives.LeastSquares(np.eye(3), np.ones(3)), wp.regularizers.SquaredNorm(0.5)
    problem = composite(G, H)
    at = problem.evaluate(np.array([0.1, 0.2, 0.4]))
    minimum, number = H.minimum(at.gradient), G.conjugate_bound(at.dual)
    bound = problem.dual_bound(at.gradient, at.dual)
    allowed = 4.0 * EPS * (abs(minimum) + abs(number)) + underflow(EPS)
    assert problem.counts.rounding == allowed
    assert bound == minimum - number - allowed


def test_an_unknown_curvature_is_zero():
    f = wp.objectives.Function(lambda y: (0.5 * float(y @ y), y), L=1.0)
    assert composite(f, wp.regularizers.SquaredNorm(0.5)).curvature(np.ones(3)) == 0.0


def test_a_run_without_an_engine_takes_no_work_of_one():
    tracker = Tracker(Problem(wp.objectives.Quadratic(1.0, np.ones(2)), wp.sets.Simplex(2)))
    tracker.unrecorded = (1.0,)
    assert tracker.unrecorded == ()


@pytest.mark.parametrize("tree", [(), TREE_COLUMNS])
@pytest.mark.parametrize("engine", [(), ENGINE_COLUMNS])
def test_a_history_keeps_its_columns(tree, engine):
    names = COLUMNS + tree + engine
    columns = {name: np.array([float(i), i + 1.0]) for i, name in enumerate(names)}
    history = History.from_columns(columns)
    assert tuple(history) == names
    assert all(math.isclose(history[name][1], columns[name][1]) for name in names)


def test_digests_tell_dictionaries_arrays_and_short_lists_apart():
    def digest(value):
        return DataReader().data(value)

    assert digest({"a": 1}).difference(digest({"a": 2})) == "have changed"
    assert digest({"a": 1}).difference(digest({"a": 1})) == ""
    # a number in an array of no axes, and of one
    assert digest(np.array(2)).digest != digest(np.array([2])).digest
    # the floats of a short list are numbers, which may differ by rounding
    assert digest([1.0, 2.0]).difference(digest([1.0, 2.0 + 1e-12])) == ""
    assert len(digest([0.5] * 3).digest) == 32


def test_unknown_curvature_towards_a_vertex_is_one():
    f = wp.objectives.Function(lambda x: (float(x[0]), np.eye(3)[0]), L=None)
    res = wp.minimize(f, wp.sets.Simplex(3), method="anytime", m=2, max_rounds=0, convex=True)
    assert res.state.L == 1.0
