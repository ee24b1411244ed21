"""Compare `minimize(f, K)` with the best of all methods in hindsight.

Every problem of `auto_problems` is solved by the default call and by every method by name, each to
a certified gap of 1e-6 of what can be gained at the start. A time is the processor time of the
whole call, preparation and certificates included; the smallest of a few repetitions counts.

    python benchmarks/auto.py [--only WORD] [--seconds 5] [--out table.json]
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings

import auto_unseen  # noqa: F401  (registers its problems)
import numpy as np
from auto_problems import all_problems

import wolfpack as wp

METHODS = {
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
}
SHORT = 0.2
"""Runs that take fewer seconds are repeated."""


def seconds(f, K, name: str, tol: float, limit: float) -> tuple[float, str]:
    """Return the processor time of a call, infinite where it misses the tolerance."""
    best, message = math.inf, ""
    for _ in range(3):
        began = time.process_time()
        try:
            options = METHODS.get(name, {})
            res = wp.minimize(
                f, K, method=name.split()[0], tol=tol, max_seconds=limit, progress=False, **options
            )
        except Exception as error:  # a method that fails counts as one that never arrives
            return math.inf, str(error)
        took = time.process_time() - began
        message = f"{res.status} {res.nit} {res.message}"
        if not res.gap <= tol:
            return math.inf, message
        best = min(best, took)
        if took > SHORT:
            break
    return best, message


def scale(f, K) -> float:
    """Return what can be gained at the start: f(x0) less the best bound of a short run."""
    methods = ["projected", "corrective"]
    bounds = []
    for method in methods:
        try:
            res = wp.minimize(f, K, method=method, tol=0, rtol=1e-9, max_seconds=1, progress=False)
        except Exception:  # the other method will tell
            continue
        bounds.append((res.lower_bound, res.history["fun"][0]))
    bound, first = max(bounds)
    return first - bound if math.isfinite(first - bound) else 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="problems whose name contains this word")
    parser.add_argument("--seconds", type=float, default=5.0, help="limit of a run")
    parser.add_argument("--methods", default=",".join(METHODS), help="rivals, by name")
    parser.add_argument("--out", help="JSON file for the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, factors = {}, {}
    for problem, (f, K) in all_problems(options.only):
        tol = 1e-6 * scale(f, K)
        row = {"auto": seconds(f, K, "auto", tol, options.seconds)}
        best = math.inf
        for name in options.methods.split(","):
            limit = min(options.seconds, max(0.3, 4.0 * best))
            row[name] = seconds(f, K, name, tol, limit)
            best = min(best, row[name][0])
        rows[problem] = row
        winner = min(row, key=lambda name: (row[name][0], name == "auto"))
        fastest = min(time for name, (time, _) in row.items())
        factor = row["auto"][0] / fastest if math.isfinite(fastest) else math.nan
        factors[problem] = factor
        print(
            f"{problem:30} auto {1e3 * row['auto'][0]:9.1f} ms  best {1e3 * fastest:9.1f} ms "
            f"{winner:14} factor {factor:6.1f}  [{row['auto'][1][-100:]}]",
            flush=True,
        )
    known = np.array([value for value in factors.values() if not math.isnan(value)])
    print(
        f"{len(known)} problems: median {np.median(known):.2f}, at most 2 on "
        f"{np.mean(known <= 2):.0%}, at most 4 on {np.mean(known <= 4):.0%}"
    )
    if options.out:
        with open(options.out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
