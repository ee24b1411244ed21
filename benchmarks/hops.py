"""How many Python functions of the library are called in a round, and before the first one.

Calls are counted with `sys.setprofile` in this process: functions whose file is part of wolfpack.
Those of a round are the calls of a run of 2N rounds less those of N rounds, over the difference.
"All events" also counts every item that a generator expression hands out. A run begins where the
loop does, when its problem, solver and gradients are made; its first step comes after the solver's
first state and certificate. On processes the driver waits in turns, which moves figures by one.

    python benchmarks/hops.py            # the table
    python benchmarks/hops.py --trace    # and the functions of one round, in their order
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wolfpack as wp

HOME = str(Path(wp.__file__).parent)
Run = Callable[[int], Any]
STEP, LOOP = r"^solvers/.*\.step$", r"(^|/)loop(/\w+)?\.run$"
SHORT = {"corrective, m=8, Birkhoff(5)": 3}


def calls(run: Callable[[], Any]) -> list[tuple[int, str]]:
    """Return depth and name of every function of the library that a run calls, in order."""
    found: list[tuple[int, str]] = []
    depth = 0

    def watch(frame: Any, event: str, _: Any) -> None:
        nonlocal depth
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(HOME):
            return
        if event == "return":
            depth -= 1
            return
        place = code.co_filename[len(HOME) + 1 :].removesuffix(".py")
        found.append((depth, f"{place}.{code.co_qualname}"))
        depth += 1

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def composite(make: Callable[[], Any], **options: Any) -> Run:
    H = wp.regularizers.ElasticNet(0.02, 0.05)
    G = make()

    def run(rounds: int) -> Any:
        return wp.minimize_composite(G, H, tol=0.0, max_rounds=rounds, progress=False, **options)

    return run


def constrained(make: Callable[[], Any], K: Any, **options: Any) -> Run:
    f = make()

    def run(rounds: int) -> Any:
        return wp.minimize(f, K, tol=0.0, max_rounds=rounds, progress=False, **options)

    return run


def problems() -> dict[str, Run]:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 30))
    y = np.sign(A @ rng.standard_normal(30) + rng.standard_normal(300))
    b = A @ rng.standard_normal(30)
    target = rng.random((30, 30))

    def logistic() -> Any:
        return wp.objectives.Logistic(A, y)

    def squares() -> Any:
        return wp.objectives.LeastSquares(A, b)

    def quadratic() -> Any:
        return wp.objectives.Quadratic(1.0, -target)

    def small() -> Any:
        return wp.objectives.Quadratic(1.0, -target[:5, :5])

    five = wp.sets.Birkhoff(5)
    K, simplex = wp.sets.Birkhoff(30), wp.sets.Simplex(30)
    saga: dict[str, Any] = {"batch": 10, "variance_reduction": "saga"}
    return {
        "anytime, here, m=8, simplex": constrained(squares, simplex, method="anytime", m=8),
        "anytime, processes:2, m=8, simplex": constrained(
            squares, simplex, method="anytime", m=8, engine="processes:2"
        ),
        "anytime, processes:2, m=8, Birkhoff(5)": constrained(
            small, five, method="anytime", m=8, engine="processes:2"
        ),
        "corrective, m=1, Birkhoff(30)": constrained(quadratic, K, method="corrective", m=1),
        "corrective, m=8, Birkhoff(30)": constrained(quadratic, K, method="corrective", m=8),
        "corrective, m=8, Birkhoff(5)": constrained(small, five, method="corrective", m=8),
        "composite, exact": composite(logistic),
        "composite, exact, recorded once": composite(logistic, record_every=10**6),
        "composite, search": composite(logistic, beta="search"),
        "composite, search, recorded once": composite(logistic, beta="search", record_every=10**6),
        "composite, minibatches": composite(logistic, batch=10),
        "composite, minibatches, every round recorded": composite(
            logistic, batch=10, record_every=1
        ),
        "composite, SAGA": composite(logistic, **saga),
        "composite, SAGA, every round recorded": composite(logistic, record_every=1, **saga),
        "composite, SAGA, recorded once": composite(logistic, record_every=10**6, **saga),
        "composite, SAGA, batch chosen": composite(logistic, variance_reduction=True),
    }


def real(found: list[tuple[int, str]]) -> int:
    """Return the number of calls, items of generator expressions left out."""
    return sum(not name.endswith("<genexpr>") for _, name in found)


def before(found: list[tuple[int, str]], pattern: str) -> list[tuple[int, str]]:
    """Return the calls before the first function whose name fits the pattern."""
    places = (i for i, (_, name) in enumerate(found) if re.search(pattern, name))
    return found[: next(places, len(found))]


def last_round(found: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the calls between the last two steps of a solver."""
    depth = next(d for d, name in found if re.search(STEP, name))
    steps = [i for i, (d, name) in enumerate(found) if re.search(STEP, name) and d == depth]
    return found[steps[-2] : steps[-1]]


def measure(title: str, run: Run, N: int) -> list[tuple[int, str]]:
    """Print a line of the table, and return the calls of the longer run."""
    run(N)  # what is imported or kept is not counted
    results: list[Any] = []
    short = calls(lambda: results.append(run(N)))
    long = calls(lambda: results.append(run(2 * N)))
    rounds = max(1, results[1].nit - results[0].nit)
    per = [(count(long) - count(short)) / rounds for count in (real, len)]
    start = [len(before(long, pattern)) for pattern in (LOOP, STEP)]
    print(f"{title:45} {per[0]:8.1f} {per[1]:11.1f} {start[0]:9d} {start[1]:11d} {rounds:7d}")
    return long


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the calls of a round.")
    parser.add_argument("--rounds", type=int, default=10, help="N; 3 where a run ends early")
    parser.add_argument("--trace", action="store_true", help="list the functions too")
    given = parser.parse_args()
    heads = "a round", "all events", "to begin", "to step 1", "rounds"
    print(f"{'run':45} {heads[0]:>8} {heads[1]:>11} {heads[2]:>9} {heads[3]:>11} {heads[4]:>7}")
    traces = {
        title: measure(title, run, min(given.rounds, SHORT.get(title, given.rounds)))
        for title, run in problems().items()
    }
    for title, long in traces.items() if given.trace else ():
        start, one = before(long, STEP), last_round(long)
        for what, part in ((f"{title}: to step 1", start), (f"{title}: one round", one)):
            print(f"\n{what}, {len(part)} calls")
            least = min((d for d, _ in part), default=0)
            for d, name in part:
                print("  " * (d - least + 1) + name)


if __name__ == "__main__":
    main()
