"""Compare `minimize_integer` with SCIP on convex quadratics, and count nodes for other functions.

    python benchmarks/integer.py [--seconds 20] [--only WORD]
    python benchmarks/integer.py --page docs/benchmarks/integer.md
    python benchmarks/integer.py --parallel [--page docs/benchmarks/integer.md]

Both solve the same problems to relative gaps of 1% and 0.1%, one after the other, on one thread.
Seconds are those of the whole call. SCIP (PySCIPOpt, of the extra `bench`) gets the quadratic as an
epigraph constraint, and its answer is evaluated with our f.
"""

from __future__ import annotations

import argparse
import heapq
import math
import os
import time
from pathlib import Path

import numpy as np
from pages import insert, origin, table, where

import wolfpack as wp
from wolfpack.report.machine import SYSTEM, processor, versions

GAPS = (1e-2, 1e-3)


def with_indicators(n, count, low, high, total=None):
    """Return the x in [low, high]^n of which at most ``count`` are not 0, with 0-1 indicators."""
    one, zero, every = np.eye(n), np.zeros(n), np.ones(n)
    rows = [np.hstack([one, -high * one]), np.concatenate([zero, every])]
    right = [zero, [count]]
    if low < 0:
        rows.insert(0, np.hstack([-one, low * one]))
        right.insert(0, zero)
    equations = {}
    if total is not None:
        equations = {"A_eq": np.concatenate([every, zero])[None, :], "b_eq": [total]}
    return wp.sets.MixedInteger(
        np.vstack(rows),
        np.concatenate(right),
        bounds=[(low, high)] * n + [(0, 1)] * n,
        integrality=np.concatenate([zero, every]),
        **equations,
    )


def portfolio(n, count):
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, 5))
    Q = np.zeros((2 * n, 2 * n))
    Q[:n, :n] = F @ F.T + np.diag(rng.uniform(0.2, 1.0, n))
    c = np.concatenate([-rng.uniform(0.0, 1.0, n), np.zeros(n)])
    return wp.objectives.Quadratic(Q, c), with_indicators(n, count, 0.0, 1.0, total=1.0)


def subset_data(n, count):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((4 * n, n))
    w = np.zeros(n)
    w[:count] = rng.choice([-1.0, 1.0], count)
    return rng, np.hstack([X, np.zeros_like(X)]), X @ w


def subset(n, count):
    rng, X, exact = subset_data(n, count)
    y = exact + 0.5 * rng.standard_normal(len(exact))
    return wp.objectives.LeastSquares(X, y), with_indicators(n, count, -2.0, 2.0)


def logistic_subset(n, count):
    rng, X, exact = subset_data(n, count)
    labels = np.where(exact + 0.5 * rng.standard_normal(len(exact)) > 0, 1.0, -1.0)
    return wp.objectives.Logistic(X, labels), with_indicators(n, count, -3.0, 3.0)


def integer_least_squares(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((2 * n, n))
    b = A @ rng.uniform(-2.0, 2.0, n) + rng.standard_normal(2 * n)
    return wp.objectives.LeastSquares(A, b), wp.sets.Box(np.full(n, -2.0), np.full(n, 2.0))


def congestion(n):
    """An assignment in which every pair of rows pays for columns that it shares a group with."""
    rng = np.random.default_rng(n)
    M = rng.standard_normal((n, n * n)) * (rng.random((n, n * n)) < 0.3)
    return wp.objectives.LeastSquares(M, rng.standard_normal(n)), wp.sets.Product(
        *[wp.sets.Hypersimplex(n, 1) for _ in range(n)]
    )


def design(n, runs):
    V = np.random.default_rng(n).standard_normal((n, 5))
    return wp.objectives.DOptimal(V), wp.sets.CappedSimplex(n, cap=3.0, total=float(runs))


PROBLEMS = {
    "portfolio, 4 of 20": lambda: portfolio(20, 4),
    "portfolio, 5 of 40": lambda: portfolio(40, 5),
    "best subset, 4 of 30": lambda: subset(30, 4),
    "best subset, 5 of 60": lambda: subset(60, 5),
    "integer least squares, 10": lambda: integer_least_squares(10),
    "integer least squares, 20": lambda: integer_least_squares(20),
    "assignment with congestion, 6": lambda: congestion(6),
    "logistic best subset, 3 of 30": lambda: logistic_subset(30, 3),
    "exact D-optimal design, 12 of 30": lambda: design(30, 12),
    "exact D-optimal design, 12 of 100": lambda: design(100, 12),
}


def ours(f, K, rtol, limit):
    began = time.perf_counter()
    res = wp.minimize_integer(f, K, gap=0.0, rtol=rtol, max_seconds=limit)
    return time.perf_counter() - began, res


def scip(f, K, rtol, limit):
    """Return seconds, value, bound and nodes of SCIP; None where f is no quadratic."""
    form = f.quadratic_form()
    if form is None:
        return None
    import pyscipopt

    n = K.dimension
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("limits/gap", rtol)
    model.setParam("limits/time", limit)
    if isinstance(K, wp.sets.MixedInteger):
        system, integer = K.system, K.integer
        low, high, systems = system.low, system.high, []
        systems += [] if system.A_ub is None else [(system.A_ub, system.b_ub, "<=")]
        systems += [] if system.A_eq is None else [(system.A_eq, system.b_eq, "==")]
    else:
        described, integer = K.polyhedron(), np.ones(n, dtype=bool)
        low, high, systems = described.low, described.high, []
        for rows, sense in ((described.inequalities, "<="), (described.equations, "==")):
            systems += [] if rows is None else [(rows.matrix, rows.right, sense)]
    x = [
        model.addVar(
            lb=float(low[j]),
            ub=None if math.isinf(high[j]) else float(high[j]),
            vtype="I" if integer[j] else "C",
        )
        for j in range(n)
    ]
    for matrix, right, sense in systems:
        dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
        for row, value in zip(dense, right, strict=True):
            total = pyscipopt.quicksum(float(row[j]) * x[j] for j in np.flatnonzero(row))
            model.addCons(total <= float(value) if sense == "<=" else total == float(value))
    top = model.addVar(lb=None)
    if form.factor is None:
        P, q = form.P, form.q
        P = np.asarray(P.todense() if hasattr(P, "todense") else P)
        terms = [0.5 * float(P[i, j]) * x[i] * x[j] for i in range(n) for j in range(n) if P[i, j]]
        terms += [float(q[j]) * x[j] for j in range(n) if q[j]]
        constant = float(f.value(np.zeros(K.shape)))
    else:  # a variable for each residual, with which SCIP is faster
        F, terms, constant = np.asarray(form.factor), [], 0.0
        for row, target in zip(F, form.target, strict=True):
            r = model.addVar(lb=None)
            total = pyscipopt.quicksum(float(row[j]) * x[j] for j in np.flatnonzero(row))
            model.addCons(total - float(target) == r)
            terms.append(0.5 * r * r)
    model.addCons(pyscipopt.quicksum(terms) + constant <= top)
    model.setObjective(top)
    began = time.perf_counter()
    model.optimize()
    seconds = time.perf_counter() - began
    point = np.array([model.getVal(v) for v in x])
    point[integer] = np.round(point[integer])
    return seconds, f.value(point.reshape(K.shape)), model.getDualbound(), model.getNNodes()


def seconds_on(workers: int, f, K, batch: int) -> tuple[float, wp.Result]:
    """Return the seconds of a run on processes that are already there, and its result."""
    engine = wp.engines.Processes(workers)
    try:
        wp.minimize_integer(f, K, engine=engine, max_nodes=batch)
        began = time.perf_counter()
        res = wp.minimize_integer(f, K, gap=0.0, rtol=1e-2, engine=engine, batch=batch)
        return time.perf_counter() - began, res
    finally:
        engine.close()


def simulated(durations: np.ndarray, workers: int, batch: int, rounds: int = 200) -> float:
    """Return the share of the workers' time that is spent on nodes, in rounds of random nodes.

    A worker that is free takes the next node of the round, and a round ends with its last node.
    """
    rng, busy, spent = np.random.default_rng(0), 0.0, 0.0
    for _ in range(rounds):
        nodes = rng.choice(durations, batch)
        ends = [0.0] * workers
        for node in nodes:
            heapq.heapreplace(ends, ends[0] + node)
        busy, spent = busy + nodes.sum(), spent + max(ends)
    return float(busy / (workers * spent))


def parallel() -> str:
    """Return the tables on several workers: two measured, many simulated from measured nodes."""
    f, K = integer_least_squares(20)
    turns = [[seconds_on(workers, f, K, 32) for workers in (1, 2)] for _ in range(3)]
    one, two = (min(turn[i][0] for turn in turns) for i in (0, 1))
    res = turns[0][0][1]
    spans = res.engine.timeline
    durations = spans["end_s"] - spans["begin_s"]
    ratio = f"{one / two:.2f}"
    first = table(
        ["nodes", "one process, s", "two processes, s", "ratio"],
        [[f"{res.nodes:,}", f"{one:.2f}", f"{two:.2f}", ratio]],
    )
    rows = [
        [f"{workers:,}", *(f"{simulated(durations, workers, k * workers):.0%}" for k in (1, 4, 16))]
        for workers in (2, 10, 100, 1000)
    ]
    second = table(["workers", "1 node a worker", "4 nodes a worker", "16 nodes a worker"], rows)
    return f"{first}\n\n{second}"


def percent(gap: float, value: float) -> str:
    """Return a gap relative to the value."""
    return f"{100 * gap / abs(value):.2g}%" if math.isfinite(gap) else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of a solve")
    parser.add_argument("--only", default="", help="problems whose name contains this word")
    parser.add_argument("--parallel", action="store_true", help="only the tables on workers")
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    if options.parallel:
        text = f"{parallel()}\n\n{origin()}"
        print(text)
        if options.page:
            insert(options.page, "parallel", text)
        return
    rows = []
    for name, make in PROBLEMS.items():
        if options.only not in name:
            continue
        f, K = make()
        for rtol in GAPS:
            seconds, res = ours(f, K, rtol, options.seconds)
            row = [name, f"{100 * rtol:g}%", f"{seconds:.2f}", percent(res.gap, res.fun)]
            row += [f"{res.nodes:,}", f"{res.nlmo:,}", f"{res.fun:.6g}"]
            other = scip(f, K, rtol, options.seconds)
            if other is None:
                row += ["", "", "", ""]
            else:
                took, value, bound, nodes = other
                row += [f"{took:.2f}", percent(value - bound, value), f"{nodes:,}", f"{value:.6g}"]
            rows.append(row)
            print(" | ".join(row), flush=True)
    head = ["problem", "wanted", "s", "gap", "nodes", "oracle calls", "f"]
    head += ["SCIP: s", "gap", "nodes", "f"]
    facts = {"processor": processor(), "cores": str(os.cpu_count()), "system": SYSTEM}
    facts |= versions(("numpy", "scipy", "pyscipopt"))
    text = f"{table(head, rows)}\n\n{origin()} {where(facts)}."
    if options.page:
        insert(options.page, "integer", text)


if __name__ == "__main__":
    main()
