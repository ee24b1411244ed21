"""Libraries that penalise the l1 norm instead of bounding it, given the right multiplier.

At the solution x of min f over ||x||_1 <= r with a bound that binds, -grad f(x) lies in
lambda times the subdifferential of the norm, lambda = ||grad f(x)||_inf; hence x also minimises
f + lambda ||.||_1. These libraries are given that lambda, which in practice takes a search, and
their points are scaled onto the ball. They run again and again with smaller tolerances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..front.minimize import minimize
from .cases import Case
from .watch import Point, Watcher

TOLERANCES = tuple(10.0**-j for j in range(1, 13))


def liblinear(case: Case, target: float, limit: float) -> list[Point]:
    """Follow scikit-learn's coordinate descent."""
    from sklearn.linear_model import LogisticRegression

    C = 1.0 / multiplier(case)

    def model(tol: float) -> Any:
        fixed = {"solver": "liblinear", "fit_intercept": False, "max_iter": 10_000}
        return LogisticRegression(l1_ratio=1.0, C=C, tol=tol, **fixed)

    return _follow(case, target, limit, model)


def skglm(case: Case, target: float, limit: float) -> list[Point]:
    """Follow skglm's prox-Newton method with working sets."""
    from skglm import SparseLogisticRegression

    alpha = multiplier(case) / len(case.data["labels"])  # its loss is a mean

    def model(tol: float) -> Any:
        return SparseLogisticRegression(alpha, tol=tol, fit_intercept=False, max_iter=1000)

    model(0.1).fit(np.asfortranarray(case.data["A"]), case.data["labels"])  # compiles
    return _follow(case, target, limit, model)


def multiplier(case: Case) -> float:
    """Return lambda, from a solution to high accuracy."""
    x = minimize(case.f, case.K, method="projected", tol=0.0, rtol=1e-12, progress=False).x
    return float(abs(case.f.value_and_gradient(x)[1]).max())


def _follow(case: Case, target: float, limit: float, model: Callable[[float], Any]) -> list[Point]:
    A, labels = np.asfortranarray(case.data["A"]), case.data["labels"]  # they work by columns
    watcher = Watcher(case, target, limit)

    def run() -> None:
        for tol in TOLERANCES:
            fitted = model(tol)
            watcher.restart()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # tolerances that cannot be met end in warnings
                x = fitted.fit(A, labels).coef_.reshape(-1)
            watcher.see(x * min(1.0, case.K.r / float(np.abs(x).sum() or 1.0)), None)

    return watcher.follow(run)
