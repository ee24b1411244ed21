"""Seconds and memory to complete a matrix of low rank over a trace-norm ball.

    python benchmarks/completion.py [--size 300] [--large] [--limit SECONDS] [--page FILE]

A matrix of rank 10 with noise, of which 20% of 300 x 300 entries are observed, or with --large 2%
of 2,000 x 2,000. The radius is 0.8 times the true trace norm: the ball binds and the solution has
low rank. Every method runs to a certified gap of 1e-3 f(0), with one BLAS thread, or to the limit.
The tables of docs/benchmarks/rivals.md come from this script.
"""

from __future__ import annotations

import argparse
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown
from threadpoolctl import threadpool_limits

import wolfpack as wp
from wolfpack.arrays import LowRank

RANK, NOISE, SHRINK, ACCURACY = 10, 0.1, 0.8, 1e-3


def completion(n: int, share: float, seed: int = 0) -> tuple[Any, Any]:
    """Return the objective and the set."""
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((n, RANK)), rng.standard_normal((n, RANK))
    at = rng.choice(n * n, int(share * n * n), replace=False)
    rows, columns = at // n, at % n
    values = np.einsum("ij,ij->i", U[rows], V[columns]) / np.sqrt(RANK)
    values += NOISE * rng.standard_normal(len(at))
    small = np.linalg.qr(U)[1] @ np.linalg.qr(V)[1].T / np.sqrt(RANK)
    norm = np.linalg.svd(small, compute_uv=False).sum()
    f = wp.objectives.MatrixCompletion(rows, columns, values, (n, n))
    return f, wp.sets.TraceNormBall((n, n), SHRINK * norm)


def measure(n: int, share: float, limit: float, method: dict[str, Any]) -> dict[str, Any]:
    """Return what one run takes; to be called in a process of its own, for its memory."""
    f, K = completion(n, share)
    f0 = 0.5 * float(f.values @ f.values)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with threadpool_limits(1):
        res = wp.minimize(f, K, tol=ACCURACY * f0, max_seconds=limit, **method)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    x = res.x
    rank = x.rank if isinstance(x, LowRank) else np.linalg.matrix_rank(x, tol=1e-6 * K.radius)
    return {
        "method": method["method"] + "".join(f", m={m}" for m in [method.get("m")] if m),
        "rounds": res.nit,
        "gradients": res.njev,
        "gap": res.gap / f0,
        "seconds": res.seconds,
        "rank": int(rank),
        "memory": (after - before) / 1024,
        "reached": res.success,
    }


def cells(row: dict[str, Any]) -> list[str]:
    """Return a row of the table."""
    seconds = f"{row['seconds']:.2f}" if row["reached"] else f"> {row['seconds']:.0f}"
    numbers = [row["rounds"], row["gradients"], f"{row['gap']:.1e}", row["rank"], seconds]
    return [row["method"], *map(str, numbers), f"{row['memory']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=300)
    parser.add_argument("--large", action="store_true", help="2,000 x 2,000 with 2%% observed")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--page", type=Path, help="also write the table into this page")
    options = parser.parse_args()
    n, share = (2000, 0.02) if options.large else (options.size, 0.2)
    methods: list[dict[str, Any]] = [{"method": "corrective", "m": m} for m in (8, 1)]
    if not options.large:
        names = ("projected", "fw", "fw-ls", "away", "pairwise", "bpcg", "fcfw")
        methods += [{"method": name} for name in names]
    rows = []
    for method in methods:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            rows.append(pool.submit(measure, n, share, options.limit, method).result())
    headings = ("method", "rounds", "gradients", "gap / f(0)", "rank", "seconds", "memory, MB")
    text = table(headings, [cells(row) for row in rows])
    title = f"{n:,} x {n:,}, {share:.0%} observed, to a gap of {ACCURACY:g} f(0)"
    Console(width=110).print(Markdown(f"# {title}\n\n{text}"))
    if options.page is not None:
        name = "completion large" if options.large else "completion"
        insert(options.page, name, f"{title}:\n\n{text}\n\n{origin()}")


if __name__ == "__main__":
    main()
