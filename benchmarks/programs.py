"""Whole calls on quadratic programs of Maros and Meszaros's kind, beside PIQP and Clarabel.

    pip install piqp
    OMP_NUM_THREADS=1 python benchmarks/programs.py --page docs/benchmarks/rivals.md

A time is the processor time of a whole call from the matrices to the point: here with the set, the
objective, the start and the certificate; elsewhere with the set-up of the solver. Calls take turns,
and the smallest time counts. Points of the others are certified here, with the clock stopped: by
one gradient and one call of the linear program's oracle, after they were moved into the set.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
import piqp
from pages import insert, origin, table
from rounds import QPS
from scipy import sparse
from scipy.optimize import nnls

import wolfpack as wp
from wolfpack.problem import Problem, QuadraticForm
from wolfpack.solvers.parts.interior_point import program_of, solve

TOL = 1e-6
Call = Callable[[], np.ndarray]


def calls_of(name: str) -> tuple[dict[str, Call], Callable[[np.ndarray], float]]:
    """Return the calls for a program, and what certifies a point."""
    Q, c, given = QPS[name]()
    K, f = wp.sets.LinearProgram(**given), wp.objectives.Quadratic(Q, c)

    def minimize(**options: Any) -> np.ndarray:
        f, K = wp.objectives.Quadratic(Q, c), wp.sets.LinearProgram(**given)
        return wp.minimize(f, K, rtol=TOL, tol=0, **options).x

    def by_piqp() -> np.ndarray:
        low, high = bounds(given.get("bounds", (0, None)), len(c))
        solver = piqp.SparseSolver()
        solver.settings.verbose = False
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
        A, b = given.get("A_eq"), given.get("b_eq")
        G, h = given.get("A_ub"), given.get("b_ub")
        A, G = (None if M is None else sparse.csc_matrix(M) for M in (A, G))
        h = None if h is None else np.asarray(h, float)
        free = None if h is None else np.full(len(h), -np.inf)
        solver.setup(sparse.csc_matrix(Q), c, A, b, G, free, h, low, high)
        solver.solve()
        return solver.result.x

    def by_clarabel() -> np.ndarray:
        z = solve(program_of(QuadraticForm(P=Q, q=c), K.polyhedron()), 1e-9)
        assert z is not None
        return z

    def gap(x: np.ndarray) -> float:
        x = K.polyhedron().round(x) if K.violation(x) > 0 else x
        at = f.evaluate(x)
        bound = Problem(f, K).dual_bound(at.gradient, at.dual, K.lmo(at.gradient))
        return (at.value - bound) / max(1e-300, abs(at.value))

    calls: dict[str, Call] = {
        "auto": minimize,
        "conic": lambda: minimize(method="conic"),
        "PIQP": by_piqp,
        "Clarabel": by_clarabel,
    }
    return calls, gap


def bounds(given: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of `LinearProgram` as two vectors."""
    pairs = given if isinstance(given, list) else [given] * n
    low = np.array([-np.inf if a is None else a for a, _ in pairs], dtype=float)
    return low, np.array([np.inf if b is None else b for _, b in pairs], dtype=float)


def timed(calls: dict[str, Call], repeats: int) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Return the smallest processor time of each call, in seconds, and its point."""
    times, points = dict.fromkeys(calls, np.inf), {}
    for _ in range(repeats):
        for name, call in calls.items():
            began = time.process_time()
            points[name] = call()
            times[name] = min(times[name], time.process_time() - began)
    return times, points


def programs(repeats: int) -> str:
    lines = []
    for problem in QPS:
        calls, gap = calls_of(problem)
        times, points = timed(calls, repeats)
        cells = [f"{1e3 * times[name]:.2g} ms, {max(gap(points[name]), 0):.0e}" for name in calls]
        lines.append([problem, *cells])
        print(*lines[-1], sep=" | ", flush=True)
    return table(["program", "auto", "`conic`", "PIQP", "Clarabel alone"], lines)


def small_squares(repeats: int) -> str:
    """Compare 200 small least squares over simplices, one by one and all at once."""
    rng, lines = np.random.default_rng(0), []
    for m, n in ((20, 10), (60, 40), (100, 200)):
        A, b = rng.standard_normal((200, m, n)), rng.standard_normal((200, m))
        K = wp.sets.Simplex(n)

        def alone(method: str, A: Any = A, b: Any = b, K: Any = K) -> np.ndarray:
            pairs = (wp.objectives.LeastSquares(*pair) for pair in zip(A, b, strict=True))
            return np.array([wp.minimize(f, K, method=method, progress=False).x for f in pairs])

        def heavy(A: Any = A, b: Any = b) -> np.ndarray:
            unit = 1e4 * abs(A).max()
            rows = np.concatenate([A, np.full((len(A), 1, A.shape[2]), unit)], axis=1)
            found = [nnls(E, np.append(r, unit))[0] for E, r in zip(rows, b, strict=True)]
            return np.array([x / x.sum() for x in found])

        times, points = timed(
            {"auto": lambda: alone("auto"), "projected": lambda: alone("projected"), "nnls": heavy},
            max(2, repeats // 3),
        )
        assert abs(points["auto"] - points["nnls"]).max() < 1e-4
        lines.append([f"{m} x {n}", *(f"{1e3 * t / 200:.2g} ms" for t in times.values())])
        print(*lines[-1], sep=" | ", flush=True)
    return table(["rows and shares", "auto", '`"projected"`', "SciPy `nnls` alone"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    first, second = programs(options.repeats), small_squares(options.repeats)
    if options.page is not None:
        versions = f"piqp {version('piqp')}, clarabel {clarabel.__version__}"
        insert(options.page, "programs", f"{first}\n\n{second}\n\n{versions}. {origin()}")


if __name__ == "__main__":
    main()
