"""Small seeded problems that the cases share. Every call makes them anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

import wolfpack as wp

Pair = tuple[Any, Any]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(n: int = 60, d: int = 12, seed: int = 0, dtype: Any = float) -> np.ndarray:
    """Return features whose columns are of unequal size."""
    columns = np.linspace(0.5, 2.0, d)
    return (rng(seed).standard_normal((n, d)) * columns).astype(dtype)


def targets(A: np.ndarray, seed: int = 1) -> np.ndarray:
    noise = rng(seed).standard_normal(A.shape[0])
    return (A @ np.linspace(1.0, -1.0, A.shape[1]) + noise).astype(A.dtype)


def labels(A: np.ndarray, seed: int = 2) -> np.ndarray:
    return np.where(targets(A, seed) > 0, 1, -1)


def sparse_table(n: int = 80, d: int = 30, seed: int = 3) -> csr_array:
    dense = rng(seed).standard_normal((n, d))
    return csr_array(np.where(abs(dense) > 1.3, dense, 0.0))


def simplex(dtype: Any = float) -> Pair:
    A = table(dtype=dtype)
    return wp.objectives.LeastSquares(A, targets(A)), wp.sets.Simplex(12, radius=2.0)


def l1(dtype: Any = float) -> Pair:
    A = table(seed=4, dtype=dtype)
    return wp.objectives.Logistic(A, labels(A)), wp.sets.L1Ball(12, radius=2.5)


def birkhoff(n: int = 5) -> Pair:
    return wp.objectives.Quadratic(1.0, -rng(5).random((n, n))), wp.sets.Birkhoff(n)


def observed(shape: tuple[int, int] = (12, 9)) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of some entries of a matrix of rank two."""
    draw = rng(6)
    full = draw.standard_normal((shape[0], 2)) @ draw.standard_normal((2, shape[1]))
    rows, columns = np.nonzero(draw.random(shape) < 0.6)
    return rows, columns, full[rows, columns]


def completion() -> Pair:
    """Matrix completion over a trace-norm ball; iterates of some methods are factors."""
    f = wp.objectives.MatrixCompletion(*observed(), (12, 9))
    return f, wp.sets.TraceNormBall((12, 9), radius=15.0)


def trace() -> Pair:
    """Least squares over a trace-norm ball; iterates are dense."""
    draw = rng(7)
    C, D = draw.standard_normal((15, 8)), draw.standard_normal((15, 6))
    return wp.objectives.LeastSquares(C, D), wp.sets.TraceNormBall((8, 6), radius=0.8)


def spectrahedron() -> Pair:
    half = rng(8).standard_normal((6, 6))
    return wp.objectives.Quadratic(1.0, -(half + half.T) / 4), wp.sets.Spectrahedron(6)


EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (3, 4), (4, 0)]


def tree() -> Pair:
    """A quadratic over spanning trees, a polytope that lists no k best vertices."""
    c = -np.linspace(0.0, 1.0, len(EDGES))
    return wp.objectives.Quadratic(1.0, c), wp.sets.SpanningTree(EDGES)


def product() -> Pair:
    K = wp.sets.Product(wp.sets.Simplex(5), wp.sets.L1Ball(4), wp.sets.L2Ball(3))
    return wp.objectives.Quadratic(1.0, -np.linspace(-1.0, 1.0, 12)), K


def corner(g: np.ndarray) -> np.ndarray:
    return np.where(g < 0, 1.0, -1.0)


def cube() -> Pair:
    """A user's callable over a user's oracle."""
    goal = np.linspace(-1.5, 0.9, 7)

    def f(x: Any) -> tuple[float, Any]:
        return float(((x - goal) ** 4).sum()), 4.0 * (x - goal) ** 3

    return f, wp.sets.Oracle(corner, 7, 7**0.5)


PAIRS = {
    "simplex": simplex,
    "l1": l1,
    "birkhoff": birkhoff,
    "completion": completion,
    "trace": trace,
    "spectrahedron": spectrahedron,
    "tree": tree,
    "product": product,
    "cube": cube,
}


def title(*words: Any, **options: Any) -> str:
    """Return the name of a case: its words, then its options."""
    named = [f"{name}={value}" for name, value in options.items()]
    return " ".join([*map(str, words), *named])
