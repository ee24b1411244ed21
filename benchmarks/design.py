"""Rounds and seconds for D-optimal designs of experiments, beside CVXPY where it can.

    python benchmarks/design.py [--large] [--limit SECONDS] [--page FILE]

Candidates are random vectors, and f(x) = -log det sum_i x_i v_i v_i' over the simplex. Every method
runs to a certified gap of 1e-6 |f|, with one BLAS thread, or to the limit. CVXPY hands the problem
to Clarabel, whose answer is certified by the same code as ours, with the clock stopped. The tables
of docs/benchmarks/design.md come from this script.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown
from threadpoolctl import threadpool_limits

import wolfpack as wp

ACCURACY = 1e-6
SMALL = ((500, 5), (1000, 8), (2000, 10))
LARGE = ((100_000, 20),)
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "corrective, m=16": {"method": "corrective", "m": 16},
    "corrective": {"method": "corrective"},
    "projected": {"method": "projected"},
    "pairwise": {"method": "pairwise"},
    "bpcg": {"method": "bpcg"},
    "away": {"method": "away"},
    "fcfw": {"method": "fcfw"},
    "anytime": {"method": "anytime"},
    "fw-ls": {"method": "fw-ls"},
    "fw": {"method": "fw"},
}


def candidates(n: int, d: int) -> np.ndarray:
    """Return n random candidates in dimension d."""
    return np.random.default_rng(0).standard_normal((n, d))


def ours(n: int, d: int, options: dict[str, Any], limit: float) -> list[str]:
    """Return what a method takes: rounds, gradients, relative gap, candidates used, seconds."""
    f, K = wp.objectives.DOptimal(candidates(n, d)), wp.sets.Simplex(n)
    began = time.perf_counter()
    res = wp.minimize(f, K, tol=0, rtol=ACCURACY, max_seconds=limit, **options)
    seconds = time.perf_counter() - began
    taken = f"{seconds:.2f}" if res.success else f"> {seconds:.0f}"
    gap = f"{res.gap / abs(res.fun):.1e}"
    return [str(res.nit), str(res.njev), gap, str(int((res.x > 1e-9).sum())), taken]


def cvxpy(n: int, d: int) -> list[str]:
    """Return what CVXPY with Clarabel takes; iterations stand for rounds."""
    V = candidates(n, d)
    began = time.perf_counter()
    x = cp.Variable(n, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.log_det(V.T @ cp.diag(x) @ V)), [cp.sum(x) == 1])
    problem.solve(solver=cp.CLARABEL)
    seconds = time.perf_counter() - began
    point = np.maximum(x.value, 0.0)
    f, K = wp.objectives.DOptimal(V), wp.sets.Simplex(n)
    res = wp.minimize(f, K, point / point.sum(), method="fw", max_rounds=1)
    gap = (res.history["fun"][0] - res.history["lower_bound"][0]) / abs(res.fun)
    used, steps = int((point > 1e-7).sum()), problem.solver_stats.num_iters
    return [str(steps), "", f"{gap:.1e}", str(used), f"{seconds:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="100,000 candidates, without CVXPY")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each run")
    parser.add_argument("--page", type=Path, help="also write the tables into this page")
    options = parser.parse_args()
    headings = ("method", "rounds", "slopes and gradients", "relative gap", "candidates used")
    parts = []
    for n, d in LARGE if options.large else SMALL:
        with threadpool_limits(1):
            ours(50, d, {}, 1.0)  # imports and first calls are not timed
            rows = [[name, *ours(n, d, m, options.limit)] for name, m in METHODS.items()]
            if not options.large:
                rows.append(["CVXPY, Clarabel", *cvxpy(n, d)])
        text = table((*headings, "seconds"), rows)
        parts.append(f"{n:,} candidates in dimension {d}:\n\n{text}")
        Console(width=110).print(Markdown(parts[-1]))
    if options.page is not None:
        name = "large" if options.large else "small"
        insert(options.page, name, "\n\n".join([*parts, origin()]))


if __name__ == "__main__":
    main()
