"""Passes over the data of Frank-Wolfe methods with minibatches, beside copt and whole gradients.

    python benchmarks/stochastic.py [--passes 60] [--problem NAME] [--page FILE]

Sums of many terms over sets with linear oracles. A pass is as many gradients of single rows as the
data have. Counted are the passes that the rounds of a method read until f(x) - min f is 1e-2, 1e-3
and 1e-4 of what can be gained at the start, values of f for this purpose not being counted, and
all passes, values and proofs included, that `minimize` takes until its certified gap is that small.
Methods with minibatches run with 1/400 and 1/100 of the rows, and the better size counts for each
target; the median of three seeds is reported. Certified gaps are those of seed 0 and of 1/200 of
the rows. copt comes with ``make install-bench``.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pages
from scipy.sparse import csr_array

import wolfpack as wp

TARGETS = (1e-2, 1e-3, 1e-4)
SHARES = (400, 100)
SEEDS = (0, 1, 2)
MINIBATCHES: dict[str, dict[str, Any]] = {
    "auto": {},
    "`stochastic`, table": {"method": "stochastic", "estimate": "table"},
    "`stochastic`, substitute": {"method": "stochastic", "estimate": "substitute"},
    "`stochastic`, momentum": {"method": "stochastic", "estimate": "momentum"},
    "`stochastic`, recursive": {"method": "stochastic", "estimate": "recursive"},
}
CERTIFIED = ("auto", "`stochastic`, table")
WHOLE: dict[str, dict[str, Any]] = {
    "whole gradients, auto": {},
    "whole gradients, `fw`": {"method": "fw"},
    "whole gradients, `fw-ls`": {"method": "fw-ls"},
}


@dataclass
class Task:
    """A loss of rows and targets, and a set; ``deriv`` is copt's derivative of a term."""

    name: str
    make: Callable[..., Any]
    A: Any
    b: np.ndarray
    K: Any
    loss: str

    def __post_init__(self) -> None:
        f = self.make(self.A, self.b)
        self.n = f.n
        self.best = wp.minimize(f, self.K, tol=1e-11, max_rounds=20_000).lower_bound
        self.gain = f.value(self.K.start()) - self.best
        self.value = f.value


def tasks() -> Iterator[Task]:
    """Yield the problems, made from fixed seeds."""
    rng = np.random.default_rng(0)
    n, d = 20_000, 100
    A = rng.standard_normal((n, d))
    x = np.zeros(d)
    x[:10] = 2.0 * rng.standard_normal(10)
    labels = np.sign(A @ x + 0.5 * rng.standard_normal(n))
    yield Task(
        "logistic, l1 ball", wp.objectives.Logistic, A, labels, wp.sets.L1Ball(d, 10.0), "log"
    )
    n, d = 20_000, 300
    sparse = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.04)
    x = np.zeros(d)
    x[:25] = 2.0 * rng.standard_normal(25)
    labels = np.sign(sparse @ x + 0.5 * rng.standard_normal(n))
    A = csr_array(sparse)
    K = wp.sets.L1Ball(d, 30.0)
    yield Task("sparse logistic, l1 ball", wp.objectives.Logistic, A, labels, K, "log")
    n, d = 10_000, 60
    A = rng.standard_normal((n, d)) + 1.0
    x = rng.dirichlet(np.full(d, 0.2))
    b = A @ x + rng.standard_normal(n)
    scale = 1.0 / math.sqrt(n)
    yield Task(
        "least squares, simplex",
        wp.objectives.LeastSquares,
        scale * A,
        scale * b,
        wp.sets.Simplex(d),
        "square",
    )


def passes_of_rounds(task: Task, batch: int | None, seed: int, most: float, settings: Any) -> Any:
    """Return passes of rounds and f(x) along a run of `minimize`."""
    f = task.make(task.A, task.b, batch=batch)
    if batch is None:
        res = wp.minimize(f, task.K, tol=0, max_rounds=int(most), record_every=1, **settings)
        return res.history["njev"], res.history["fun"]
    limit = math.ceil(most * task.n / batch)
    every = max(1, task.n // (4 * batch))
    res = wp.minimize(f, task.K, tol=0, max_rounds=limit, record_every=every, seed=seed, **settings)
    # each value of f was one whole gradient; the other gradients are those of rounds and estimates
    return (res.history["njev"] - res.history["nfev"]) * (batch / task.n), res.history["fun"]


def passes_of_copt(task: Task, batch: int, seed: int, most: float, variant: str) -> Any:
    """Return the same of copt's stochastic Frank-Wolfe."""
    import copt

    np.random.seed(seed)  # noqa: NPY002, copt draws from the global generator
    plain = csr_array(task.A)
    b = 0.5 * (task.b + 1.0) if task.loss == "log" else task.b
    loss = copt.loss.LogLoss if task.loss == "log" else copt.loss.SquareLoss
    A = plain if task.loss == "log" else math.sqrt(task.n) * plain
    b = b if task.loss == "log" else math.sqrt(task.n) * b
    on_ball = "l1" in task.name

    def lmo(u: np.ndarray, x: np.ndarray, active_set: Any) -> Any:
        # copt's own oracles of balls and of simplices take different arguments
        i = int(np.argmax(abs(u) if on_ball else u))
        vertex = np.zeros_like(u)
        vertex[i] = task.K.radius * (np.sign(u[i]) if on_ball else 1.0)
        return vertex - x, None, None, 1.0

    passes, values = [], []
    every = max(1, task.n // (4 * batch))

    def see(variables: dict[str, Any]) -> None:
        k = variables.get("step", 0)
        if k % every == 0:
            passes.append((k + 1) * batch / task.n)
            values.append(task.value(variables["x"]))

    copt.minimize_sfw(
        loss(A, b).partial_deriv,
        A,
        b,
        np.zeros(task.K.dimension) if on_ball else task.K.start(),
        lmo,
        batch_size=batch,
        max_iter=int(most),
        tol=0,
        callback=see,
        variant=variant,
    )
    return np.array(passes), np.array(values)


def reached(task: Task, passes: Any, values: Any) -> list[float]:
    """Return the passes until each target, infinity where it was not reached."""
    found = []
    for target in TARGETS:
        good = np.flatnonzero(np.asarray(values) - task.best <= target * task.gain)
        found.append(float(passes[good[0]]) if good.size else math.inf)
    return found


def best_of_sizes(task: Task, run: Callable[[int, int], Any]) -> list[float]:
    """Return the least passes over the sizes of batches, medians over the seeds."""
    by_size = []
    for share in SHARES:
        rows = [reached(task, *run(task.n // share, seed)) for seed in SEEDS]
        by_size.append([statistics.median(column) for column in zip(*rows, strict=True)])
    return [min(column) for column in zip(*by_size, strict=True)]


def certified(task: Task, batch: int | None, most: float, settings: Any) -> list[float]:
    """Return all passes until the certified gap is as small as each target."""
    found = []
    for target in TARGETS:
        f, tol = task.make(task.A, task.b, batch=batch), target * task.gain
        if batch is None:
            res = wp.minimize(f, task.K, tol=tol, max_rounds=int(most), **settings)
            found.append(float(res.njev) if res.success else math.inf)
            continue
        res = wp.minimize(f, task.K, tol=tol, max_passes=most, **settings)
        found.append(res.passes if res.success else math.inf)
    return found


def shown(numbers: list[float]) -> list[str]:
    """Return numbers of passes as text."""
    return ["–" if math.isinf(x) else f"{x:.1f}" if x < 10 else f"{x:.0f}" for x in numbers]


def tables(most: float, wanted: str | None) -> str:
    """Run everything and return the tables of the page."""
    parts = []
    for task in tasks():
        if wanted is not None and wanted not in task.name:
            continue
        rows = []
        for name, settings in MINIBATCHES.items():
            run = partial(passes_of_rounds, task, most=most, settings=settings)
            found = best_of_sizes(task, run)
            proved: list[str] = [""] * len(TARGETS)
            if name in CERTIFIED:
                proved = shown(certified(task, task.n // 200, 3 * most, settings))
            rows.append([name, *shown(found), *proved])
            print(task.name, rows[-1], flush=True)
        if find_spec("copt"):
            for variant, name in {"SAG": "SAG", "MHK": "momentum"}.items():
                run = partial(passes_of_copt, task, most=most, variant=variant)
                found = best_of_sizes(task, run)
                rows.append([f"copt, {name}", *shown(found), "", "", ""])
                print(task.name, rows[-1], flush=True)
        for name, settings in WHOLE.items():
            found = reached(task, *passes_of_rounds(task, None, 0, 20 * most, settings))
            proved = certified(task, None, 20 * most, settings)
            rows.append([name, *shown(found), *shown(proved)])
            print(task.name, rows[-1], flush=True)
        head = f"n = {task.n:,}, d = {task.K.dimension}: {task.name}"
        names = ["method", *(f"f, {t:g}" for t in TARGETS), *(f"gap, {t:g}" for t in TARGETS)]
        parts.append(f"**{head}**\n\n{pages.table(names, rows)}")
    return "\n\n".join(parts)


def main() -> None:
    """Run the benchmark and write its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--passes", type=float, default=60.0)
    parser.add_argument("--problem")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    text = tables(given.passes, given.problem)
    if given.page is None:
        print(text)
    else:
        pages.insert(given.page, "tables", text)


if __name__ == "__main__":
    main()
