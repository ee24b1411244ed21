"""The problems on which methods are compared: one for each class, seeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import objectives, sets
from ..paper import instances


@dataclass
class Case:
    """A problem, with its data (arrays and numbers) for libraries that do not take our objects.

    The attributes of ``K`` depend on the case, so its type is not stated.
    """

    title: str
    f: objectives.Objective
    K: Any
    data: dict[str, Any]


def nearest(title: str, K: sets.Set, target: np.ndarray, **data: Any) -> Case:
    """Return the projection of ``target`` onto K."""
    f = objectives.Quadratic(1.0, -target, 0.5 * float(np.vdot(target, target)))
    return Case(title, f, K, {"target": target} | data)


def least_squares(title: str, f: objectives.Objective, K: sets.Set) -> Case:
    """Return the least-squares problem over K."""
    assert isinstance(f, objectives.LeastSquares)
    return Case(title, f, K, {"A": f.A, "b": f.b})


def simplex_sparse() -> Case:
    paper = instances.simplex(42)
    return least_squares("simplex, the paper's 200 x 50", paper.f, paper.K)


def simplex_dense() -> Case:
    t = np.random.default_rng(0).random(10_000)
    return nearest("simplex, dense solution, d = 10,000", sets.Simplex(10_000), 1.5 * t / t.sum())


def l1_logistic() -> Case:
    rng = np.random.default_rng(1)
    A, x = rng.standard_normal((200, 500)), np.zeros(500)
    x[:20] = rng.standard_normal(20)
    labels = np.where(A @ x + 0.5 * rng.standard_normal(200) > 0, 1.0, -1.0)
    f = objectives.Logistic(A, labels, reduction="sum")
    data = {"A": A, "labels": labels, "radius": 5.0}
    return Case("l1 ball, logistic 200 x 500", f, sets.L1Ball(500, 5.0), data)


def birkhoff() -> Case:
    return nearest("Birkhoff n = 30", sets.Birkhoff(30), np.random.default_rng(0).random((30, 30)))


def dag_flow() -> Case:
    n = 30
    right = [(i * n + j, i * n + j + 1) for i in range(n) for j in range(n - 1)]
    down = [(i * n + j, i * n + n + j) for i in range(n - 1) for j in range(n)]
    K = sets.DagFlow(right + down, 0, n * n - 1)
    t = 0.3 * np.random.default_rng(5).random(K.shape)
    return nearest("paths in a 30 x 30 grid", K, t, edges=right + down, nodes=n * n)


def spectrahedron() -> Case:
    rng = np.random.default_rng(3)
    B, noise = rng.standard_normal((60, 10)), rng.standard_normal((60, 60))
    t = B @ B.T / 60 + 0.02 * (noise + noise.T)
    return nearest("spectrahedron n = 60", sets.Spectrahedron(60), t)


def trace_ball() -> Case:
    paper = instances.trace_ball(43)
    return least_squares("trace ball, the paper's 10 x 8", paper.f, paper.K)


def k_sparse() -> Case:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((100, 300))
    b = A @ (np.arange(300) < 10) + rng.standard_normal(100)
    f = objectives.LeastSquares(A, b)
    return least_squares("k-sparse polytope, 100 x 300, k = 10", f, sets.KSparse(300, 10))


def milp() -> Case:
    """The hull of the 0/1 points of two knapsacks, known through a MILP solver alone."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(5, 40, (2, 16)).astype(float)
    K = sets.MixedInteger(A_ub=sizes, b_ub=0.4 * sizes.sum(axis=1), bounds=(0, 1))
    return nearest("hull of a MILP, 16 variables", K, rng.random(16))


_CASES = [simplex_sparse, simplex_dense, l1_logistic, birkhoff, dag_flow, spectrahedron]
_CASES += [trace_ball, k_sparse, milp]
CASES: dict[str, Callable[[], Case]] = {make.__name__.replace("_", "-"): make for make in _CASES}
