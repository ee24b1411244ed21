"""What a round, an oracle call and a projection cost, before and after a change, in one run.

    OMP_NUM_THREADS=1 python benchmarks/rounds.py --before /path/to/another/checkout

Each row is measured in processes of its own, in turn with the code of this checkout and with that
of the other one, several times; the smallest processor time counts.
`--page docs/benchmarks/rounds.md` writes the tables there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
Measure = Callable[[], dict[str, float]]


def best(call: Callable[[], object], repeats: int = 30) -> float:
    """Return the smallest processor time of a call, in microseconds."""
    call()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return 1e6 * min(times)


def quadratic(d: int) -> Any:
    """Return a badly conditioned quadratic whose minimum is inside of the simplex."""
    import wolfpack as wp

    rng = np.random.default_rng(0)
    B = rng.standard_normal((d, d)) * np.logspace(-3, 0, d)[:, None]
    Q, x = B @ B.T, rng.dirichlet(np.ones(d))
    return wp.objectives.Quadratic(Q, -Q @ x), wp.sets.Simplex(d)


def distance(d: int) -> Any:
    import wolfpack as wp

    target = np.random.default_rng(0).random(d) / d
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Simplex(d)


def round_time(f: Any, K: Any, rounds: int, **options: Any) -> float:
    """Return microseconds a round: those of the last three quarters of a run."""
    import wolfpack as wp

    def run(most: int) -> tuple[float, int]:
        began = time.process_time()
        found = wp.minimize(f, K, max_rounds=most, tol=0, **options)
        return time.process_time() - began, found.nit

    # both ends have their own minimum: a difference of two noisy times may be anything
    repeats = 3 if rounds >= 200 else 40
    short, few = min(run(rounds // 4) for _ in range(repeats))
    long, many = min(run(rounds) for _ in range(repeats))
    return 1e6 * (long - short) / max(1, many - few)


def bare_dense(d: int, rounds: int) -> float:
    """Return microseconds of a round of Frank-Wolfe with its gap, in NumPy alone."""
    f, _ = quadratic(d)
    Q, c = f.Q, f.c

    def run() -> None:
        x = np.full(d, 1.0 / d)
        for k in range(rounds):
            Qx = Q.dot(x)
            g = Qx + c
            _ = 0.5 * x.dot(Qx) + c.dot(x)
            i = g.argmin()
            _ = g.dot(x) - g[i]
            step = 2.0 / (k + 2)
            x *= 1.0 - step
            x[i] += step

    return best(run, 3) / rounds


def bare_distance(d: int, rounds: int) -> float:
    f, _ = distance(d)
    c = f.c

    def run() -> None:
        x = np.full(d, 1.0 / d)
        for k in range(rounds):
            g = x + c
            _ = 0.5 * x.dot(x) + c.dot(x)
            i = g.argmin()
            _ = g.dot(x) - g[i]
            step = 2.0 / (k + 2)
            x *= 1.0 - step
            x[i] += step

    return best(run, 3) / rounds


def small_round(method: str, rounds: int, **options: Any) -> Measure:
    def measure() -> dict[str, float]:
        f, K = quadratic(50)
        found = {"us": round_time(f, K, rounds, method=method, **options)}
        return found | ({"bare": bare_dense(50, 2000)} if method == "fw" else {})

    return measure


def user_round(method: str, rounds: int, **options: Any) -> Measure:
    """Measure rounds on a function, and on the same function as a callable with all checks."""

    def measure() -> dict[str, float]:
        f, K = quadratic(50)
        Q, c = f.Q, f.c

        def callable_(x: np.ndarray) -> tuple[float, np.ndarray]:
            Qx = Q @ x
            return 0.5 * float(x @ Qx) + float(c @ x), Qx + c

        functions = {"f of the library": f, "a callable": callable_}
        return {
            name: round_time(g, K, rounds, method=method, **options)
            for name, g in functions.items()
        }

    return measure


def long_round(method: str, d: int, rounds: int, **options: Any) -> Measure:
    def measure() -> dict[str, float]:
        import wolfpack as wp

        f, K = distance(d)
        found = {"us": round_time(f, K, rounds, method=method, **options)}
        if method == "fw":
            found["bare"] = bare_distance(d, rounds)
        tracemalloc.start()
        wp.minimize(f, K, max_rounds=150, tol=0, method=method, **options)
        found["vectors"] = tracemalloc.get_traced_memory()[1] / (8 * d)
        return found

    return measure


def long_history() -> dict[str, float]:
    """Return the memory that 1e5 rounds of the anytime method leave behind, in MB."""
    import wolfpack as wp

    f, K = distance(50)
    wp.minimize(f, K, max_rounds=10, tol=0, method="anytime", m=1)
    tracemalloc.start()
    found = wp.minimize(f, K, max_rounds=100_000, tol=0, method="anytime", m=1, record_every=1)
    return {"MB": tracemalloc.get_traced_memory()[0] / 1e6, "rounds": found.nit}


def program(n: int) -> Measure:
    """Measure oracle calls whose directions differ by 1% from one to the next."""

    def measure() -> dict[str, float]:
        import wolfpack as wp

        rng = np.random.default_rng(0)
        A = sparse.random_array((n // 2, n), density=0.05, rng=rng)
        K = wp.sets.LinearProgram(A, 0.03 * A.sum(axis=1) + 0.1, bounds=(0, 1))
        g = rng.standard_normal(n)
        times = []
        for _ in range(20):
            g = g + 0.01 * rng.standard_normal(n)
            began = time.process_time()
            K.certify(g, K.lmo(g))
            times.append(time.process_time() - began)
        return {"us": 1e6 * float(np.median(times[2:]))}

    return measure


def flows() -> dict[str, float]:
    import wolfpack as wp

    k, rng = 30, np.random.default_rng(0)
    right = [((i, j), (i + 1, j)) for i in range(k - 1) for j in range(k)]
    edges = right + [((j, i), (j, i + 1)) for i in range(k - 1) for j in range(k)]
    K = wp.sets.DagFlow(edges, (0, 0), (k - 1, k - 1))
    g, signed = rng.random(K.shape), rng.standard_normal(K.shape)
    batch = rng.random((64, *K.shape))
    return {
        "us": best(lambda: K.lmo(g)),
        "signed": best(lambda: K.lmo(signed)),
        "in a batch": best(lambda: K.lmo(batch)) / 64,
    }


def sparse_direction() -> dict[str, float]:
    import wolfpack as wp
    from wolfpack.arrays import SparseMatrix

    rng, n = np.random.default_rng(0), 2000
    S = sparse.random_array((n, n), density=0.005, rng=rng, format="csr")
    rows, columns = S.nonzero()
    g = SparseMatrix(rows, columns, S.data, (n, n))
    K = wp.sets.TraceNormBall((n, n), 5.0)
    return {"us": best(lambda: K.lmo(g), 5), "k_best": best(lambda: K.k_best(g, 1), 5)}


def projection(name: str, n: int) -> Measure:
    def measure() -> dict[str, float]:
        import wolfpack as wp

        makers: dict[str, Callable[[], Any]] = {
            "Simplex": lambda: wp.sets.Simplex(n),
            "L1Ball": lambda: wp.sets.L1Ball(n),
            "CappedSimplex": lambda: wp.sets.CappedSimplex(n, cap=4.0 / n),
            "KSparse": lambda: wp.sets.KSparse(n, n // 100),
        }
        K, x = makers[name](), np.random.default_rng(0).standard_normal(n)
        return {"us": best(lambda: K.project(x))}

    return measure


def classic(name: str) -> Measure:
    """Measure a quadratic program of Maros and Meszaros's kind, as a set and an objective."""

    def measure() -> dict[str, float]:
        import wolfpack as wp

        Q, c, arguments = QPS[name]()
        f, K = wp.objectives.Quadratic(Q, c), wp.sets.LinearProgram(**arguments)
        found = wp.minimize(f, K, method="conic", tol=1e-6)

        def whole() -> None:
            K = wp.sets.LinearProgram(**arguments)
            wp.minimize(wp.objectives.Quadratic(Q, c), K, method="conic", tol=1e-6)

        return {"us": best(whole, 5), "value": found.fun, "gap": found.gap}

    return measure


def hs21() -> Any:
    return (
        np.diag([0.02, 2.0]),
        np.zeros(2),
        {"A_ub": [[-10.0, 1.0]], "b_ub": [-10.0], "bounds": [(2, 50), (-50, 50)]},
    )


def hs35() -> Any:
    Q = np.array([[4.0, 2.0, 2.0], [2.0, 4.0, 0.0], [2.0, 0.0, 2.0]])
    return Q, np.array([-8.0, -6.0, -4.0]), {"A_ub": [[1.0, 1.0, 2.0]], "b_ub": [3.0]}


def hs76() -> Any:
    Q = np.array([[2.0, 0, -1, 0], [0, 1, 0, 0], [-1, 0, 2, 1], [0, 0, 1, 1]])
    A = [[1.0, 2, 1, 1], [3, 1, 2, -1], [0, -1, -4, 0]]
    return Q, np.array([-1.0, -3, 1, -1]), {"A_ub": A, "b_ub": [5.0, 4.0, -1.5]}


def cvxqp(n: int = 200) -> Any:
    """Return a program with the pattern of CVXQP1: a sparse sum of squares, sparse equations."""
    i = np.arange(1, n + 1)
    Q = np.zeros((n, n))
    for weight, *at in zip(i, i - 1, (2 * i - 1) % n, (3 * i - 1) % n, strict=True):
        e = np.zeros(n)
        np.add.at(e, at, 1.0)
        Q += weight * np.outer(e, e)
    rows = np.arange(1, n // 2 + 1)
    A = np.zeros((n // 2, n))
    for weight, place in ((1.0, rows - 1), (2.0, (4 * rows - 1) % n), (3.0, (5 * rows - 1) % n)):
        np.add.at(A, (rows - 1, place), weight)
    equations = {"A_eq": sparse.csr_array(A), "b_eq": A @ np.full(n, 0.5)}
    return Q / n, np.zeros(n), equations | {"bounds": (0.1, 10.0)}


def control(k: int = 12) -> Any:
    """Return a program like CONT-050: an elliptic equation on a grid, states between bounds."""
    n = (k + 1) ** 2
    number = np.arange(n).reshape(k + 1, k + 1)
    inner = number[1:-1, 1:-1].reshape(-1)
    A = sparse.lil_array((len(inner), n))
    for row, v in enumerate(inner):
        A[row, v] = 4.0
        for w in (v - 1, v + 1, v - k - 1, v + k + 1):
            A[row, w] = -1.0
    size = np.full(n, 1.0 / k**2)
    equations = {"A_eq": sparse.csr_array(A), "b_eq": np.full(len(inner), 20.0 / k**2)}
    return np.diag(size), -size, equations | {"bounds": (0.0, 10.0)}


QPS = {"HS21": hs21, "HS35": hs35, "HS76": hs76, "CVXQP1, n = 200": cvxqp, "CONT, 13 x 13": control}

ROWS: dict[str, Measure] = {
    "fw, d = 50": small_round("fw", 4000),
    "anytime m = 1, d = 50": small_round("anytime", 4000, m=1),
    "momentum, d = 50": small_round("momentum", 4000),
    "bpcg, d = 50": small_round("bpcg", 2000),
    "corrective m = 1, d = 50": small_round("corrective", 40, m=1),
    "fw, d = 1e5": long_round("fw", 100_000, 400),
    "fw, d = 1e6": long_round("fw", 1_000_000, 40),
    "anytime m = 1, d = 1e6": long_round("anytime", 1_000_000, 24, m=1),
    "1e5 rounds of anytime": long_history,
    "LinearProgram, n = 50": program(50),
    "LinearProgram, n = 200": program(200),
    "LinearProgram, n = 1,000": program(1000),
    "DagFlow, 30 x 30": flows,
    "TraceNormBall of a SparseMatrix, n = 2,000": sparse_direction,
    "Simplex projection, n = 1e5": projection("Simplex", 100_000),
    "L1Ball projection, n = 1e5": projection("L1Ball", 100_000),
    "CappedSimplex projection, n = 1e5": projection("CappedSimplex", 100_000),
    "KSparse projection, n = 1e4": projection("KSparse", 10_000),
    **{f"conic, {name}": classic(name) for name in QPS},
}


CHECKED: dict[str, Measure] = {
    f"{name}, {text}": user_round(method, rounds, **options, **every)
    for name, method, rounds, options in (
        ("anytime m = 1", "anytime", 3000, {"m": 1}),
        ("bpcg", "bpcg", 1500, {}),
        ("corrective m = 1", "corrective", 40, {"m": 1}),
    )
    for text, every in (("certificates as usual", {}), ("record_every=1", {"record_every": 1}))
    if method != "corrective" or not every
}
"""Rounds whose price before and after the checks is compared, d = 50."""


def components() -> dict[str, float]:
    """Return the microseconds of the parts of a round of Frank-Wolfe, d = 50."""
    import wolfpack as wp
    from wolfpack.loop.monitor import Monitor
    from wolfpack.loop.tracker import Tracker
    from wolfpack.problem import Problem
    from wolfpack.smoothing import Oracles

    f, K = quadratic(50)
    problem, solver = Problem(f, K), wp.solvers.FrankWolfe()
    oracles, tracker = Oracles(problem), Tracker(problem)
    state = solver.init(problem, K.start(), oracles)
    for _ in range(200):
        before, state = state, solver.step(problem, state, oracles)
    tracker.see(state)
    bound = solver.lower_bound(problem, state, oracles)
    monitor = Monitor(tracker)

    def recorded() -> None:
        tracker.value_error = None
        tracker.record(state, bound)

    parts: dict[str, Callable[[], object]] = {
        "gradient and value": lambda: problem.evaluate(state.x),
        "oracle": lambda: oracles.lmo(state.at.gradient),
        "step, with both": lambda: solver.step(problem, state, oracles),
        "certificate": lambda: solver.lower_bound(problem, state, oracles),
        "record": recorded,
        "comparison with L and convexity": lambda: monitor.compare(before, state),
    }
    return {
        name: best(lambda p=part: [p() for _ in range(200)], 40) / 200
        for name, part in parts.items()
    }


def ask(row: str, checkout: Path) -> dict[str, float]:
    """Measure a row in a process of its own, with the code of a checkout."""
    env = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__)), "--measure", row]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{row}: not possible with {checkout}", done.stderr[-200:], file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def compared(row: str, sides: dict[str, Path], turns: int) -> dict[str, dict[str, float]]:
    """Measure a row with each checkout in turn; keep the smallest of each number."""
    found: dict[str, dict[str, float]] = {side: {} for side in sides}
    for _ in range(turns):
        for side, checkout in sides.items():
            for name, number in ask(row, checkout).items():
                found[side][name] = min(number, found[side].get(name, number))
    return found


def _short(number: float | None) -> str:
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def write_checked(sides: dict[str, Path], turns: int, page: Path | None) -> None:
    """Compare rounds before and after the checks, and write the table into a page."""
    from pages import insert, origin, table

    lines = []
    for row in CHECKED:
        found = compared(row, sides, turns)
        for name, after in found["after"].items():
            before = found["before"].get(name, float("nan"))
            lines.append([row, name, _short(before), _short(after), f"{after / before:.2f}"])
            print(*lines[-1], sep=" | ", flush=True)
    if page is not None:
        rows = table(["rounds", "on", "before, us", "after, us", "ratio"], lines)
        insert(page, "checks", f"{rows}\n\n{origin()}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--checks", action="store_true", help="what the checks of runs cost")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        rows = {"parts": components} | ROWS | CHECKED
        print(json.dumps(rows[options.measure]()))
        return
    from pages import insert, origin, table

    sides = {} if options.before is None else {"before": options.before}
    sides["after"] = ROOT
    if options.checks:
        write_checked(sides, options.turns, options.page)
        return
    lines = []
    for row in ROWS:
        if options.only not in row:
            continue
        found = compared(row, sides, options.turns)
        for name in found["after"]:
            numbers = [_short(found[side].get(name)) for side in sides]
            lines.append([row if name in ("us", "MB") else "", name, *numbers])
            print(*lines[-1], sep=" | ", flush=True)
    parts = compared("parts", sides, options.turns)
    shares = [[name, *(_short(parts[side].get(name)) for side in sides)] for name in parts["after"]]
    rows = table(["what", "number", *sides], lines)
    pieces = table(["part of a round of fw, d = 50", *sides], shares)
    print(pieces)
    if options.page is not None:
        insert(options.page, "rounds", f"{rows}\n\n{pieces}\n\n{origin()}")


if __name__ == "__main__":
    main()
