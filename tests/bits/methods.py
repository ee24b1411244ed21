"""Cases of `minimize`: every method, with the options that change its path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wolfpack as wp
from bits.problems import PAIRS, title

Case = Callable[[], Any]


def solve(pair: str, method: Any, rounds: int = 20, **options: Any) -> wp.Result:
    """Run a method on a pair of the list for a number of rounds."""
    f, K = PAIRS[pair]()
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": rounds, "seed": 3, "record_every": 1}
    settings |= options
    return wp.minimize(f, K, method=method, progress=False, **settings)


RUNS: list[tuple[str, str, dict[str, Any]]] = [
    # (method, pairs, options)
    ("auto", "simplex l1 birkhoff completion trace spectrahedron tree product cube", {}),
    ("auto", "simplex birkhoff trace", {"m": 4}),
    ("auto", "simplex l1 completion", {"tol": 1e-3, "rtol": 1e-3}),
    ("anytime", "simplex l1 birkhoff trace product cube", {"m": 1}),
    ("anytime", "simplex l1 birkhoff completion tree", {"m": 4}),
    ("anytime", "simplex l1 tree", {"m": "exact"}),
    ("anytime", "simplex l1 birkhoff completion", {"m": "auto"}),
    ("anytime", "simplex birkhoff", {"m": "theory"}),
    ("anytime", "simplex trace", {"m": "auto", "noise": "gaussian", "max_m": 8}),
    ("anytime", "simplex l1 birkhoff trace cube", {"noise": None}),
    ("anytime", "tree l1", {"m": 4, "smoothing": "lifted"}),
    ("anytime", "tree birkhoff", {"m": 4, "noise": "gumbel"}),
    ("anytime", "tree birkhoff", {"m": 4, "noise": "logistic"}),
    ("anytime", "simplex", {"m": 6, "smoothing": "image", "noise": "gaussian"}),
    ("anytime", "l1", {"m": 6, "smoothing": "image", "noise": "gaussian"}),
    ("anytime", "simplex birkhoff", {"m": 6, "sampling": "antithetic"}),
    ("anytime", "simplex birkhoff", {"m": 8, "sampling": "sobol", "noise": "gaussian"}),
    ("anytime", "simplex birkhoff", {"m": 7, "block": 2}),
    ("anytime", "simplex birkhoff", {"m": 4, "kappa": 1.0}),
    ("anytime", "simplex birkhoff", {"m": 4, "kappa": 1.0, "theta": 0.25}),
    ("anytime", "simplex birkhoff", {"m": 4, "order": 2}),
    ("anytime", "simplex", {"m": "exact", "kappa": 1.0}),
    ("anytime", "l1 birkhoff", {"m": 4, "L": 2.0}),
    ("anytime", "simplex tree", {"m": 4, "record_every": 5}),
    ("anytime", "simplex l1", {"m": "exact", "tol": 1e-2}),
    ("corrective", "simplex l1 birkhoff completion trace spectrahedron tree product cube", {}),
    ("corrective", "simplex l1 birkhoff trace spectrahedron tree product", {"m": 8}),
    ("corrective", "cube", {"m": 8, "rounds": 6}),
    ("corrective", "completion trace spectrahedron", {"m": 4}),
    ("corrective", "completion trace", {"m": 4, "max_rank": 3}),
    ("corrective", "birkhoff", {"m": 8, "sampling": "antithetic"}),
    ("corrective", "birkhoff", {"m": 8, "noise": "gumbel", "block": 3}),
    ("corrective", "birkhoff l1", {"m": 4, "accuracy": 0.5}),
    ("corrective", "birkhoff", {"m": 4, "max_pool": 6}),
    ("corrective", "birkhoff", {"m": 4, "max_age": 2}),
    ("corrective", "l1 birkhoff", {"m": 8, "tol": 1e-6}),
    ("projected", "simplex l1 trace spectrahedron", {}),
    ("projected", "simplex l1", {"L0": 100.0}),
    *(
        ("block", "product", {"order": order, "lazy": lazy})
        for order in ("cyclic", "shuffled", "random", "gap", "parallel")
        for lazy in (False, True)
    ),
    ("block", "product", {"rule": "backtracking"}),
    ("dicg", "simplex birkhoff", {}),
    ("dicg", "simplex birkhoff", {"blended": True}),
    ("dicg", "simplex birkhoff", {"lazy": True, "rule": "backtracking"}),
    ("conic", "simplex birkhoff", {}),
    ("nnls", "simplex", {}),
    *(
        ("stochastic", "simplex l1", {"batch": 7, "estimate": estimate})
        for estimate in ("table", "substitute", "momentum", "recursive")
    ),
    ("stochastic", "simplex l1", {"batch": 7, "order": "shuffled"}),
    ("stochastic-anytime", "simplex l1", {"batch": 7}),
    ("stochastic-anytime", "simplex l1", {"batch": 7, "m": 4, "kappa": 1.0}),
    ("stochastic-anytime", "simplex l1", {"batch": 7, "estimate": "plain"}),
    ("pfw", "simplex l1 birkhoff", {"m": 4, "alpha": 0.1}),
    ("pfw", "simplex", {"m": 4, "epsilon": 0.05}),
    ("pfw", "simplex", {"m": 3, "alpha": 0.1, "constants": "paper"}),
    ("r-pfw", "simplex l1 birkhoff trace", {"m": 4}),
    ("r-pfw", "simplex", {"m": "theory", "rounds": 8}),
    ("r-pfw", "simplex birkhoff", {"m": 4, "shrink": 0.7, "length": 0.5}),
    ("r-pfw", "simplex", {"m": "exact"}),
    ("r-pfw", "simplex l1", {"m": 4, "restart": "certificate"}),
    ("fw", "simplex l1 birkhoff completion cube", {}),
    ("fw", "simplex l1", {"ell": 4.0}),
    *(
        ("fw", "simplex l1", {"rule": rule})
        for rule in ("monotone", "adaptive", "golden-section", "log-open-loop", "power-loop")
    ),
    ("fw-short", "simplex l1 birkhoff completion", {}),
    ("fw-short", "cube", {"L": 40.0}),
    ("fw-ls", "simplex l1 birkhoff completion cube", {}),
    ("fw-ls", "l1", {"xtol": 1e-3}),
    ("away", "simplex l1 birkhoff tree", {}),
    ("pairwise", "simplex l1 birkhoff tree", {}),
    ("away", "l1 birkhoff", {"lazy": True}),
    ("pairwise", "l1 birkhoff", {"lazy": True}),
    ("bpcg", "simplex l1 birkhoff tree", {}),
    ("bpcg", "simplex l1 birkhoff", {"lazy": True}),
    ("bpcg", "l1 birkhoff", {"lazy": True, "J": 1.2}),
    ("fcfw", "simplex l1 birkhoff", {}),
    ("fcfw", "l1 birkhoff", {"accuracy": 0.3, "inner": 3}),
    ("lazy", "simplex l1 birkhoff completion", {}),
    ("lazy", "l1 birkhoff", {"J": 1.2, "size": 3}),
    ("momentum", "simplex l1 birkhoff", {}),
    ("momentum", "simplex l1", {"kind": "heavy-ball"}),
    ("cgs", "simplex l1 birkhoff", {}),
    ("conjugate", "simplex l1 birkhoff", {}),
    ("conjugate", "simplex l1", {"delta": 0.2}),
    ("biconjugate", "simplex l1 birkhoff", {}),
    *(
        (method, "simplex l1", {"rule": rule})
        for method in ("away", "pairwise", "bpcg", "lazy", "conjugate")
        for rule in ("short-step", "backtracking", "secant")
    ),
    ("fw-ls", "simplex birkhoff", {"max_lmo": 9}),
]


def from_a_start() -> wp.Result:
    f, K = PAIRS["simplex"]()
    x0 = np.linspace(0.0, 2.0, 12)
    x0 *= 2.0 / x0.sum()
    return wp.minimize(
        f, K, x0, method="away", tol=0.0, max_rounds=15, progress=False, record_every=1
    )


def from_a_vertex() -> wp.Result:
    f, K = PAIRS["birkhoff"]()
    return wp.minimize(
        f,
        K,
        np.eye(5),
        method="corrective",
        m=6,
        tol=0.0,
        max_rounds=8,
        progress=False,
        record_every=1,
    )


def seeds() -> list[wp.Result]:
    return [solve("birkhoff", "anytime", 10, m=4, seed=seed) for seed in (0, 1, 12345)]


def solver_objects() -> list[wp.Result]:
    anytime, corrective = wp.solvers.Anytime(m=3, order=2), wp.solvers.Corrective(m=5)
    return [solve("birkhoff", anytime, 10), solve("birkhoff", corrective, 10)]


CASES: dict[str, Case] = {
    title(method, pair, **options): partial(solve, pair, method, **options)
    for method, pairs, options in RUNS
    for pair in pairs.split()
} | {
    "away simplex from a start": from_a_start,
    "corrective birkhoff from a vertex": from_a_vertex,
    "anytime birkhoff with three seeds": seeds,
    "methods given as solver objects": solver_objects,
}
