"""Mixed-integer hulls: inexact answers, honest bounds, and refusals."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

from wolfpack.sets import MixedInteger, Product, Simplex
from wolfpack.sets._highs import Program, Solution


def knapsack(n: int, seed: int = 0, **options) -> tuple[MixedInteger, np.ndarray]:
    """Return a knapsack set and all its points, by listing the cube."""
    weights = np.random.default_rng(seed).integers(5, 30, (2, n)).astype(float)
    room = weights.sum(axis=1) // 2
    cube = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
    K = MixedInteger(weights, room, bounds=(0, 1), **options)
    return K, cube[(cube @ weights.T <= room).all(axis=1)]


def test_mixed_variables_against_all_values_of_the_integers():
    # x integer in 0..3, y in [0, 10]; 2 x + y <= 7, y <= 4 x
    K = MixedInteger(
        [[2.0, 1.0], [-4.0, 1.0]], [7.0, 0.0], bounds=[(0, 3), (0, 10)], integrality=[1, 0]
    )
    ends = [(x, y) for x in range(4) for y in (0.0, min(7.0 - 2 * x, 4.0 * x))]
    for g in np.random.default_rng(0).standard_normal((20, 2)):
        vertex = K.lmo(g)
        assert vertex.dot(g) == pytest.approx((np.array(ends) @ g).min(), abs=1e-9)
        assert vertex.to_dense()[0] == round(vertex.to_dense()[0])
        assert K.certify(g, vertex) <= vertex.dot(g)
        assert K.certify(g, vertex) == pytest.approx(vertex.dot(g), abs=1e-9)


def test_a_gap_makes_answers_worse_and_bounds_honest():
    inexact = 0
    for seed in range(8):
        K, points = knapsack(12, seed, mip_gap=0.3)
        g = -np.random.default_rng(seed).uniform(1, 2, 12)
        least, vertex = (points @ g).min(), K.lmo(g)
        proved = K.certify(g, vertex)
        assert proved <= least + 1e-12 * abs(least)
        assert vertex.dot(g) - proved <= 0.3 * abs(vertex.dot(g)) + 1e-9
        inexact += vertex.dot(g) - proved > 1e-6
    assert inexact > 0


def test_after_the_time_limit_the_known_point_and_the_box_are_left(monkeypatch):
    K, points = knapsack(6, time_limit=5.0)
    g = -np.ones(6)

    assert K._program.options["time_limit"] == 5.0
    late = Solution("Time limit reached", None, np.zeros(0), -np.inf)
    monkeypatch.setattr(Program, "solve_integer", lambda *arguments: late)
    vertex = K.lmo(g)
    assert (points == vertex.to_dense()).all(axis=1).any()
    assert -6.0 - 1e-9 <= K.certify(g, vertex) <= (points @ g).min()
    with pytest.raises(ValueError, match=r"no point was found within time_limit=5\.0 seconds"):
        knapsack(6, time_limit=5.0)


def test_a_bound_beyond_the_value_is_not_believed(monkeypatch):
    K, _ = knapsack(6)

    solve = Program.solve_integer

    def boastful(self, c, *begin):
        found = solve(self, c, *begin)
        return found._replace(bound=c @ found.x + 1.0)

    monkeypatch.setattr(Program, "solve_integer", boastful)
    g = -np.arange(1.0, 7.0)
    assert K.certify(g, K.lmo(g)) <= K.lmo(g).dot(g)


def test_integers_that_the_solver_left_fractional_are_rounded_and_the_rest_adapted(monkeypatch):
    # y <= 1e6 z: z = 1e-6 would allow y = 1 at no cost
    K = MixedInteger([[-1e6, 1.0]], [0.0], bounds=[(0, 1), (0, 1)], integrality=[1, 0])

    cheat = Solution("Optimal", np.array([1e-6, 1.0]), np.zeros(0), -(2.0**20))
    monkeypatch.setattr(Program, "solve_integer", lambda *arguments: cheat)
    g = np.array([0.5, -1.0])
    vertex = K.lmo(g)
    np.testing.assert_array_equal(vertex.to_dense(), [0.0, 0.0])
    assert K.certify(g, vertex) <= -0.5  # the true minimum, at (1, 1)


def test_the_hull_is_smaller_than_the_relaxation():
    # 2 x + 2 y <= 3: the hull is x + y <= 1
    K = MixedInteger([[2.0, 2.0]], [3.0], bounds=(0, 1))
    assert K.contains(np.array([0.5, 0.5]))
    assert K.violation(np.array([0.75, 0.75])) == pytest.approx(0.5 / 2**0.5, rel=1e-6)
    assert not K.contains(np.array([0.6, 0.6]))


def test_without_integers_it_is_a_linear_program():
    K = MixedInteger([[1.0, 2.0]], [2.0], bounds=(0, 5), integrality=0)
    g = np.array([-1.0, -3.0])
    assert K.certify(g, K.lmo(g)) == pytest.approx(-3.0, rel=1e-12)


def test_threads_answer_a_batch_in_order():
    K, points = knapsack(8)
    G = np.random.default_rng(2).standard_normal((9, 8))
    answers = K.lmo(G)
    np.testing.assert_allclose(answers.dot(G), (points @ G.T).min(axis=0), rtol=0, atol=1e-9)
    assert (answers.bound <= answers.dot(G)).all()


def test_a_warm_start_begins_at_the_last_answer(monkeypatch):
    K, points = knapsack(12, warm_start=True)
    begun = []
    solve = Program.solve_integer

    def watched(self, c, begin=None):
        begun.append(begin)
        return solve(self, c, begin)

    monkeypatch.setattr(Program, "solve_integer", watched)
    before = None
    for g in -np.random.default_rng(3).uniform(1, 2, (6, 12)):
        vertex = K.lmo(g)
        assert vertex.dot(g) == pytest.approx((points @ g).min(), abs=1e-9)
        assert K.certify(g, vertex) == pytest.approx(vertex.dot(g), rel=1e-9)
        if before is not None:
            np.testing.assert_array_equal(begun[-1], before)
        before = vertex.to_dense()
    monkeypatch.setattr(Program, "solve_integer", solve)
    twin = pickle.loads(pickle.dumps(K))
    assert twin.lmo(g).dot(g) == pytest.approx((points @ g).min(), abs=1e-9)


def test_answers_with_ties_do_not_depend_on_the_questions_before():
    (K, _), (other, _) = knapsack(10), knapsack(10)
    G = np.round(2.0 * np.random.default_rng(4).standard_normal((12, 10)))
    expected = K.lmo(G)
    for i in np.random.default_rng(5).permutation(12):
        vertex = other.lmo(G[i])
        np.testing.assert_array_equal(vertex.to_dense(), expected.take(i).to_dense())
        assert vertex.bound == expected.bound[i]


def test_products_add_the_bounds_up():
    K, points = knapsack(6, mip_gap=0.5)
    both = Product(K, Simplex(2))
    g = -np.arange(1.0, 9.0)
    assert both.certify(g, both.lmo(g)) <= (points @ g[:6]).min() - 8.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"A_ub": [[1.0]], "b_ub": [-1.0]}, "a common solution, found none: the set is empty"),
        ({"A_eq": [[2.0]], "b_eq": [1.0]}, "constraints and integrality have no common solution"),
        ({"bounds": [(0.2, 0.8)]}, "constraints and integrality have no common solution"),
        ({"A_ub": [[-1.0]], "b_ub": [1.0]}, "the set is not compact"),
        ({"bounds": [(0, 1)], "integrality": 2}, "integrality must be 0 or 1.*found 2"),
        ({"bounds": [(0, 1)], "integrality": [1, 0]}, r"length 1, found \[1, 0\]"),
        ({"bounds": [(0, 1)], "time_limit": 0}, "time_limit must be a positive"),
        ({"bounds": [(0, 1)], "mip_gap": -0.1}, "mip_gap must be a number >= 0"),
    ],
)
def test_what_is_no_mixed_integer_set_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MixedInteger(**arguments)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="C's stdout is a macro elsewhere")
def test_the_solver_prints_nothing_and_we_still_can():
    # a program on which HiGHS prints "... tmpSolver.run();" whatever its options say
    script = """
import ctypes, numpy as np, wolfpack as wp
hours = np.random.default_rng(3).integers(1, 9, (2, 14)).astype(float)
K = wp.sets.MixedInteger(hours, 0.6 * hours.sum(axis=1), bounds=(0, 1))
g = -np.random.default_rng(0).uniform(0.5, 1, 14)
K.lmo(np.stack([g, g]))
print("ours")
ctypes.CDLL(None).puts(b"theirs")
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert sorted(run.stdout.split("\n")) == ["", "ours", "theirs"]
