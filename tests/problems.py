"""Small problems that several tests share, with independent solutions."""

from __future__ import annotations

from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np

import wolfpack as wp


def paper_simplex() -> tuple[Any, Any, np.ndarray]:
    """The paper's least squares over the simplex: objective, set, start."""
    rng = np.random.RandomState(42)
    A = rng.randn(200, 50)
    x = rng.rand(50)
    b = A @ (1.5 * x / x.sum())
    x0 = rng.rand(50)
    return wp.objectives.LeastSquares(A, b), wp.sets.Simplex(50), x0 / x0.sum()


def paper_trace_ball() -> tuple[Any, Any, np.ndarray]:
    """The paper's least squares over the trace-norm ball: objective, set, start."""
    rng = np.random.RandomState(43)
    C = rng.randn(10, 10)
    X = rng.randn(10, 8)
    D = C @ (1.5 * X / np.linalg.norm(X, "nuc"))
    X0 = rng.randn(10, 8)
    f = wp.objectives.LeastSquares(C, D)
    return f, wp.sets.TraceNormBall((10, 8)), 0.5 * X0 / np.linalg.norm(X0, "nuc")


def projection(d: int = 10_000) -> tuple[Any, Any, np.ndarray]:
    """Projection onto the simplex of 1.5 x a random probability vector, from a vertex."""
    t = np.random.RandomState(0).rand(d)
    t *= 1.5 / t.sum()
    x0 = np.zeros(d)
    x0[0] = 1.0
    return wp.objectives.Quadratic(1.0, -t, 0.5 * float(t @ t)), wp.sets.Simplex(d), x0


def small_simplex(seed: int = 0, n: int = 20, d: int = 8) -> tuple[Any, Any, np.ndarray]:
    """Least squares over the simplex in dimension 8."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((n, d)), rng.standard_normal(n)
    return wp.objectives.LeastSquares(A, b), wp.sets.Simplex(d), np.full(d, 1 / d)


def small_logistic(seed: int = 1, n: int = 30, d: int = 6) -> tuple[Any, Any, np.ndarray]:
    """Logistic regression over the simplex in dimension 6."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, d))
    labels = np.where(features @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    f = wp.objectives.Logistic(features, labels)
    return f, wp.sets.Simplex(d, radius=3.0), np.full(d, 3.0 / d)


@cache
def minimum(name: str, seed: int = 0) -> float:
    """The minimum of a problem above by an independent solver."""
    if name == "small_simplex":
        f, K, _ = small_simplex(seed)
        x = cp.Variable(K.shape[0], nonneg=True)
        loss = 0.5 * cp.sum_squares(f.A @ x - f.b)
        constraints = [cp.sum(x) == 1]
    elif name == "small_logistic":
        f, K, _ = small_logistic()
        x = cp.Variable(K.shape[0], nonneg=True)
        loss = cp.sum(cp.logistic(-cp.multiply(f.labels, f.A @ x))) / f.A.shape[0]
        constraints = [cp.sum(x) == 3.0]
    elif name == "paper_simplex":
        f, K, _ = paper_simplex()
        x = cp.Variable(50, nonneg=True)
        loss = 0.5 * cp.sum_squares(f.A @ x - f.b)
        constraints = [cp.sum(x) == 1]
    else:
        f, K, _ = paper_trace_ball()
        x = cp.Variable(K.shape)
        loss = 0.5 * cp.sum_squares(f.A @ x - f.b)
        constraints = [cp.normNuc(x) <= 1]
    problem = cp.Problem(cp.Minimize(loss), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)
