"""A slow oracle on one and on two processes: an integer program of some 50 ms.

    python benchmarks/slow_oracle.py [--repeats 3] [--limit SECONDS] [--page FILE]

The set is the hull of the assignments of 22 jobs to three agents of limited capacity, known through
a MILP solver alone; the problem is to come closest to a given point. Every method runs to a
certified gap of 1e-6, or to the limit. Runs take turns, and seconds are the best of the repeats;
starting the processes is not among them. One BLAS thread, and each process answers one question at
a time. "Busy" is the share of the two processes' time that went into programs.
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

JOBS, AGENTS, TOL = 22, 3, 1e-6
HEADINGS = ("method", "rounds", "integer programs", "ms each", "gap")
HEADINGS += ("seconds, one process", "two processes", "ratio", "busy")


def generalised_assignment(seed: int = 7) -> tuple[Any, Any]:
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
    **{f"corrective, m={m}": {"method": "corrective", "m": m} for m in (2, 8, 16, 32, 48)},
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
    best = [min(column, key=lambda res: res.solver_seconds) for column in zip(*found, strict=True)]
    # starting the workers is not what is compared
    one, seconds = best[0], [res.solver_seconds for res in best]
    cells = [f"{'' if one.success else '> '}{value:.2f}" for value in seconds]
    each, pair = "", ["", "", ""]
    if len(best) == 2:
        times = 1e3 * _times(one)[one.engine.timeline["round"] > 0]
        each = f"{times.mean():.0f} ± {times.std():.0f}"
        busy = _times(best[1]).sum() / (2 * seconds[1])
        pair = [cells[1], f"{seconds[0] / seconds[1]:.2f}", f"{busy:.0%}"]
    counts = f"{one.nit:,}", f"{one.nlmo:,}", each, f"{one.gap:.0e}"
    return [name, *counts, cells[0], *pair]


def _times(res: Any) -> np.ndarray:
    """Return the seconds that each message took, which is a program but for the first round."""
    line = res.engine.timeline
    return line["end_s"] - line["begin_s"]


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
