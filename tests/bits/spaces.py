"""Cases of every set and every objective, each with a cheap method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wolfpack as wp
from bits.problems import EDGES, labels, observed, rng, simplex, sparse_table, table, targets, title

STREETS = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("b", "d"), ("a", "b"), ("d", "e")]
TRIPS = [("a", "d", 1.5), ("a", "c", 1.0), ("b", "d", 0.5)]
ROADS = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 0), (2, 1), (3, 2), (0, 3), (2, 0)]
DAG = [("s", "a"), ("a", "t"), ("s", "t"), ("a", "b"), ("b", "t"), ("b", "t")]
VECTORS = np.array([[1, 2, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]])


def rank(chosen: Any) -> int:
    return int(np.linalg.matrix_rank(VECTORS[:, list(chosen)])) if chosen else 0


def best_two(g: Any) -> Any:
    """Answer many directions at once: 1 on the two least entries of each."""
    vertices = np.zeros(g.shape)
    np.put_along_axis(vertices, np.argsort(g, axis=-1)[..., :2], 1.0, axis=-1)
    return vertices


SETS: dict[str, Callable[[], Any]] = {
    "Birkhoff": lambda: wp.sets.Birkhoff(4),
    "Box": lambda: wp.sets.Box(-np.arange(1.0, 7.0), np.linspace(-0.5, 3.0, 6)),
    "CappedSimplex": lambda: wp.sets.CappedSimplex(8, 0.1 + rng(1).random(8), 2.0),
    "CappedSimplex with one cap": lambda: wp.sets.CappedSimplex((2, 5), 0.3, 1.0),
    "ConvexHull": lambda: wp.sets.ConvexHull(rng(2).standard_normal((20, 5))),
    "DagFlow": lambda: wp.sets.DagFlow(DAG, "s", "t"),
    "FlowPolytope": lambda: wp.sets.FlowPolytope(STREETS, TRIPS),
    "FlowPolytope with capacity": lambda: wp.sets.FlowPolytope(
        ROADS, [(0, 2, 2.0), (1, 3, 1.0)], capacity=2.0
    ),
    "GroupL1Ball": lambda: wp.sets.GroupL1Ball([[0, 5, 7], [1], [2, 3, 4, 6], [8, 9]], 2.0),
    "Hypersimplex": lambda: wp.sets.Hypersimplex(9, 3),
    "KSparse": lambda: wp.sets.KSparse(9, 3, 0.5),
    "L1Ball": lambda: wp.sets.L1Ball((3, 4), 2.0),
    "L2Ball": lambda: wp.sets.L2Ball(9, 1.5),
    "LinearProgram": lambda: wp.sets.LinearProgram(
        [[1.0, 1.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0]],
        [2.5, 0.5],
        [[1.0, 0.0, 0.0, -1.0]],
        [0.0],
        [(0, 1), (0, None), (0, 1), (None, None)],
    ),
    "LinfBall": lambda: wp.sets.LinfBall(9, 0.7),
    "LpBall": lambda: wp.sets.LpBall(9, 1.7, 2.0),
    "MatroidBase": lambda: wp.sets.MatroidBase(rank, 6),
    "MinkowskiSum": lambda: wp.sets.MinkowskiSum(
        wp.sets.L2Ball(6), wp.sets.LinfBall(6, 0.2), wp.sets.L1Ball(6)
    ),
    "MixedInteger": lambda: wp.sets.MixedInteger(
        [[3, 5, -2, 4], [1, -1, 1, 1]], [7, 2], bounds=[(0, 2), (-1, 1), (0, 1), (0, 2)]
    ),
    "OperatorNormBall": lambda: wp.sets.OperatorNormBall((4, 5), 1.5),
    "Oracle": lambda: wp.sets.Oracle(best_two, 6, 2**0.5, batched=True),
    "Permutahedron": lambda: wp.sets.Permutahedron([2.0, -1.0, 2.0, 0.5, 3.0]),
    "Product": lambda: wp.sets.Product(
        wp.sets.Simplex((2, 3)), wp.sets.L2Ball(3), wp.sets.Box([-1.0], [2.0])
    ),
    "Scale": lambda: wp.sets.Scale(wp.sets.Simplex(7), -4.0),
    "SchattenBall": lambda: wp.sets.SchattenBall((4, 5), 1.7, 1.5),
    "Simplex": lambda: wp.sets.Simplex((2, 5), 3.0),
    "SpanningTree": lambda: wp.sets.SpanningTree(EDGES),
    "Spectrahedron": lambda: wp.sets.Spectrahedron(5, 2.0, equality=False),
    "TraceNormBall": lambda: wp.sets.TraceNormBall((4, 5), 1.5),
    "Translate": lambda: wp.sets.Translate(wp.sets.L1Ball(6), np.linspace(-1.0, 2.0, 6)),
    "TransportPolytope": lambda: wp.sets.TransportPolytope(
        [3.0, 1.0, 0.0, 2.0], [1.0, 1.5, 2.0, 0.25, 1.25], solver="highs"
    ),
    "WeightedL1Ball": lambda: wp.sets.WeightedL1Ball(0.2 + rng(3).random((2, 4)), 2.0),
}


SLOW = ("FlowPolytope", "FlowPolytope with capacity", "TransportPolytope")
"""Sets that take seconds to measure the noise that smoothing needs."""


def over(name: str, method: str, rounds: int, **options: Any) -> wp.Result:
    """Project a fixed matrix or vector onto a set."""
    K = SETS[name]()
    f = wp.objectives.Quadratic(1.0, -1.5 * rng(9).standard_normal(K.shape))
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": rounds, "progress": False}
    settings |= {"record_every": 1} | options
    return wp.minimize(f, K, method=method, **settings)


def transport() -> Any:
    """An objective over plans with equal sums, whose oracle is an assignment problem."""
    K = wp.sets.TransportPolytope(np.full(4, 2.0), np.full(4, 2.0))
    f = wp.objectives.Quadratic(1.0, -rng(9).random((4, 4)))
    return wp.minimize(
        f, K, method="corrective", m=4, tol=0.0, max_rounds=8, progress=False, record_every=1
    )


A = table(40, 8, seed=10)


def hessian() -> Any:
    return wp.objectives.Quadratic(A.T @ A / 40, -np.linspace(-1.0, 1.0, 8), r=0.5)


def bell(x: Any) -> tuple[float, Any]:
    e = np.exp(x - x.max())
    return float(x.max() + np.log(e.sum())), e / e.sum()


OBJECTIVES: dict[str, Callable[[], Any]] = {
    "Function": lambda: wp.objectives.Function(bell, L=1.0, shape=(8,)),
    "Huber": lambda: wp.objectives.Huber(A, targets(A), delta=0.7),
    "Huber, summed": lambda: wp.objectives.Huber(A, targets(A), reduction="sum"),
    "LeastSquares": lambda: wp.objectives.LeastSquares(A, targets(A)),
    "LeastSquares, mean": lambda: wp.objectives.LeastSquares(A, targets(A), reduction="mean"),
    "Logistic": lambda: wp.objectives.Logistic(A, labels(A)),
    "Logistic, summed": lambda: wp.objectives.Logistic(A, labels(A), reduction="sum"),
    "Poisson": lambda: wp.objectives.Poisson(A, rng(11).poisson(2.0, 40), cap=8.0),
    "Quadratic": hessian,
    "Quantile": lambda: wp.objectives.Quantile(A, targets(A), q=0.3, delta=0.2),
    "SquaredHinge": lambda: wp.objectives.SquaredHinge(A, labels(A)),
    "Weighted": lambda: wp.objectives.Weighted(
        wp.objectives.Logistic(A, labels(A)), np.linspace(0.0, 2.0, 40)
    ),
    "a callable": lambda: bell,
}


def of(name: str, method: str, **options: Any) -> wp.Result:
    """Minimise an objective over an l1 ball."""
    K, f = wp.sets.L1Ball(8, 1.5), OBJECTIVES[name]()
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": 12, "progress": False}
    settings |= {"record_every": 1} | options
    return wp.minimize(f, K, method=method, **settings)


def multinomial() -> wp.Result:
    f = wp.objectives.Multinomial(A, rng(12).integers(0, 3, 40))
    K = wp.sets.TraceNormBall((8, 3), 2.0)
    return wp.minimize(f, K, method="fw-ls", tol=0.0, max_rounds=12, progress=False, record_every=1)


def traffic(**options: Any) -> wp.Result:
    f = wp.objectives.BPR(np.linspace(1.0, 2.0, 7), np.linspace(2.0, 1.0, 7))
    K = wp.sets.FlowPolytope(STREETS, TRIPS)
    return wp.minimize(f, K, tol=0.0, max_rounds=12, progress=False, record_every=1, **options)


def large_completion(method: str, **options: Any) -> wp.Result:
    """Complete a larger matrix, whose answers stay in factors."""
    f = wp.objectives.MatrixCompletion(*observed((60, 45)), (60, 45))
    K = wp.sets.TraceNormBall((60, 45), radius=60.0)
    return wp.minimize(
        f, K, method=method, tol=0.0, max_rounds=6, progress=False, record_every=1, **options
    )


def sparse(method: str, **options: Any) -> wp.Result:
    S = sparse_table()
    f = wp.objectives.Logistic(S, np.where(np.arange(80) % 3, 1, -1))
    K = wp.sets.L1Ball(30, 3.0)
    return wp.minimize(
        f, K, method=method, tol=0.0, max_rounds=12, progress=False, record_every=1, **options
    )


def narrow(method: str, **options: Any) -> wp.Result:
    f, K = simplex(np.float32)
    return wp.minimize(
        f, K, method=method, tol=0.0, max_rounds=12, progress=False, record_every=1, **options
    )


def narrow_callable() -> wp.Result:
    x0 = np.full(8, 0.125, np.float32)
    K = wp.sets.Simplex(8)
    return wp.minimize(
        bell, K, x0, method="fw-ls", tol=0.0, max_rounds=12, progress=False, record_every=1
    )


CASES: dict[str, Callable[[], Any]] = {
    **{f"set {name}, fw-ls": partial(over, name, "fw-ls", 10) for name in SETS},
    **{
        f"set {name}, anytime": partial(over, name, "anytime", 6, m=3)
        for name in SETS
        if name not in SLOW
    },
    **{f"set {name}, corrective": partial(over, name, "corrective", 4, m=3) for name in SLOW},
    **{f"set {name}, auto": partial(over, name, "auto", 6) for name in SETS},
    "set TransportPolytope with equal sums": transport,
    **{f"objective {name}, fw-ls": partial(of, name, "fw-ls") for name in OBJECTIVES},
    **{f"objective {name}, anytime": partial(of, name, "anytime", m=4) for name in OBJECTIVES},
    **{f"objective {name}, auto": partial(of, name, "auto") for name in OBJECTIVES},
    "objective Multinomial, fw-ls": multinomial,
    "objective BPR, biconjugate": partial(traffic, method="biconjugate"),
    "objective BPR, corrective": partial(traffic, method="corrective", m=4),
    "objective MatrixCompletion in factors": partial(large_completion, "corrective", m=4),
    "objective MatrixCompletion, auto": partial(large_completion, "auto"),
    "objective MatrixCompletion, fw-ls": partial(large_completion, "fw-ls"),
    "sparse data, fw-ls": partial(sparse, "fw-ls"),
    "sparse data, anytime": partial(sparse, "anytime", m=4),
    "sparse data, corrective": partial(sparse, "corrective", m=4),
    **{
        title("float32,", method, **options): partial(narrow, method, **options)
        for method, options in [
            ("auto", {}),
            ("anytime", {"m": 4}),
            ("anytime", {"m": "exact"}),
            ("corrective", {"m": 4}),
            ("projected", {}),
            ("r-pfw", {"m": 4}),
            ("fw-ls", {}),
            ("away", {}),
            ("bpcg", {}),
            ("momentum", {}),
        ]
    },
    "float32, a callable": narrow_callable,
}
