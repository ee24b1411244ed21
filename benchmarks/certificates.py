"""Is a certificate ever wrong? Random runs compared with minima that are known exactly.

    python benchmarks/certificates.py [--runs 100000] [--seed 0] [--fuzz rational analytic half]
    python benchmarks/certificates.py --workers 16 --page docs/benchmarks/certificates.md
    python benchmarks/certificates.py --fuzz rational --only 41

The problems are those of `tests/fuzz`: quadratics over polytopes near to the origin and
far from it, with minima in rational arithmetic, and many sets times nine kinds of functions whose
minimiser was chosen first. The tables are the same for any number of workers. Every line of a
violation names its run; --only repeats that run and shows the data. The exit status is 1 if there
is a violation.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fuzz.runs import FUZZES, RUNS_PER_PROBLEM, Run, Tables, Tally, join, runs, tally

CHUNK = 50 * RUNS_PER_PROBLEM
"""Runs that one process makes at a time."""

HEADINGS = ["", "runs", "violations", "largest error / gap", "how the runs ended"]


def rows(part: dict[str, Tally]) -> list[list[str]]:
    """Return one row of a table per area."""
    return [
        [
            name,
            f"{found.runs:,}",
            f"{found.violations:,}",
            f"{found.ratio:.3g}",
            ", ".join(f"{status} {n:,}" for status, n in found.statuses.most_common()),
        ]
        for name, found in sorted(part.items())
    ]


def chunk(name: str, seed: int, indices: range) -> tuple[Tables, list[str]]:
    """Return the tables of some runs, and a line for every violation."""
    lines: list[str] = []
    found = runs(FUZZES[name](), seed, indices)
    return tally(found, lambda run: lines.append(f"{name}: {run}")), lines


def chunks(name: str, seed: int, count: int, workers: int) -> Iterator[Tables]:
    """Make the runs in some processes, yield their tables in order, and print violations."""
    ranges = [range(i, min(i + CHUNK, count)) for i in range(0, count, CHUNK)]
    make = partial(chunk, name, seed)
    # A fresh process reads the variable that leaves the other cores to the other workers.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for part, lines in pool.map(make, ranges) if workers > 1 else map(make, ranges):
            print(*lines, sep="\n", end="\n" * bool(lines), flush=True)
            yield part


def report(parts: Tables) -> str:
    """Return the tables by function, by set and by method."""
    return "\n\n".join(
        table([f"by {name}", *HEADINGS[1:]], rows(part)) for name, part in parts.items()
    )


def show(run: Run) -> None:
    """Print a run with all its data."""
    print(run)
    print("f:", run.problem.f, getattr(run.problem.f, "__dict__", ""))
    print("K:", run.problem.K, run.problem.K.__dict__)
    print("settings:", run.settings)
    print("minimum:", float(run.problem.least), run.problem.least)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="runs of each fuzz")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes that share the runs")
    parser.add_argument("--fuzz", nargs="*", choices=list(FUZZES), default=["rational", "analytic"])
    parser.add_argument("--only", type=int, help="repeat one run and show its data")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    violations = 0
    for name in options.fuzz:
        if options.only is not None:
            only = range(options.only, options.only + 1)
            for run in runs(FUZZES[name](), options.seed, only):
                show(run)
            continue
        began = time.perf_counter()
        parts = join(chunks(name, options.seed, options.runs, options.workers))
        seconds = time.perf_counter() - began
        violations += sum(area.violations for area in parts["method"].values())
        text = f"{report(parts)}\n\n{options.runs:,} runs in {seconds:,.0f} seconds. {origin()}"
        Console(width=150).print(Markdown(f"# {name}\n\n{text}"))
        if options.page is not None:
            insert(options.page, name, text)
    return int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
