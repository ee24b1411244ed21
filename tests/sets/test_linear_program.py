"""Linear programs: bounds from bounds, proofs from multipliers, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, linprog

from wolfpack.sets import LinearProgram, _linear


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

    def spoiled(*arguments, **options):
        result = linprog(*arguments, **options)
        result.ineqlin.marginals = result.ineqlin.marginals * 1.7 + 0.1
        return result

    monkeypatch.setattr(_linear, "linprog", spoiled)
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
