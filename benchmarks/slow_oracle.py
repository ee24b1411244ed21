"""A slow oracle on one and on two processes: an integer program of some 50 ms.

    python benchmarks/slow_oracle.py [--repeats 3] [--limit SECONDS] [--page FILE]

The set is the hull of the assignments of 15 jobs to three agents of limited capacity, known through
a MILP solver alone; the problem is to come closest to a given point. Every method runs to a
certified gap of 1e-6, or to the limit. Runs take turns; seconds are medians, without the start of
the processes. One BLAS thread, and each worker answers one question at a time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown
from threadpoolctl import threadpool_limits

import wolfpack as wp

JOBS, AGENTS, TOL = 15, 3, 1e-6
HEADINGS = ("method", "workers", "rounds", "integer programs", "seconds", "gap")


def generalised_assignment(seed: int = 6) -> tuple[Any, Any]:
    """Return the objective and the set."""
    rng = np.random.default_rng(seed)
    work = rng.integers(5, 25, (AGENTS, JOBS)).astype(float)
    capacity = np.kron(np.eye(AGENTS), np.ones(JOBS)) * work.reshape(-1)
    once = np.tile(np.eye(JOBS), AGENTS)
    room = np.floor(1.1 * work.sum(axis=1) / AGENTS)
    K = wp.sets.MixedInteger(capacity, room, once, np.ones(JOBS), bounds=(0, 1))
    target = rng.random(K.shape)
    return wp.objectives.Quadratic(1.0, -target, 0.5 * float(target @ target)), K


def contestants() -> list[tuple[str, int, dict[str, Any]]]:
    """Return names, workers and settings."""
    found: list[tuple[str, int, dict[str, Any]]] = [
        (f"corrective, m={m}", workers, {"method": "corrective", "m": m, "engine": engine})
        for m in (2, 4, 8, 16)
        for workers, engine in ((1, "processes:1"), (2, "processes:2"))
    ]
    found += [("corrective, m=1", 1, {"method": "corrective", "m": 1})]
    found += [("fcfw", 1, {"method": "fcfw"})]
    found += [("bpcg, lazy", 1, {"method": "bpcg", "lazy": True}), ("bpcg", 1, {"method": "bpcg"})]
    return found


def measure(repeats: int, limit: float) -> list[list[str]]:
    """Return the rows of the table."""
    runs: dict[tuple[str, int], list[Any]] = {}
    for turn in range(repeats):
        for name, workers, settings in contestants():
            earlier = runs.setdefault((name, workers), [])
            if turn and not earlier[0].success:
                continue
            f, K = generalised_assignment()
            run = {"tol": TOL, "max_seconds": limit, "progress": False} | settings
            earlier.append(wp.minimize(f, K, **run))
    return [_row(name, workers, found) for (name, workers), found in runs.items()]


def _row(name: str, workers: int, found: list[Any]) -> list[str]:
    first = found[0]
    seconds = median(float(res.history["seconds"][-1]) for res in found)
    counts = [str(workers), f"{first.nit:,}", f"{first.nlmo:,}"]
    return [name, *counts, f"{'' if first.success else '> '}{seconds:.2f}", f"{first.gap:.0e}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--page", type=Path, help="also write the table into this page")
    options = parser.parse_args()
    with threadpool_limits(1):
        text = table(HEADINGS, measure(options.repeats, options.limit))
    Console(width=100).print(Markdown(text))
    if options.page is not None:
        insert(options.page, "slow oracle", f"{text}\n\n{origin()}")


if __name__ == "__main__":
    main()
