"""Compare `minimize(f, K)` with the best of all methods in hindsight, and with other libraries.

    python benchmarks/auto.py [--only WORD ...] [--seconds 3] [--out auto-out.json]
    python benchmarks/auto.py --only --page docs/benchmarks/auto.md

Every problem of `auto_problems` and `auto_unseen` is solved by the default call, by every method by
name, and by the peers of `auto_peers` that apply, each to a certified gap of 1e-6 of what can be
gained at the start. A time is the processor time of a whole call, preparation and certificates
included. The default call and its best rivals are called in turn a few times more, so that what
else the machine does is the same for all of them; the smallest time of each counts.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import auto_unseen  # noqa: F401  (registers its problems)
import numpy as np
from auto_peers import DIRECT, peers
from auto_problems import all_problems
from pages import insert, table

import wolfpack as wp
from wolfpack.objectives import Objective
from wolfpack.problem import Problem
from wolfpack.sets import Set

METHODS: dict[str, dict[str, Any]] = {
    "projected": {},
    "corrective": {},
    "corrective 8": {"m": 8},
    "corrective 16": {"m": 16},
    "fcfw": {},
    "bpcg": {},
    "bpcg lazy": {"lazy": True},
    "pairwise": {},
    "away": {},
    "anytime": {},
    "anytime exact": {"m": "exact"},
    "conjugate": {},
    "biconjugate": {},
    "fw-ls": {},
    "momentum": {},
    "conic": {},
    "nnls": {},
}
REPEATS, MOST = 6, 40
"""Times that the best calls are made again, at least and at most."""

SPENT = 0.04
"""Seconds of the default call that are worth more repetitions: short calls are easily disturbed."""

LONG = 0.3
"""Calls that take more seconds are not repeated."""

Call = Callable[[float], tuple[float, str]]
"""Takes a limit in seconds; returns the processor time, infinite for a miss, and what was done."""

Found = dict[str, tuple[float, str]]
"""What calls have returned, by name."""


def method_call(f: Objective, K: Set, name: str, tol: float) -> Call:
    """Return the call of a method, or of "auto"."""
    options = METHODS.get(name, {})

    def call(limit: float) -> tuple[float, str]:
        began = time.process_time()
        try:
            method = name.split()[0]
            res = wp.minimize(
                f, K, method=method, tol=tol, max_seconds=limit, progress=False, **options
            )
        except Exception as error:  # a method that fails counts as one that never arrives
            return math.inf, str(error)
        took = time.process_time() - began
        done = str(res.plan) if "plan" in res else f"{res.nit} rounds"
        return (took if res.gap <= tol else math.inf), done

    return call


def peer_call(f: Objective, K: Set, name: str, tol: float) -> Call:
    """Return the call of a peer."""
    peer = peers(f, K)[name]

    def call(limit: float) -> tuple[float, str]:
        steps, deadline = (DIRECT if name in ("Clarabel", "SciPy nnls") else 8), limit
        while True:
            began = time.process_time()
            try:
                x = peer(steps)
            except Exception as error:
                return math.inf, str(error)
            gap = certified_gap(f, K, x)
            took = time.process_time() - began
            if gap <= tol:
                return took, f"{steps} iterations"
            deadline -= took
            if steps == DIRECT or deadline <= 0:
                return math.inf, f"gap {gap:.1e} after {steps} iterations"
            steps *= 2

    return call


def certified_gap(f: Objective, K: Set, x: np.ndarray) -> float:
    """Return the gap that one gradient and one oracle call prove, infinite outside K."""
    if not K.violation(x) <= 1e-8 * max(1.0, K.radius):
        return math.inf
    problem = Problem(f, K)
    at = problem.evaluate(x)
    return at.value - problem.dual_bound(at.gradient, at.dual, K.lmo(at.gradient))


def scale(f: Objective, K: Set) -> float:
    """Return what can be gained at the start: f(x0) less the best bound of a short run."""
    bounds = []
    for method in ("projected", "corrective"):
        try:
            res = wp.minimize(f, K, method=method, tol=0, rtol=1e-9, max_seconds=1, progress=False)
        except Exception:  # the other method will tell
            continue
        bounds.append((res.lower_bound, res.history["fun"][0]))
    bound, first = max(bounds)
    return first - bound if math.isfinite(first - bound) else 1.0


def measured(f: Objective, K: Set, seconds: float, known: Found | None) -> Found:
    """Return what every call takes on a problem; ``known`` are numbers of an earlier run."""
    tol = 1e-6 * scale(f, K)
    calls = {name: method_call(f, K, name, tol) for name in ("auto", *METHODS)}
    calls |= {name: peer_call(f, K, name, tol) for name in peers(f, K)}
    found = known or each_once(calls, seconds)
    ours = sorted(METHODS, key=lambda name: found[name][0])[:3]
    theirs = sorted(set(found) - set(METHODS) - {"auto"}, key=lambda name: found[name][0])[:2]
    order = ["auto", *ours, *theirs]
    # who comes after a call of other code finds cold caches, so that each comes after each other
    turns = int(min(max(REPEATS, SPENT / found["auto"][0]), MOST)) if found["auto"][0] < LONG else 1
    for turn in range(turns):
        for name in order[turn % len(order) :] + order[: turn % len(order)]:
            if math.isfinite(found[name][0]) or name == "auto":
                found[name] = min(tuple(found[name]), calls[name](10.0 * seconds))
    return found


def each_once(calls: dict[str, Call], seconds: float) -> Found:
    """Return what every call takes when it is made once."""
    found: Found = {}
    best = math.inf
    for name, call in calls.items():
        limit = seconds if name == "auto" else min(seconds, max(0.3, 8.0 * best))
        found[name] = call(limit)
        best = min(best, found[name][0])
    return found


def factors(rows: dict[str, Any], rivals: Callable[[str], bool]) -> dict[str, float]:
    """Return the time of auto over that of the best rival, or of itself, for each problem."""
    out = {}
    for problem, row in rows.items():
        best = min(time for name, (time, _) in row.items() if name == "auto" or rivals(name))
        if math.isfinite(best) and any(
            rivals(name) and math.isfinite(row[name][0]) for name in row
        ):
            out[problem] = row["auto"][0] / best
    return out


def ours(name: str) -> bool:
    return name in METHODS


def theirs(name: str) -> bool:
    return name not in METHODS and name != "auto"


def summary(found: dict[str, float], levels: tuple[float, ...]) -> str:
    """Return the distribution of factors in words."""
    values = np.array(list(found.values()))
    shares = ", ".join(f"at most {level:g} on {np.mean(values <= level):.0%}" for level in levels)
    middle, worst = np.median(values), values.max()
    return f"{len(values)} problems: median {middle:.2f}, {shares}; {worst:.1f} at worst."


def milliseconds(seconds: float) -> str:
    return "–" if math.isinf(seconds) else f"{1e3 * seconds:.3g}"


def tables(rows: dict[str, Any]) -> str:
    """Return the table of all problems, the worst first."""
    inside, outside = factors(rows, ours), factors(rows, theirs)
    lines = []
    for problem in sorted(rows, key=lambda name: -inside.get(name, 0.0)):
        row = rows[problem]
        best = min((name for name in row if ours(name)), key=lambda name: row[name][0])
        peer = min((n for n in row if theirs(n)), key=lambda name: row[name][0], default=None)
        known = peer is not None and math.isfinite(row[peer][0])
        lines.append(
            [
                problem,
                milliseconds(row["auto"][0]),
                f"{best}, {milliseconds(row[best][0])}",
                f"{inside[problem]:.2g}" if problem in inside else "–",
                f"{peer}, {milliseconds(row[peer][0])}" if known else "–",
                f"{outside[problem]:.2g}" if problem in outside else "–",
            ]
        )
    heads = ["problem", "auto, ms", "best method, ms", "factor", "best peer, ms", "factor"]
    return table(heads, lines)


def figure(rows: dict[str, Any], path: Path) -> None:
    """Draw the distributions of both factors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(4.0, 3.0), dpi=200)
    for found, label in (
        (factors(rows, ours), "best method here"),
        (factors(rows, theirs), "best peer"),
    ):
        values = np.sort(list(found.values()))
        share = np.arange(1, len(values) + 1) / len(values)
        axes.step(values, 100 * share, where="post", label=f"over the {label}", linewidth=2)
    axes.axvline(2.0, color="0.7", linewidth=1, zorder=0)
    axes.set_xscale("log")
    ticks = [1, 2, 4, 10, 30]
    axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0.95, 40)
    axes.set_ylim(0, 101)
    axes.set_xlabel("time of auto, as a multiple")
    axes.set_ylabel("% of problems")
    axes.legend(frameon=False, loc="lower right")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    fig.tight_layout()
    fig.savefig(path)


def write(rows: dict[str, Any], page: Path) -> None:
    """Write figure, summary and table into the page."""
    figure(rows, page.parent.parent / "assets" / "auto.png")
    lines = [
        f"- Over the best of all methods here: {summary(factors(rows, ours), (2.0, 4.0))}",
        f"- Over the best peer: {summary(factors(rows, theirs), (2.0, 10.0))}",
    ]
    insert(page, "summary", "\n".join(lines))
    made = f"`python benchmarks/auto.py`, {datetime.now(UTC).date().isoformat()}."
    insert(page, "table", f"{tables(rows)}\n\n{made}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", help="problems whose name contains one of these words")
    parser.add_argument("--seconds", type=float, default=3.0, help="limit of a call")
    parser.add_argument(
        "--again", action="store_true", help="call the best of the numbers in --out again"
    )
    parser.add_argument("--out", type=Path, default=Path("auto-out.json"), help="all numbers")
    parser.add_argument("--page", type=Path, help="write figure and tables into this page")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = json.loads(options.out.read_text()) if options.out.exists() else {}
    words = [""] if options.only is None else options.only
    for problem, (f, K) in all_problems(words):
        known = rows.get(problem) if options.again else None
        row = rows[problem] = measured(f, K, options.seconds, known)
        options.out.write_text(json.dumps(rows, indent=1))
        best = min((name for name in row if name != "auto"), key=lambda name: row[name][0])
        times = f"{milliseconds(row['auto'][0])} ms, {best} {milliseconds(row[best][0])} ms"
        inside = factors({problem: row}, ours).get(problem, math.nan)
        print(f"{problem:30} {inside:6.2f}  auto {times}  [{row['auto'][1]}]", flush=True)
    for rivals, levels in ((ours, (2.0, 4.0)), (theirs, (2.0, 10.0))):
        found = factors(rows, rivals)
        if found:
            print(summary(found, levels))
    if options.page is not None:
        write(rows, options.page)


if __name__ == "__main__":
    main()
