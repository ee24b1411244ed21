"""The default call of `minimize_composite` against our own settings and against other libraries.

    python benchmarks/composite_auto.py [--problem WORD] [--seconds 5] [--repeats 3] [--json FILE]
    python benchmarks/composite_auto.py --show FILE

Each run ends when F is within 1e-6 of F(0) - F* above F*, or after ``--seconds``. Times are
processor time from the data in memory to that point, constants, copies and certificates included;
the least of the repeats counts. Methods of a problem run in turns, and end when they have taken
three times as long as the default. Other libraries have no such stop: they run with smaller and
smaller tolerances, and the first run that arrives counts; its compilation does not. F* is the
lowest value of a run to high accuracy and of all others. One BLAS thread.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, sparse
from sklearn import datasets, linear_model
from threadpoolctl import threadpool_limits

import wolfpack as wp
from wolfpack import regularizers as reg
from wolfpack.objectives import (
    Huber,
    LeastSquares,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    SquaredHinge,
    Weighted,
)

TARGET = 1e-6
TOLERANCES = [10.0**-i for i in range(1, 15)]
SETTINGS: dict[str, dict[str, Any]] = {
    "search": {"beta": "search", "scale": None},
    "newton": {"method": "newton"},
    "newton, scaled": {"method": "newton", "scale": "auto"},
    "search, scaled": {"beta": "search", "scale": "auto"},
    "as printed": {"method": "accelerated"},
    "reduced": {"variance_reduction": True},
    "1024, reduced": {"variance_reduction": True, "batch": 1024, "beta": "search"},
}
Model = Callable[[float], Any]  # a tolerance -> an estimator that `fit` trains


@dataclass
class Problem:
    """A problem, the options that its user gives, and the models of other libraries for it."""

    loss: Callable[..., Any]
    X: Any
    b: np.ndarray
    H: Any
    models: dict[str, Model] = field(default_factory=dict[str, Model])
    bounds: tuple[float, float] | None = None
    smooth: bool = False
    given: dict[str, Any] = field(default_factory=dict[str, Any])
    best: float = math.inf
    start: float = math.inf

    def objective(self) -> Any:
        return self.loss(self.X, self.b)

    @property
    def level(self) -> float:
        return self.best + TARGET * (self.start - self.best)


# ---- our own runs and those of others: processor time to the level, infinite where it is not met


def ours(problem: Problem, options: dict[str, Any], seconds: float) -> float:
    began, arrived = time.process_time(), math.inf

    def note(at: Any) -> None:
        nonlocal arrived
        used = time.process_time() - began
        problem.best = min(problem.best, at.fun)
        if at.fun <= problem.level:
            arrived = used
        if used > seconds or arrived < math.inf:
            raise StopIteration

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wp.minimize_composite(
            problem.objective(), problem.H, tol=0.0, max_rounds=10**9, callback=note, **options
        )
    return arrived


def certified(problem: Problem, options: dict[str, Any], seconds: float) -> float:
    """The time until our certificate is as good."""
    began, tol = time.process_time(), TARGET * (problem.start - problem.best)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = wp.minimize_composite(
            problem.objective(), problem.H, tol=tol, max_seconds=10 * seconds, **options
        )
    return time.process_time() - began if res.success else math.inf


def lbfgs(problem: Problem, seconds: float) -> float:
    began, arrived = time.process_time(), math.inf
    G, mu = problem.objective(), problem.H.mu
    shape = G.shape

    def value(y: np.ndarray) -> tuple[float, np.ndarray]:
        found, gradient = G.value_and_gradient(y.reshape(shape))
        return found + 0.5 * mu * float(y @ y), gradient.ravel() + mu * y

    def note(intermediate_result: Any) -> None:
        nonlocal arrived
        used = time.process_time() - began
        problem.best = min(problem.best, intermediate_result.fun)
        if intermediate_result.fun <= problem.level:
            arrived = used
        if used > seconds or arrived < math.inf:
            raise StopIteration

    start = np.zeros(math.prod(shape))
    bounds = None if problem.bounds is None else [problem.bounds] * start.size
    if bounds is not None:
        start = np.clip(start, *problem.bounds)
    limits = {"maxiter": 10**6, "maxfun": 10**7, "ftol": 0.0, "gtol": 0.0}
    optimize.minimize(
        value, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=note, options=limits
    )
    return arrived


def model(problem: Problem, make: Model, seconds: float) -> float:
    G, total = problem.objective(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(1.0).fit(problem.X, problem.b)  # compiles
        for tol in TOLERANCES:
            began = time.process_time()
            y = np.asarray(make(tol).fit(problem.X, problem.b).coef_)
            used = time.process_time() - began
            y = y[0] if len(G.shape) == 1 and y.ndim == 2 else y.T
            value = G.value(np.ascontiguousarray(y)) + problem.H.value(y)
            problem.best, total = min(problem.best, value), total + used
            if value <= problem.level:
                return used
            if total > 3 * seconds:
                break
    return math.inf


# ---- models of scikit-learn and skglm for mean losses, with a ridge mu and an l1 weight


def logistic(n: int, mu: float, l1: float = 0.0, solver: str = "lbfgs") -> Model:
    return lambda tol: linear_model.LogisticRegression(
        C=1 / (n * (mu + l1)), l1_ratio=l1 / (mu + l1), solver=solver, fit_intercept=False, tol=tol,
        max_iter=100_000, random_state=0,
    )  # fmt: skip


def logistics(n: int, mu: float) -> dict[str, Model]:
    return {f"scikit-learn {s}": logistic(n, mu, solver=s) for s in ("lbfgs", "newton-cholesky")}


def ridge(n: int, mu: float, solver: str = "cholesky") -> dict[str, Model]:
    return {
        f"scikit-learn {solver}": lambda tol: linear_model.Ridge(
            n * mu, fit_intercept=False, solver=solver, tol=tol
        )
    }


def net(n: int, mu: float, l1: float) -> dict[str, Model]:
    alpha = mu + l1
    return {
        "scikit-learn cd": lambda tol: linear_model.ElasticNet(
            alpha, l1_ratio=l1 / alpha, fit_intercept=False, tol=tol, max_iter=10**6
        ),
        **skglm("Quadratic", mu, l1, "AndersonCD"),
    }


def skglm(loss: str, mu: float, l1: float, solver: str = "ProxNewton") -> dict[str, Model]:
    from skglm import GeneralizedLinearEstimator, datafits, penalties, solvers

    alpha = mu + l1

    def make(tol: float) -> Any:
        return GeneralizedLinearEstimator(
            getattr(datafits, loss)(),
            penalties.L1_plus_L2(alpha, l1 / alpha),
            getattr(solvers, solver)(max_iter=1000, tol=tol, fit_intercept=False),
        )

    return {"skglm": make}


def poisson(mu: float) -> dict[str, Model]:
    def make(solver: str, tol: float) -> Any:
        return linear_model.PoissonRegressor(
            alpha=mu, fit_intercept=False, solver=solver, tol=tol, max_iter=10_000
        )

    return {f"scikit-learn {s}": partial(make, s) for s in ("lbfgs", "newton-cholesky")}


# ---- the problems

mean_squares = partial(LeastSquares, reduction="mean")


def standard(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


def gaussian(n: int, d: int, seed: int, rho: float = 0.0, kept: int = 0) -> Any:
    """Correlated Gaussian features, and scores of a sparse model with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d if rho else 0):
        X[:, j] = rho * X[:, j - 1] + math.sqrt(1 - rho**2) * X[:, j]
    y = np.zeros(d)
    y[rng.permutation(d)[: kept or d]] = rng.standard_normal(kept or d)
    score = X @ y
    return X, score / score.std() + 0.5 * rng.standard_normal(n)


def words(n: int, d: int, per_row: int, seed: int) -> Any:
    """Rows with few entries, some columns far fuller than others, like texts."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(rng.zipf(1.3, n * per_row) - 1, d - 1) * 7919 % d
    rows = np.repeat(np.arange(n), per_row)
    X = sparse.csr_matrix((rng.random(n * per_row) + 0.5, (rows, columns)), shape=(n, d))
    score = X @ rng.standard_normal(d)
    return X, score - np.median(score) + 0.5 * rng.standard_normal(n)


def units(X: np.ndarray, seed: int) -> np.ndarray:
    """Columns in units of 1e-3 to 1e3."""
    return X * 10 ** np.random.default_rng(seed).uniform(-3, 3, X.shape[1])


def problems() -> dict[str, Callable[[], Problem]]:
    def cancer(l1: float = 0.0, raw: bool = False) -> Problem:
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return labelled(X if raw else standard(X), y, 1 / len(y), l1)

    def digits(l1: float = 0.0) -> Problem:
        X, y = datasets.load_digits(return_X_y=True)
        return labelled(X / 16, y % 2, 1 / len(y), l1)

    def labelled(X: Any, score: np.ndarray, mu: float, l1: float = 0.0, **more: Any) -> Problem:
        n, b = X.shape[0], np.where(score > 0, 1.0, -1.0)
        if l1 == 0.0:
            return Problem(
                Logistic, X, b, reg.SquaredNorm(mu), logistics(n, mu), smooth=True, **more
            )
        models = {"scikit-learn saga": logistic(n, mu, l1, "saga")} | skglm("Logistic", mu, l1)
        return Problem(Logistic, X, b, reg.ElasticNet(l1, mu), models, **more)

    def several(X: Any, y: np.ndarray, mu: float, l1: float = 0.0) -> Problem:
        loss, n = partial(Multinomial, classes=int(y.max()) + 1), len(y)
        if l1 == 0.0:
            return Problem(loss, X, y, reg.SquaredNorm(mu), logistics(n, mu), smooth=True)
        models = {"scikit-learn saga": logistic(n, mu, l1, "saga")}
        return Problem(loss, X, y, reg.ElasticNet(l1, mu), models)

    def squares(X: Any, b: np.ndarray, mu: float, l1: float = 0.0, share: float = 0.0) -> Problem:
        """Ridge, elastic net, or elastic net with a share of the least l1 that gives y = 0."""
        n = X.shape[0]
        if share:
            l1 = share * float(abs(X.T @ b).max()) / n
        if l1 == 0.0:
            models = ridge(n, mu, "sparse_cg" if sparse.issparse(X) else "cholesky")
            return Problem(mean_squares, X, b, reg.SquaredNorm(mu), models, smooth=True)
        return Problem(mean_squares, X, b, reg.ElasticNet(l1, mu), net(n, mu, l1))

    def plain(loss: Any, X: Any, b: np.ndarray, H: Any, **more: Any) -> Problem:
        return Problem(loss, X, b, H, **more)

    def hinge(data: Any, H: Any) -> Problem:
        return plain(SquaredHinge, data[0], np.sign(data[1]), H, smooth=True)

    def counts(X: Any, score: np.ndarray, mu: float, seed: int = 0) -> Problem:
        b = np.random.default_rng(seed).poisson(np.exp(np.clip(score, None, 3))).astype(float)
        return Problem(Poisson, X, b, reg.SquaredNorm(mu), poisson(mu), smooth=True)

    def weighted(batch: int | None) -> Problem:
        X, score = gaussian(2000, 20, 30)
        weights = 10 ** np.random.default_rng(0).uniform(-3, 3, 2000)
        weights /= weights.mean()

        def loss(X: Any, b: Any) -> Any:
            return Weighted(Logistic(X, b), weights)

        given = {} if batch is None else {"batch": batch}
        return plain(loss, X, np.sign(score), reg.SquaredNorm(1e-3), smooth=True, given=given)

    def outputs(seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1000, 60))
        Y = X @ rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20))
        return X, Y + rng.standard_normal(Y.shape)

    wine = datasets.load_wine(return_X_y=True)
    iris = datasets.load_iris(return_X_y=True)
    diabetes = datasets.load_diabetes(return_X_y=True)
    figures = datasets.load_digits(return_X_y=True)
    groups = [np.arange(i, i + 5) for i in range(0, 200, 5)]
    rng = np.random.default_rng(9)
    small = gaussian(2000, 30, 20)
    return {
        "breast cancer": cancer,
        "digits": digits,
        "breast cancer, l1": lambda: cancer(0.01),
        "digits, l1": lambda: digits(0.01),
        "sparse 100,000 x 10,000": lambda: labelled(*words(100_000, 10_000, 10, 1), 1e-5),
        "lasso 100 x 5,000": lambda: squares(*gaussian(100, 5000, 2, kept=10), 1e-4, share=0.1),
        "lasso 1,000 x 2,000": lambda: squares(*gaussian(1000, 2000, 3, kept=50), 1e-5, share=0.05),
        "lasso, correlated": lambda: squares(*gaussian(500, 500, 4, 0.95, 20), 1e-4, share=0.02),
        "lasso 50,000 x 100": lambda: squares(*gaussian(50_000, 100, 5, kept=20), 1e-4, share=0.05),
        "Poisson 2,000 x 50": lambda: counts(*gaussian(2000, 50, 6), 1e-3),
        "Poisson, correlated": lambda: counts(*gaussian(5000, 30, 7, 0.9), 1e-4),
        "text, l1": lambda: labelled(*words(20_000, 20_000, 30, 8), 1e-6, 1e-4),
        "text, ridge": lambda: labelled(*words(20_000, 20_000, 30, 8), 1e-4),
        "text, least squares": lambda: squares(*words(20_000, 20_000, 30, 8), 1e-3),
        "text, squared hinge": lambda: hinge(words(20_000, 20_000, 30, 8), reg.SquaredNorm(1e-4)),
        "wine, raw": lambda: several(*wine, 1e-3),
        "iris, raw": lambda: several(*iris, 1e-3),
        "breast cancer, raw": lambda: cancer(raw=True),
        "digits, 10 classes": lambda: several(figures[0] / 16, figures[1], 1e-3),
        "digits, 10 classes, l1": lambda: several(figures[0] / 16, figures[1], 1e-4, 1e-3),
        "diabetes": lambda: squares(diabetes[0], diabetes[1] - diabetes[1].mean(), 1e-4),
        "diabetes, lasso": lambda: squares(standard(diabetes[0]), diabetes[1] - 152, 1e-3, 1.0),
        "units, ridge": lambda: squares(units(small[0], 1), small[1], 1e-3),
        "units, logistic": lambda: labelled(units(small[0], 2), small[1], 1e-3),
        "units, l1": lambda: squares(units(small[0], 3), small[1], 1e-3, share=1e-4),
        "units, Poisson": lambda: counts(units(small[0], 4) / 100, small[1], 1e-4),
        "dense 100,000 x 50": lambda: labelled(*gaussian(100_000, 50, 10, 0.5), 1e-4),
        "ridge 200,000 x 50": lambda: squares(*gaussian(200_000, 50, 11, 0.5), 1e-4),
        "dense 100,000 x 100": lambda: labelled(*gaussian(100_000, 100, 12), 1e-3),
        "wide 200 x 5,000": lambda: labelled(*gaussian(200, 5000, 13), 1e-2),
        "wide 200 x 5,000, l1": lambda: labelled(*gaussian(200, 5000, 13, kept=10), 1e-4, 0.02),
        "square 1,000 x 1,000": lambda: labelled(*gaussian(1000, 1000, 14, 0.5), 1e-3),
        "polynomial": lambda: squares(
            np.vander(np.linspace(-1, 1, 500), 20), np.sin(np.linspace(-5, 5, 500)), 1e-6
        ),
        "huge ridge": lambda: squares(*gaussian(5000, 40, 15), 1e3),
        "Huber": lambda: plain(
            Huber, *gaussian(3000, 40, 16, 0.5), reg.SquaredNorm(1e-3), smooth=True
        ),
        "quantile": lambda: plain(
            partial(Quantile, q=0.9, delta=0.1), *small, reg.SquaredNorm(1e-3), smooth=True
        ),
        "squared hinge": lambda: hinge(gaussian(5000, 50, 17, 0.5), reg.SquaredNorm(1e-3)),
        "groups": lambda: plain(
            mean_squares, *gaussian(500, 200, 18), reg.GroupLasso(groups, 0.02, 1e-3)
        ),
        "sparse groups": lambda: plain(
            Logistic, X := gaussian(500, 200, 19)[0], np.sign(X[:, 0] + X[:, 1]),
            reg.SparseGroupLasso(groups, 0.005, 0.005, 1e-3),
        ),
        "nuclear norm": lambda: plain(mean_squares, *outputs(21), reg.NuclearNorm(0.3, 1e-3)),
        "20 outputs": lambda: squares(*outputs(22), 1e-3),
        "simplex": lambda: plain(
            mean_squares, *gaussian(400, 200, 23), reg.SimplexRidge(200, 1e-3)
        ),
        "entropy": lambda: plain(mean_squares, *gaussian(400, 200, 24), reg.Entropy(1e-3)),
        "box": lambda: plain(
            mean_squares, *gaussian(600, 200, 25, 0.5), reg.BoxRidge(np.zeros(200), 1.0, mu=1e-3),
            bounds=(0.0, 1.0),
        ),
        "signal, total variation": lambda: plain(
            mean_squares, np.eye(500) * math.sqrt(500),
            np.repeat(22.0 * rng.standard_normal(10), 50) + 7.0 * rng.standard_normal(500),
            reg.TotalVariation(0.3, 1e-3),
        ),
        "weights 1e-3..1e3": lambda: weighted(None),
        "weights, batch 32": lambda: weighted(32),
        "weights, batch 1": lambda: weighted(1),
        "batch 32": lambda: labelled(*gaussian(20_000, 30, 26), 1e-3, given={"batch": 32}),
        "batch 1,024": lambda: labelled(*gaussian(50_000, 50, 27), 1e-3, given={"batch": 1024}),
    }  # fmt: skip


# ---- measuring and showing


def measure(problem: Problem, seconds: float, repeats: int) -> dict[str, float]:
    G, H = problem.objective(), problem.H
    y0 = H.argmin(np.zeros(G.shape))
    problem.start = G.value(y0) + H.value(y0)
    goal = 1e-9 * abs(problem.start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.best = wp.minimize_composite(G, H, tol=goal, max_seconds=3 * seconds).fun
    runs: dict[str, Callable[[float], float]] = {"default": partial(ours, problem, problem.given)}
    runs["default, certified"] = partial(certified, problem, problem.given)
    for name, options in SETTINGS.items():
        kept = problem.given | options
        if not (problem.given and "batch" in options) and options.get("batch", 0) < G.n:
            runs[name] = partial(ours, problem, kept)
    if problem.given:
        runs["plain"] = partial(ours, problem, problem.given | {"method": "converging"})
    elif problem.smooth or problem.bounds is not None:
        runs["SciPy L-BFGS-B"] = partial(lbfgs, problem)
    for name, make in ({} if problem.given else problem.models).items():
        # its Hessian of 20,000 columns would take all memory
        if problem.X.shape[1] <= 2000 or "cholesky" not in name:
            runs[name] = partial(model, problem, make)
    table = dict.fromkeys(runs, math.inf)
    for repeat in range(repeats):
        for name, run in runs.items():
            # who takes more than thrice as long as the default is neither best nor measured
            budget = min(seconds, max(0.05, 3.0 * table["default"]))
            if repeat == 0 or table[name] < seconds / 4:
                try:
                    table[name] = min(table[name], run(budget))
                except (TypeError, ValueError) as error:
                    if name.startswith("default"):
                        raise
                    print(f"  {name}: {str(error)[:90]}")
    return table


def row(table: dict[str, float]) -> tuple[float, str, float, str, float, float]:
    """The default's time, the best of our settings, and the best library."""
    own = {k: v for k, v in table.items() if k in SETTINGS or k == "plain"}
    others = {k: v for k, v in table.items() if k not in own and not k.startswith("default")}
    best = min(own, key=lambda name: own[name])
    rival = min(others, key=lambda name: others[name]) if others else ""
    rival_seconds = others[rival] if rival else math.nan
    return table["default"], best, own[best], rival, rival_seconds, table["default, certified"]


def show(results: dict[str, dict[str, float]]) -> None:
    print("| problem | default | certified | best of our settings | ratio | best library | ratio |")
    print("|---|---|---|---|---|---|---|")
    first: list[float] = []
    second: list[float] = []
    for name, table in results.items():
        used, best, own, rival, other, proof = row(table)
        first.append(used / own if own < math.inf else 1.0)
        second.append(used / other)
        library = f"{rival}: {_seconds(other)} | {_ratio(used / other)}" if rival else "- | -"
        cells = f"{_seconds(used)} | {_seconds(proof)} | {best}: {_seconds(own)}"
        print(f"| {name} | {cells} | {_ratio(first[-1])} | {library} |")
    known = [ratio for ratio in second if not math.isnan(ratio)]
    print(
        f"\nWithin 1.5x of our settings: {sum(r <= 1.5 for r in first)} of {len(first)}. Within 3x "
        f"of the best library: {sum(r <= 3 for r in known)} of {len(known)}."
    )


def _seconds(x: float) -> str:
    if not math.isfinite(x):
        return "-"
    return f"{1e3 * x:,.1f} ms" if x < 1 else f"{x:.2f} s"


def _ratio(x: float) -> str:
    return "-" if not math.isfinite(x) else f"{x:.2f}" if x < 10 else f"{x:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--problem", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    file = given.show or given.json
    results = json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else {}
    if not given.show:
        with threadpool_limits(1):
            for name, make in problems().items():
                if given.problem and not any(word in name for word in given.problem):
                    continue
                results[name] = measure(make(), given.seconds, given.repeats)
                if given.json:
                    given.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    show(results)


if __name__ == "__main__":
    main()
