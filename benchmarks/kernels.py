"""What would a compiled kernel of our own win? Numba beside the library and NumPy, in one run.

    pip install numba
    OMP_NUM_THREADS=1 python benchmarks/kernels.py

Numbers are the smallest processor times of several calls, in microseconds, after compilation.
docs/decisions/0056-no-compiled-kernels.md has what was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from rounds import bare_dense, bare_distance, distance, quadratic, round_time
from scipy.optimize import nnls

import wolfpack as wp
from wolfpack.solvers.parts.barycentric import minimize_weights


@njit
def dense_rounds(Q: Any, c: Any, x: Any, rounds: int) -> float:
    """Frank-Wolfe with its gap, as `bare_dense` in one compiled loop."""
    gap = np.inf
    for k in range(rounds):
        Qx = np.dot(Q, x)
        best, inside, value = 0, 0.0, 0.0
        for i in range(x.size):
            g = Qx[i] + c[i]
            inside += g * x[i]
            value += (0.5 * Qx[i] + c[i]) * x[i]
            if g < Qx[best] + c[best]:
                best = i
        gap = inside - (Qx[best] + c[best])
        step = 2.0 / (k + 2)
        for i in range(x.size):
            x[i] *= 1.0 - step
        x[best] += step
    return gap


@njit
def distance_rounds(c: Any, x: Any, rounds: int) -> float:
    """Make the same rounds for a squared distance, in two passes over x."""
    gap = np.inf
    for k in range(rounds):
        best, lowest, inside = 0, np.inf, 0.0
        for i in range(x.size):
            g = x[i] + c[i]
            inside += g * x[i]
            if g < lowest:
                best, lowest = i, g
        gap = inside - lowest
        step = 2.0 / (k + 2)
        for i in range(x.size):
            x[i] *= 1.0 - step
        x[best] += step
    return gap


@njit
def projected(y: Any) -> Any:
    """Project onto the unit simplex by Michelot's rule."""
    kept, size, level = y.copy(), y.size, (y.sum() - 1.0) / y.size
    while True:
        left, total = 0, 0.0
        for i in range(size):
            if kept[i] > level:
                kept[left] = kept[i]
                total += kept[i]
                left += 1
        if left == size:
            return np.maximum(y - level, 0.0)
        size, level = left, (total - 1.0) / left


def best(call: Callable[[], object], repeats: int = 20) -> float:
    """Return the smallest processor time of a call, in microseconds."""
    call()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return 1e6 * min(times)


def show(what: str, **numbers: float) -> None:
    print(what, *(f"{name} {number:,.3g}" for name, number in numbers.items()), sep=" | ")


def rounds() -> None:
    f, K = quadratic(50)
    x = np.full(50, 0.02)
    compiled = best(lambda: dense_rounds(f.Q, f.c, x, 2000)) / 2000
    ours = round_time(f, K, 4000, method="fw")
    show("fw round, d = 50", ours=ours, numpy=bare_dense(50, 2000), numba=compiled)
    f, K = distance(100_000)
    x = np.full(100_000, 1e-5)
    compiled = best(lambda: distance_rounds(f.c, x, 50)) / 50
    ours = round_time(f, K, 400, method="fw")
    show("fw round, d = 1e5", ours=ours, numpy=bare_distance(100_000, 400), numba=compiled)


def corrections() -> None:
    """Compare the active set of the corrections with a compiled one, SciPy's."""
    rng = np.random.default_rng(0)
    for rows, points in ((40, 20), (100, 100), (200, 400)):
        P = rng.standard_normal((rows, points)) + 1.0
        G, w = P.T @ P, np.full(points, 1.0 / points)
        E = np.vstack([P, np.full(points, np.sqrt(rows))])
        right = np.zeros(rows + 1)
        right[-1] = np.sqrt(rows)
        show(
            f"weights of {points} points",
            ours=best(lambda G=G, w=w: minimize_weights(G, G @ w, w, 1e-9)),
            scipy_nnls=best(lambda E=E, right=right: nnls(E, right)),
        )


def projections() -> None:
    for n in (50, 1000, 100_000):
        K, y = wp.sets.Simplex(n), np.random.default_rng(0).standard_normal(n)
        assert np.allclose(K.project(y), projected(y))
        ours, inner = best(lambda K=K, y=y: K.project(y)), best(lambda K=K, y=y: K._project(y))
        compiled = best(lambda y=y: projected(y))
        show(f"projection, n = {n}", ours=ours, unchecked=inner, numba=compiled)


def main() -> None:
    began = time.perf_counter()
    dense_rounds(np.eye(2), np.zeros(2), np.full(2, 0.5), 2)
    show("first call of one kernel, seconds", numba=time.perf_counter() - began)
    for part in (rounds, corrections, projections):
        part()


if __name__ == "__main__":
    main()
