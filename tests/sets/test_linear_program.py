"""Linear programs: bounds from bounds, proofs from multipliers, and refusals."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, linprog

from wolfpack.sets import FlowPolytope, LinearProgram, _highs, _linear


def test_nonnegative_variables_are_the_default_as_in_scipy():
    K = LinearProgram([[1.0, 2.0]], [2.0])
    np.testing.assert_allclose(K.lmo(np.array([0.0, -1.0])).to_dense(), [0.0, 1.0])
    np.testing.assert_allclose(K.lmo(np.array([1.0, 1.0])).to_dense(), [0.0, 0.0])
    # the box [0, 2] x [0, 1], with the margin of computed bounds
    assert 5**0.5 <= K.radius <= 5**0.5 * (1 + 1e-5)


@pytest.mark.parametrize("bounds", [(-1, 2), [(-1, 2)] * 3, Bounds(-1, 2), Bounds([-1] * 3, 2)])
def test_bounds_may_be_written_in_all_of_scipys_ways(bounds):
    K = LinearProgram([[1.0, 1.0, 1.0]], [10.0], bounds=bounds)
    np.testing.assert_allclose(K.lmo(np.array([1.0, -1.0, 0.5])).to_dense(), [-1, 2, -1])
    assert K.radius == pytest.approx(12**0.5)
    assert K.diameter == pytest.approx(27**0.5)


@pytest.mark.parametrize("singly", [0, 1000])
def test_missing_bounds_are_computed(monkeypatch, singly):
    monkeypatch.setattr(_linear, "_ONE_BY_ONE_UP_TO", singly)
    # x0, x1 >= 0, x2 <= 1, x0 + x1 - x2 <= 4, and a free z = x0 + x1 + x2
    K = LinearProgram(
        A_ub=[[1.0, 1.0, -1.0, 0.0]],
        b_ub=[4.0],
        A_eq=[[1.0, 1.0, 1.0, -1.0]],
        b_eq=[0.0],
        bounds=[(0, None), (0, None), (None, 1), (None, None)],
    )
    # the farthest vertices are (5, 0, 1, 6) and (0, 5, 1, 6)
    assert 62**0.5 <= K.radius <= 40.0
    for g in np.random.default_rng(0).standard_normal((20, 4)):
        vertex = K.lmo(g)
        assert (K.system.low <= vertex.to_dense()).all()
        assert (vertex.to_dense() <= K.system.high).all()
        assert K.certify(g, vertex) == pytest.approx(vertex.dot(g), rel=1e-9)


def test_a_set_that_is_not_bounded_is_refused(monkeypatch):
    for singly in (0, 1000):
        monkeypatch.setattr(_linear, "_ONE_BY_ONE_UP_TO", singly)
        with pytest.raises(ValueError, match=r"do not bound .*: the set is not compact"):
            LinearProgram([[1.0, -1.0]], [1.0])
        with pytest.raises(ValueError, match="do not bound variable 1"):
            LinearProgram([[1.0, 0.0]], [1.0], bounds=[(0, None), (None, None)])


def test_the_certificate_holds_for_wrong_multipliers(monkeypatch):
    K = LinearProgram([[1.0, 2.0], [3.0, 1.0]], [2.0, 3.0], bounds=(0, 5))
    g = np.array([-1.0, -1.0])
    least = K.lmo(g).dot(g)
    assert K.certify(g, K.lmo(g)) == pytest.approx(least, rel=1e-12)

    solve = _highs.Program.solve

    def spoiled(self, c):
        found = solve(self, c)
        return found._replace(duals=found.duals * 1.7 + 0.1)

    monkeypatch.setattr(_highs.Program, "solve", spoiled)
    assert -20.0 < K.certify(g, K.lmo(g)) < least


def test_sparse_and_dense_constraints_are_alike():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((8, 5)) * (rng.random((8, 5)) < 0.5)
    b = abs(A).sum(axis=1) / 2
    dense = LinearProgram(A, b, bounds=(-1, 1))
    thin = LinearProgram(sparse.coo_matrix(A), b, bounds=(-1, 1))
    g = rng.standard_normal((6, 5))
    np.testing.assert_allclose(thin.lmo(g).to_dense(), dense.lmo(g).to_dense(), atol=1e-12)
    np.testing.assert_allclose(thin.lmo(g).bound, dense.lmo(g).bound, rtol=1e-10)


def random_program() -> LinearProgram:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((30, 40))
    return LinearProgram(A, 0.05 * abs(A).sum(axis=1), bounds=(0, 1))


def assignments() -> LinearProgram:
    # every vertex has many bases
    rows, columns = np.kron(np.eye(6), np.ones(6)), np.kron(np.ones(6), np.eye(6))
    return LinearProgram(A_eq=np.vstack([rows, columns]), b_eq=np.ones(12), bounds=(0, 1))


def network() -> FlowPolytope:
    rng = np.random.default_rng(5)
    ring = [(i, (i + 1) % 12) for i in range(12)]
    edges = ring + [(int(a), int(b)) for a, b in rng.integers(0, 12, (40, 2)) if a != b]
    demands = [(0, 6, 3.0), (4, 9, 2.0)]
    return FlowPolytope(edges, demands, capacity=np.where(np.arange(len(edges)) < 12, 5.0, 2.0))


PROGRAMS = {"random": random_program, "assignments": assignments, "network": network}


def walk(n: int, count: int, step: float) -> np.ndarray:
    """Return directions that each differ a little from the one before; some have many ties."""
    rng = np.random.default_rng(6)
    g = rng.standard_normal(n) + np.cumsum(step * rng.standard_normal((count, n)), axis=0)
    g[::3] = np.round(g[::3])
    return g


def same_answers(one, other):
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    np.testing.assert_array_equal(one.bound, other.bound)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_an_answer_does_not_depend_on_the_questions_before(kind):
    K = PROGRAMS[kind]()
    G = walk(K.shape[0], 60, 0.3)
    order = np.random.default_rng(7).permutation(60)
    together, shuffled = K.lmo(G), PROGRAMS[kind]().lmo(G[order])
    same_answers(together.take(order), shuffled)
    for i in (3, 17, 42):
        same_answers(together.take(i), PROGRAMS[kind]().lmo(G[i]))


@pytest.mark.parametrize("kind", ["random", "assignments"])
def test_answers_are_those_of_scipy(kind):
    K = PROGRAMS[kind]()
    A = (K.system.A_ub, K.system.b_ub, K.system.A_eq, K.system.b_eq)
    for g in walk(K.shape[0], 20, 0.3):
        least = linprog(g, *A, bounds=(0, 1)).fun
        vertex = K.lmo(g)
        assert vertex.dot(g) == pytest.approx(least, rel=1e-9)
        assert K.violation(vertex.to_dense()) <= 1e-9
        assert K.certify(g, vertex) == pytest.approx(least, rel=1e-9)
        assert K.certify(g, vertex) <= vertex.dot(g) + 1e-12


@pytest.mark.parametrize("kind", PROGRAMS)
def test_each_call_begins_where_the_last_one_ended(kind, monkeypatch):
    cold, steps = [], []
    begin, run = _highs._Solver.cold, _highs._Solver.warm

    def counted(self, c):
        cold.append(c)
        return begin(self, c)

    def watched(self, c):
        found = run(self, c)
        steps.append(self.generic.getInfo().simplex_iteration_count)
        return found

    K = PROGRAMS[kind]()
    monkeypatch.setattr(_highs._Solver, "cold", counted)
    monkeypatch.setattr(_highs._Solver, "warm", watched)
    G = np.random.default_rng(8).standard_normal(K.shape[0]) + walk(K.shape[0], 50, 0.003) * 0.1
    for g in G:
        K.lmo(g)
    calls = [c for c in cold if c.any()]
    assert len(steps) >= 45
    assert len(calls) <= 3
    assert np.mean(steps[1:]) <= 0.3 * steps[0]


def test_threads_and_pickled_copies_give_the_same_answers():
    K = random_program()
    G = walk(40, 40, 0.3)
    expected = K.lmo(G)
    twin, other = pickle.loads(pickle.dumps(K)), copy.deepcopy(K)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(K.lmo, G))
    for i, g in enumerate(G):
        same_answers(found[i], expected.take(i))
        same_answers(twin.lmo(g), expected.take(i))
        same_answers(other.lmo(g), expected.take(i))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"A_ub": [[1.0]], "b_ub": [-1.0]}, "a common solution, found none: the set is empty"),
        ({"A_ub": [[1.0]]}, "A_ub needs b_ub, found None"),
        ({"b_eq": [1.0]}, "b_eq needs A_eq, found None"),
        ({"A_ub": [[1.0, 2.0]], "b_ub": [1.0, 2.0]}, r"found shapes \(1, 2\) and \(2,\)"),
        ({"A_ub": [[np.inf]], "b_ub": [1.0]}, "A_ub has 1 NaN or infinite"),
        ({"A_ub": sparse.csr_array([[np.nan]]), "b_ub": [1.0]}, "A_ub has 1 NaN or infinite"),
        ({"A_ub": [[1.0]], "b_ub": [np.nan]}, "b_ub has 1 NaN or infinite"),
        (
            {"A_ub": [[1.0]], "b_ub": [1.0], "A_eq": [[1.0, 2.0]], "b_eq": [1.0]},
            "as many columns, found 1 and 2",
        ),
        ({"bounds": (0, 1)}, "one pair per variable where there are no constraints"),
        ({"bounds": [(1, 0), (0, 1)]}, "lower <= upper, found 1 of 2 pairs"),
        ({"bounds": [(0, 1, 2)]}, r"bounds must be pairs \(low, high\), found \[\(0, 1, 2\)\]"),
        ({"bounds": [(0, "x")]}, r"bounds must be pairs"),
        ({"bounds": 7}, r"bounds must be pairs \(low, high\), found 7"),
        ({"bounds": [(0, np.nan)]}, "bounds must be numbers, or None"),
        ({"bounds": [(np.inf, None)]}, "bounds must be numbers, or None"),
        ({"A_ub": [[1.0]], "b_ub": [1.0], "bounds": [(0, 1)] * 2}, "each of 1 variables, found 2"),
    ],
)
def test_what_is_no_polytope_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearProgram(**arguments)
