"""Is a certificate ever wrong? Random runs compared with minima that are known exactly.

    python benchmarks/certificates.py [--runs 100000] [--seed 0] [--fuzz rational analytic half]
    python benchmarks/certificates.py --page docs/benchmarks/certificates.md
    python benchmarks/certificates.py --fuzz rational --only 41

The problems are those of `tests/fuzz`: quadratics over polytopes near to the origin and
far from it, with minima in rational arithmetic, and ten sets times six kinds of functions whose
minimiser was chosen first. Every line of a violation names its run; --only repeats that run and
shows the data. The exit status is 1 if there is a violation.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fuzz.runs import FUZZES, Run, Tally, runs, tally

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


def report(parts: dict[str, dict[str, Tally]]) -> str:
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
    parser.add_argument("--fuzz", nargs="*", choices=list(FUZZES), default=["rational", "analytic"])
    parser.add_argument("--only", type=int, help="repeat one run and show its data")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    violations = 0
    for name in options.fuzz:
        make = FUZZES[name]()
        if options.only is not None:
            for run in runs(make, options.seed, range(options.only, options.only + 1)):
                show(run)
            continue
        began, found = time.perf_counter(), runs(make, options.seed, range(options.runs))
        parts = tally(found, lambda run, name=name: print(f"{name}: {run}", flush=True))
        seconds = time.perf_counter() - began
        violations += sum(area.violations for area in parts["method"].values())
        text = f"{report(parts)}\n\n{options.runs:,} runs in {seconds:,.0f} seconds. {origin()}"
        Console(width=150).print(Markdown(f"# {name}\n\n{text}"))
        if options.page is not None:
            insert(options.page, name, text)
    return int(violations > 0)


if __name__ == "__main__":
    sys.exit(main())
