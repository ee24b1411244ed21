"""The data are the authors', bit for bit."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from wolfpack.paper import instance


@pytest.mark.parametrize("seed", [42, 43])
def test_simplex_data_come_from_the_global_generator_in_the_authors_order(seed):
    np.random.seed(seed)
    A = np.random.randn(200, 50)
    x = np.random.rand(50)
    x = 1.5 * x / np.sum(x)
    x0 = np.random.rand(50)
    on = instance(f"simplex-{seed}")
    assert np.array_equal(on.f.A, A)
    assert np.array_equal(on.f.b, A @ x)
    assert np.array_equal(on.x0, x0 / np.sum(x0))
    assert on.K.contains(on.x0)


def test_trace_ball_data_come_from_the_global_generator_in_the_authors_order():
    np.random.seed(43)
    C = np.random.randn(10, 10)
    X = np.random.randn(10, 8)
    X = 1.5 * X / np.linalg.norm(X, "nuc")
    X0 = np.random.randn(10, 8)
    on = instance("trace-43")
    assert np.array_equal(on.f.A, C)
    assert np.array_equal(on.f.b, C @ X)
    assert np.array_equal(on.x0, 0.5 * X0 / np.linalg.norm(X0, "nuc"))
    assert on.K.contains(on.x0)


@pytest.mark.parametrize("name", ["simplex-42", "simplex-43", "trace-43"])
def test_both_constants_are_the_norms_they_are_named_after(name):
    on = instance(name)
    gram = on.f.A.T @ on.f.A
    assert on.spectral_L == pytest.approx(np.linalg.norm(gram, 2), rel=1e-10)
    assert on.frobenius_L == pytest.approx(np.sqrt((gram**2).sum()), rel=1e-12)
    assert on.spectral_L < on.frobenius_L


def test_initial_gap_is_a_close_upper_bound():
    on = instance("simplex-42")
    x = cp.Variable(50, nonneg=True)
    least_squares = cp.Minimize(0.5 * cp.sum_squares(on.f.A @ x - on.f.b))
    minimum = cp.Problem(least_squares, [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    start = on.f.value(on.x0)
    assert start - minimum - 1e-6 <= on.initial_gap <= start - minimum + 1e-3 * start
