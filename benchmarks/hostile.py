"""What becomes of hostile inputs, by area.

Run ``python benchmarks/hostile.py --runs 200000``. Every public callable gets values that nobody
should pass, one argument at a time and several at once; problem files, data files, checkpoints and
results are damaged; the command line gets full and closed streams and Ctrl-C. The generators are
those of ``tests/hostile``. Children run the inputs, so that a crash or a hang costs one of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import pages
from rich.console import Console
from rich.progress import track

from hostile import areas
from hostile.judge import Outcome
from wolfpack.report.machine import SYSTEM, processor, versions

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks" / "hostile.md"
HEADINGS = {
    "refused": Outcome.REFUSED,
    "ran": Outcome.RAN,
    "raw errors": Outcome.RAW,
    "crashes": Outcome.CRASH,
    "hangs": Outcome.HANG,
    "false claims": Outcome.FALSE,
}


def main() -> None:
    """Run the inputs, print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000, help="inputs in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, default=PAGE, help="page whose table is written")
    options = parser.parse_args()
    console, tally, began = Console(), areas.Tally(), time.perf_counter()
    everything = areas.run_all(options.runs, options.seed)
    for area, given, verdict in track(everything, total=options.runs, console=console):
        tally.add(area, given, verdict)
    minutes = (time.perf_counter() - began) / 60.0
    for line in tally.bad:
        console.print(ascii(line), markup=False, highlight=False)
    table = _table(tally)
    console.print(table, markup=False)
    facts = {"processor": processor(), "cores": str(os.cpu_count()), "system": SYSTEM}
    facts |= versions(("numpy", "scipy", "scikit-learn"))
    how = f"{pages.origin()} It took {minutes:.0f} minutes. {pages.where(facts)}."
    pages.insert(options.page, "hostile", f"{table}\n\n{how}")


def _table(tally: areas.Tally) -> str:
    """Return the outcomes by area, with a last line for all."""
    rows = [
        [area, *(f"{n:,}" for n in (counts.total(), *(counts[o] for o in HEADINGS.values())))]
        for area, counts in tally.counts.items()
    ]
    totals = [sum(c[o] for c in tally.counts.values()) for o in HEADINGS.values()]
    rows.append([f"**{cell}**" for cell in ("all", *(f"{n:,}" for n in (sum(totals), *totals)))])
    return pages.table(["area", "tried", *HEADINGS], rows)


if __name__ == "__main__":
    main()
