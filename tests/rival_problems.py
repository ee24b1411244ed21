"""Two losses over four polytopes, with independent minima, and a small traffic problem."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import wolfpack as wp

PERMUTATIONS = np.array([np.eye(3)[list(p)].reshape(-1) for p in itertools.permutations(range(3))])
LOWER, UPPER = -0.1 * np.arange(1.0, 10.0), np.linspace(0.05, 0.6, 9)


def _sets() -> dict[str, Any]:
    return {
        "simplex": wp.sets.Simplex(9),
        "l1 ball": wp.sets.L1Ball(9, 1.5),
        "hull": wp.sets.ConvexHull(PERMUTATIONS),
        "box": wp.sets.Box(LOWER, UPPER),
    }


def _losses() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((25, 9))
    b = A @ rng.random(9) + 0.3 * rng.standard_normal(25)
    labels = np.where(A @ rng.standard_normal(9) + rng.standard_normal(25) > 0, 1, -1)
    return {
        "quadratic": wp.objectives.LeastSquares(A, b),
        "logistic": wp.objectives.Logistic(A, labels),
    }


CASES = [f"{loss} {K}" for loss in _losses() for K in _sets()]


def case(name: str) -> tuple[Any, Any]:
    """Return objective and set."""
    loss, _, K = name.partition(" ")
    return _losses()[loss], _sets()[K]


@cache
def minimum(name: str) -> float:
    """Return the minimum by Clarabel."""
    f, _ = case(name)
    loss, _, K = name.partition(" ")
    x = cp.Variable(9)
    constraints = {
        "simplex": [x >= 0, cp.sum(x) == 1],
        "l1 ball": [cp.norm1(x) <= 1.5],
        "box": [x >= LOWER, x <= UPPER],
    }
    if K == "hull":
        w = cp.Variable(6, nonneg=True)
        constraints["hull"] = [x == PERMUTATIONS.T @ w, cp.sum(w) == 1]
    if loss == "quadratic":
        value = 0.5 * cp.sum_squares(f.A @ x - f.b)
    else:
        value = cp.sum(cp.logistic(-cp.multiply(f.labels, f.A @ x))) / 25
    problem = cp.Problem(cp.Minimize(value), constraints[K])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


def iterates(f: Any, K: Any, **settings: Any) -> tuple[Any, list[Any]]:
    """Return a run's result and the points of all its rounds."""
    points: list[Any] = []
    res = wp.minimize(f, K, callback=lambda r: points.append(r.state.x), **settings)
    return res, points


class Traffic:
    """User equilibrium on a grid of streets: link flows of several pairs, BPR travel times.

    f is the Beckmann function, the integral of the travel times t (1 + 0.15 (x/c)^4), and the
    oracle sends each pair along its shortest path.
    """

    def __init__(self, n: int = 4) -> None:
        rng = np.random.default_rng(2)
        nodes = np.arange(n * n).reshape(n, n)
        pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
        tails = np.concatenate([a.reshape(-1) for pair in pairs for a in pair])
        heads = np.concatenate([a.reshape(-1) for pair in pairs for a in pair[::-1]])
        self.tails, self.heads, self.n = tails, heads, n * n
        self.time = rng.uniform(1.0, 3.0, len(tails))
        self.capacity = rng.uniform(2.0, 6.0, len(tails))
        self.link = np.full((n * n, n * n), -1)
        self.link[tails, heads] = np.arange(len(tails))
        corners = [0, n - 1, n * n - n, n * n - 1]
        self.demand = {(o, d): rng.uniform(1, 4) for o in corners for d in corners if o != d}
        # flows of nonnegative times only: shortest paths know no other directions
        self.K = wp.sets.Oracle(
            self.load, shape=len(tails), radius=40.0 * len(tails), contains=lambda x: x.min() >= 0
        )
        self.x0 = self.load(self.time)

    def load(self, times: np.ndarray) -> np.ndarray:
        """All demand on the shortest paths."""
        graph = csr_array((times, (self.tails, self.heads)), shape=(self.n, self.n))
        _, before = dijkstra(graph, return_predecessors=True)
        x = np.zeros(len(times))
        for (origin, node), amount in self.demand.items():
            while node != origin:
                x[self.link[before[origin, node], node]] += amount
                node = before[origin, node]
        return x

    def f(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Beckmann's function."""
        share = x / self.capacity
        value = self.time @ (x + 0.03 * self.capacity * share**5)
        return float(value), self.time * (1 + 0.15 * share**4)

    def hessian_product(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        return self.time * 0.6 * (x / self.capacity) ** 3 / self.capacity * d
