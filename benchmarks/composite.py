"""Regularised logistic regression: Algorithm 1 against the solvers that practitioners use.

    python benchmarks/composite.py [--repeats 3] [--seconds 60] [--problem NAME] [--method WORD]
        [--json FILE]
    python benchmarks/composite.py --show FILE

Mean logistic loss + (1/2n)||y||^2 (elastic net: + 0.01 ||y||_1) without an intercept. Each method
runs until its suboptimality is 1e-6 of F(0) - F*, or for ``--seconds``; passes over the data and
seconds to 1e-3 and 1e-6 are read off, values of F being computed off the clock, which begins with
the data in memory: copies, constants and whatever else a method prepares are on it. Methods are
interleaved and repeated; medians are reported. F* comes from a run to high accuracy.
``--method`` keeps the methods whose name begins with one of the words given; ``--json`` adds the
results to a file, and ``--show`` prints the tables of one.

scikit-learn, copt and skglm come with ``make install-bench``; compilation is not counted. A pass of
SVRG's outer loop counts as one. One BLAS thread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.sparse import random as random_sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from threadpoolctl import threadpool_limits

import wolfpack as wp
from wolfpack.gradients.minibatches import Minibatches

TARGETS = (1e-3, 1e-6)
Trace = list[tuple[float, float, float]]  # passes, seconds, F


@dataclass
class Task:
    """One problem: features, labels -1/+1, the weight of the l1 norm, and when to stop."""

    name: str
    X: Any
    b: np.ndarray
    l1: float
    budget: float
    best: float = math.inf
    tuned: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.n, self.d = self.X.shape
        self.mu = 1.0 / self.n
        self.G = wp.objectives.Logistic(self.X, self.b)
        ridge = wp.regularizers.SquaredNorm(self.mu)
        self.H = wp.regularizers.ElasticNet(self.l1, self.mu) if self.l1 else ridge
        self.start = self.value(np.zeros(self.d))

    def value(self, y: np.ndarray) -> float:
        """F(y), remembering the lowest."""
        found = self.G.value(y) + self.H.value(y)
        self.best = min(self.best, found)
        return found

    def done(self, value: float, seconds: float) -> bool:
        return value - self.best <= 1e-6 * (self.start - self.best) or seconds > self.budget


def tasks(budget: float) -> dict[str, Callable[[], Task]]:
    def cancer(l1: float = 0.0) -> Task:
        X, y = load_breast_cancer(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return Task("breast cancer" + ", elastic net" * (l1 > 0), X, 2.0 * y - 1, l1, budget)

    def digits(l1: float = 0.0) -> Task:
        X, y = load_digits(return_X_y=True)
        return Task(
            "digits, odd/even" + ", elastic net" * (l1 > 0), X / 16, 2.0 * (y % 2) - 1, l1, budget
        )

    def sparse() -> Task:
        rng = np.random.default_rng(0)
        X = random_sparse(100_000, 10_000, 1e-3, "csr", rng=rng, data_rvs=rng.standard_normal)
        X = csr_matrix(X)
        score = X @ rng.standard_normal(10_000) + rng.standard_normal(100_000)
        return Task("sparse 100,000 x 10,000", X, np.sign(score), 0.0, budget)

    return {
        "cancer": cancer,
        "digits": digits,
        "cancer-l1": lambda: cancer(0.01),
        "digits-l1": lambda: digits(0.01),
        "sparse": sparse,
    }


def ours(task: Task, **options: Any) -> Trace:
    """Algorithm 1; the callback sees each recorded round, off the clock."""
    trace: Trace = []
    began = time.perf_counter()
    G = wp.objectives.Logistic(task.X, task.b)
    built = time.perf_counter() - began
    prepared: list[float] = []  # before the first round, which is seen when it has been evaluated

    def note(at: Any) -> None:
        task.best = min(task.best, at.fun)
        value = at.history["fun"][-1]
        prepared.append(at.seconds - at.solver_seconds)
        seconds = prepared[0] + at.solver_seconds
        trace.append((at.state.rows / task.n, built + seconds, value))
        if task.done(at.fun, seconds):
            raise StopIteration

    wp.minimize_composite(
        G, task.H, tol=0.0, max_rounds=10**9, callback=note, progress=False, seed=1, **options
    )
    return trace


def ladder(task: Task, make: Callable[[int], Any], most: int = 0) -> Trace:
    """A scikit-learn solver, run anew with 1.4 times as many iterations until it is done."""
    trace: Trace = []
    iterations, total = 1, 0.0
    most = most or 5000
    while True:
        model = make(iterations)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(task.X, task.b)
        seconds = time.perf_counter() - began
        value = task.value(model.coef_[0])
        trace.append((iterations, seconds, value))
        total += seconds
        if task.done(value, seconds) or total > 4 * task.budget or iterations > most:
            return trace
        iterations = math.ceil(1.4 * iterations)


def logistic(task: Task, solver: str) -> Trace:
    C = 1.0 / (task.n * (task.mu + task.l1))
    ratio = task.l1 / (task.mu + task.l1)
    return ladder(
        task,
        lambda k: LogisticRegression(
            C=C,
            l1_ratio=ratio,
            solver=solver,
            fit_intercept=False,
            tol=1e-12,
            max_iter=k,
            random_state=0,
        ),
    )


SCHEDULES = [
    {"learning_rate": "optimal"},
    *({"learning_rate": "constant", "eta0": eta} for eta in (0.1, 0.03, 0.01, 0.003)),
    *({"learning_rate": "invscaling", "eta0": eta} for eta in (1.0, 0.1)),
    {"learning_rate": "adaptive", "eta0": 0.01},
]


def sgd(task: Task) -> Trace:
    """scikit-learn's SGD with the best of the schedules above, found off the clock."""

    def run(schedule: dict[str, Any], most: int = 0) -> Trace:
        def make(k: int) -> Any:
            return SGDClassifier(
                "log_loss",
                penalty="elasticnet",
                alpha=task.mu + task.l1,
                l1_ratio=task.l1 / (task.mu + task.l1),
                fit_intercept=False,
                max_iter=k,
                tol=None,
                random_state=0,
                **schedule,
            )

        return ladder(task, make, most)

    return run(best_of(task, "sgd", SCHEDULES, lambda schedule: run(schedule, trial(task))))


def trial(task: Task) -> int:
    """Passes for which each schedule is tried."""
    return 30 if issparse(task.X) else 60


def best_of(task: Task, name: str, grid: list[Any], run: Callable[[Any], Trace]) -> Any:
    """Return the entry of ``grid`` with the fewest passes to 1e-3, or the lowest value."""
    if name not in task.tuned:
        level = task.best + TARGETS[0] * (task.start - task.best)
        traces = [run(entry) for entry in grid]
        found = [(reached(trace, level)[0], min(value for *_, value in trace)) for trace in traces]
        task.tuned[name] = grid[found.index(min(found))]
        print(f"<!-- {task.name}, {name}: {task.tuned[name]} -->", flush=True)
    return task.tuned[name]


STEPS = [(4.0**i, decay) for i in range(-2, 5) for decay in (0.0, 0.1)]


def minibatch_sgd(task: Task, m: int) -> Trace:
    """Proximal SGD with batches of m rows and the best of fourteen steps, in NumPy."""
    began = time.perf_counter()
    draws = Minibatches(wp.objectives.Logistic(task.X, task.b), m, seed=1)
    built = time.perf_counter() - began

    def run(step: tuple[float, float], passes: int = 5000) -> Trace:
        y, seconds, trace = np.zeros(task.d), built, []
        every = max(1, task.n // m)
        for k in range(passes * task.n // m):
            began = time.perf_counter()
            eta = step[0] / task.G.L / (1.0 + step[1] * k) ** 0.5
            y = task.H.prox(draws.at(y, k, m).mean - y / eta, 1.0 / eta)
            seconds += time.perf_counter() - began
            if (k + 1) % every == 0:
                trace.append(((k + 1) * m / task.n, seconds, task.value(y)))
                if task.done(trace[-1][2], seconds):
                    break
        return trace

    return run(best_of(task, f"batch {m}", STEPS, lambda step: run(step, trial(task))))


def copt(task: Task, name: str) -> Trace:
    """SAGA or SVRG of copt: passes times the median seconds of one, compilation left out."""
    import copt as rival
    from numba import njit

    @njit(nogil=True)
    def slope(p: Any, b: Any) -> Any:
        return -b / (1.0 + np.exp(b * p))

    X = task.X if issparse(task.X) else csr_matrix(task.X)
    largest = float(X.multiply(X).sum(axis=1).max())
    values: list[float] = []
    clock: list[float] = []

    def note(at: Any) -> None:
        clock.append(time.perf_counter())
        values.append(task.value(at["x"]))
        clock.append(time.perf_counter())
        # the first pass compiles
        used = len(values) * (clock[-2] - clock[-3]) if len(values) > 2 else 0.0
        if task.done(values[-1], used):
            raise StopIteration

    with contextlib.suppress(StopIteration):
        getattr(rival, f"minimize_{name}")(
            slope,
            X,
            task.b,
            np.zeros(task.d),
            1.0 / (3.0 * (0.25 * largest + task.mu)),
            alpha=task.mu,
            max_iter=3000,
            tol=0.0,
            callback=note,
        )
    epochs = [clock[2 * i] - clock[2 * i - 1] for i in range(2, len(values))]
    second = statistics.median(epochs) if epochs else math.nan
    return [(i, i * second, value) for i, value in enumerate(values)]


def skglm(task: Task) -> Trace:
    """Prox-Newton of skglm, with growing numbers of iterations."""
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import ProxNewton

    alpha = task.mu + task.l1

    def make(k: int) -> Any:
        solver = ProxNewton(max_iter=k, tol=1e-12, fit_intercept=False)
        return GeneralizedLinearEstimator(Logistic(), L1_plus_L2(alpha, task.l1 / alpha), solver)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(1).fit(task.X, task.b)  # compiles
    return ladder(task, make)


def methods(task: Task) -> Iterator[tuple[str, Callable[[], Trace]]]:
    yield "wolfpack, all rows", lambda: ours(task, beta="search")
    yield "wolfpack, all rows, own beta", lambda: ours(task)
    for m in (1, 32, 1024):
        size = min(m, task.n)
        yield f"wolfpack, batch {m}", lambda m=size: ours(task, batch=m, method="converging")
        beta = "search" if m > 32 else None
        yield (
            f"wolfpack, batch {m}, reduced",
            lambda m=size, beta=beta: ours(task, batch=m, beta=beta, variance_reduction=True),
        )
    yield (
        "wolfpack, batch 1024, anchored",
        lambda: ours(task, batch=min(1024, task.n), beta="search", variance_reduction="svrg"),
    )
    turns = {"variance_reduction": True, "sampling": "turns"}
    yield (
        "wolfpack, batch 1024, in turn",
        lambda: ours(task, batch=min(1024, task.n), beta="search", **turns),
    )
    yield "wolfpack, automatic batch, reduced", lambda: ours(task, variance_reduction=True)
    yield "scikit-learn SGD", lambda: sgd(task)
    for m in (32, 1024):
        yield f"SGD, batch {m}", lambda m=m: minibatch_sgd(task, min(m, task.n))
    for solver in ("saga", "sag", "lbfgs") if task.l1 == 0 else ("saga",):
        yield f"scikit-learn {solver}", lambda solver=solver: logistic(task, solver)
    if find_spec("copt") and task.l1 == 0:
        yield "copt saga", lambda: copt(task, "saga")
        yield "copt svrg", lambda: copt(task, "svrg")
    if find_spec("skglm") and not issparse(task.X):
        yield "skglm prox-Newton", lambda: skglm(task)


def reached(trace: Trace, level: float) -> tuple[float, float]:
    """Passes and seconds until F is below ``level``, infinite if it never was."""
    return next(((p, s) for p, s, value in trace if value <= level), (math.inf, math.inf))


def measure(task: Task, repeats: int, words: list[str]) -> dict[str, list[list[float]]]:
    """Medians of passes and seconds, for each method and target."""
    task.best = wp.minimize_composite(
        task.G, task.H, tol=1e-9 * task.start, beta="search", max_rounds=10_000, progress=False
    ).fun
    kept = [m for m in methods(task) if not words or any(m[0].startswith(word) for word in words)]
    traces: dict[str, list[Trace]] = {name: [] for name, _ in kept}
    for repeat in range(repeats):
        for i in np.random.default_rng(repeat).permutation(len(kept)):  # nobody is always first
            traces[kept[i][0]].append(kept[i][1]())
    table = {}
    for name, runs in traces.items():
        levels = [task.best + t * (task.start - task.best) for t in TARGETS]
        found = [[reached(run, level) for run in runs] for level in levels]
        table[name] = [[statistics.median(x) for x in zip(*f, strict=True)] for f in found]
    return table


def show(title: str, table: dict[str, list[list[float]]]) -> None:
    print(f"\n## {title}\n")
    print("| method | passes to 1e-3 | 1e-6 | seconds to 1e-3 | 1e-6 | ratio at 1e-3 | 1e-6 |")
    print("|---|---|---|---|---|---|---|")
    fastest = [min(row[i][1] for row in table.values()) for i in range(2)]
    for name, ((p3, s3), (p6, s6)) in table.items():
        cells = [_number(x) for x in (p3, p6, s3, s6, s3 / fastest[0], s6 / fastest[1])]
        print(f"| {name} | {' | '.join(cells)} |")


def _number(x: float) -> str:
    return "-" if not math.isfinite(x) else f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--problem", action="append")
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    file = given.show or given.json
    results = json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else {}
    choices = results.pop("steps of SGD", {})
    if given.show:
        for title, table in results.items():
            show(title, table)
        return
    with threadpool_limits(1):
        for name, make in tasks(given.seconds).items():
            if given.problem and name not in given.problem:
                continue
            task = make()
            task.tuned = choices.setdefault(task.name, {})
            ratio = task.G.L / task.mu
            title = f"{task.name} (n = {task.n:,}, d = {task.d:,}, beta/mu = {ratio:,.0f})"
            results.setdefault(title, {}).update(measure(task, given.repeats, given.method))
            show(title, results[title])
    if given.json:
        results["steps of SGD"] = choices
        given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
