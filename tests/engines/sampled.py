"""Runs of every sampled method, every way of smoothing, every structure of vertices."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import wolfpack as wp
from engines.cases import cube, digest
from problems import paper_trace_ball, small_simplex


def birkhoff() -> tuple[Any, Any, Any]:
    target = np.random.default_rng(0).random((6, 6))
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Birkhoff(6), None


def product() -> tuple[Any, Any, Any]:
    K = wp.sets.Product(wp.sets.Simplex(5), wp.sets.L1Ball(4), wp.sets.L2Ball(3))
    return wp.objectives.Quadratic(1.0, -np.linspace(-1, 1, 12)), K, None


def tree() -> tuple[Any, Any, Any]:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    K = wp.sets.SpanningTree(edges)
    return wp.objectives.Quadratic(1.0, -np.linspace(0, 1, 6)), K, None


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "anytime, one-hot": (small_simplex, {"method": "anytime", "m": 9, "block": 2}),
    "anytime, m auto": (small_simplex, {"method": "anytime", "noise": "gaussian", "block": 3}),
    "pfw, rank one": (paper_trace_ball, {"method": "pfw", "alpha": 1e-2, "m": 20, "block": 7}),
    "r-pfw, one block": (paper_trace_ball, {"method": "r-pfw", "m": 8}),
    "r-pfw, permutations": (birkhoff, {"method": "r-pfw", "m": 11, "block": 2}),
    "anytime, product": (product, {"method": "anytime", "m": 10, "block": 3}),
    "anytime, lifted": (tree, {"method": "anytime", "m": 10, "block": 3, "smoothing": "lifted"}),
    "anytime, image": (
        small_simplex,
        {"method": "anytime", "m": 10, "block": 4, "smoothing": "image", "noise": "gaussian"},
    ),
    "anytime, antithetic": (
        small_simplex,
        {"method": "anytime", "m": 12, "block": 4, "sampling": "antithetic"},
    ),
    "anytime, user's oracle": (lambda: (*cube(), None), {"method": "anytime", "m": 10}),
    "corrective, product": (product, {"method": "corrective", "m": 9, "block": 2}),
    "corrective, trees": (tree, {"method": "corrective", "m": 8, "block": 3}),
    "corrective, permutations": (birkhoff, {"method": "corrective", "m": 7, "block": 2}),
    "corrective, user's oracle": (lambda: (*cube(), None), {"method": "corrective", "m": 6}),
}


@cache
def reference(name: str) -> str:
    return digest(solve(name, None))


def solve(name: str, engine: Any) -> wp.Result:
    make, settings = CASES[name]
    f, K, x0 = make()
    result = wp.minimize(f, K, x0, tol=0, max_rounds=10, seed=11, engine=engine, **settings)
    assert result.status in ("max_rounds", "stalled")
    return result


def check(name: str, engine: Any, workers: int) -> None:
    """A run on an engine has the bits of the run in this process."""
    result = solve(name, engine)
    assert digest(result) == reference(name)
    assert set(result.engine["workers"]) == {workers}
    assert result.engine["blocks"].min() >= 1
