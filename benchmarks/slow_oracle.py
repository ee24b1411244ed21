"""A slow oracle on one and on two processes: an integer program of some 20 ms.

    python benchmarks/slow_oracle.py [--repeats 3] [--limit SECONDS] [--page FILE]

The set is the hull of the assignments of 15 jobs to three agents of limited capacity, known through
a MILP solver alone; the problem is to come closest to a given point. Every method runs to a
certified gap of 1e-6, or to the limit. Runs take turns, and seconds are the best of the repeats.
One BLAS thread, and each process answers one question at a time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown
from threadpoolctl import threadpool_limits

import wolfpack as wp

JOBS, AGENTS, TOL = 15, 3, 1e-6
HEADINGS = ("method", "rounds", "integer programs", "gap")
HEADINGS += ("seconds, one process", "two processes", "ratio")


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


METHODS: dict[str, dict[str, Any]] = {
    **{f"corrective, m={m}": {"method": "corrective", "m": m} for m in (2, 8, 16, 32)},
    "corrective, m=1": {"method": "corrective", "m": 1},
    "fcfw": {"method": "fcfw"},
    "bpcg, lazy": {"method": "bpcg", "lazy": True},
    "bpcg": {"method": "bpcg"},
}


def measure(repeats: int, limit: float) -> list[list[str]]:
    """Return the rows of the table."""
    runs: dict[str, list[list[Any]]] = {name: [] for name in METHODS}
    for turn in range(repeats):
        for name, settings in METHODS.items():
            if turn and not runs[name][0][0].success:
                continue
            shared = settings.get("m", 1) > 1
            engines = ["processes:1", "processes:2"] if shared else [None]
            runs[name].append([_run(settings, engine, limit) for engine in engines])
    return [_row(name, found) for name, found in runs.items()]


def _run(settings: dict[str, Any], engine: str | None, limit: float) -> Any:
    f, K = generalised_assignment()
    run = {"tol": TOL, "max_seconds": limit, "progress": False, "engine": engine}
    return wp.minimize(f, K, **run, **settings)


def _row(name: str, found: list[list[Any]]) -> list[str]:
    first = found[0][0]
    best = [
        min(res.history["seconds"][-1] for res in column) for column in zip(*found, strict=True)
    ]
    seconds = [f"{'' if first.success else '> '}{value:.2f}" for value in best]
    pair = [*seconds, f"{best[0] / best[1]:.2f}"] if len(best) == 2 else [*seconds, "", ""]
    return [name, f"{first.nit:,}", f"{first.nlmo:,}", f"{first.gap:.0e}", *pair]


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
