"""Quadratics over a simplex of weights against an independent solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from wolfpack.solvers.parts.barycentric import minimize_weights


def minimize_quadratic(G: np.ndarray, c: np.ndarray, w: np.ndarray, tol: float) -> np.ndarray:
    return minimize_weights(G, G @ w + c, w, tol)[0]


def reference(root: np.ndarray, c: np.ndarray) -> float:
    w = cp.Variable(len(c), nonneg=True)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ w) + c @ w), [cp.sum(w) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)
    return float(problem.value)


def problems() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(3)
    tall, flat = rng.standard_normal((40, 25)), rng.standard_normal((3, 25))
    repeated = np.repeat(rng.standard_normal((8, 5)), 4, axis=1)
    return {
        "definite": (tall, rng.standard_normal(25)),
        "inside": (tall[:, :4], -tall[:, :4].T @ tall[:, :4] @ np.full(4, 0.25)),
        "deficient": (flat, rng.standard_normal(25)),
        "repeated points": (repeated, np.repeat(rng.standard_normal(5), 4)),
        "linear": (np.zeros((1, 6)), rng.standard_normal(6)),
        "constant": (np.zeros((1, 6)), np.ones(6)),
        "badly scaled": (tall @ np.diag(np.logspace(-3, 3, 25)), rng.standard_normal(25)),
        "two points": (tall[:, :2], np.array([0.3, -0.2])),
    }


@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("start", ["vertex", "middle"])
def test_the_minimum_is_found_from_anywhere(name, start):
    root, c = problems()[name]
    n, G = len(c), root.T @ root
    w0 = np.eye(n)[0] if start == "vertex" else np.full(n, 1 / n)
    w = minimize_quadratic(G, c, w0, 1e-12)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0, abs=1e-14)
    value = 0.5 * w @ G @ w + c @ w
    best = reference(root, c)
    assert value <= best + 1e-7 * max(1.0, abs(best))
    slopes = G @ w + c
    # what bounds the distance to the minimum, relative to the size of the slopes
    assert slopes[w > 0].max() - slopes.min() <= 1e-8 * max(1.0, abs(G).max())


def test_one_point_is_its_own_answer():
    np.testing.assert_array_equal(
        minimize_quadratic(np.ones((1, 1)), np.zeros(1), np.ones(1), 0.0), [1.0]
    )


def test_the_starting_weights_are_not_written_to():
    root, c = problems()["definite"]
    w0 = np.full(25, 1 / 25)
    minimize_quadratic(root.T @ root, c, w0, 1e-12)
    np.testing.assert_array_equal(w0, np.full(25, 1 / 25))


def test_a_matrix_that_is_not_semidefinite_does_not_trap_the_search():
    G = np.diag([1.0, -1e9, 2.0, 3.0])
    w = minimize_quadratic(G, np.zeros(4), np.full(4, 0.25), 1e-9)
    assert w.sum() == pytest.approx(1.0)
    assert w @ G @ w < np.full(4, 0.25) @ G @ np.full(4, 0.25)
