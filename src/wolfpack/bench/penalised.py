"""Libraries that penalise the l1 norm instead of bounding it, given the right multiplier.

At the solution x of min f over ||x||_1 <= r with a bound that binds, -grad f(x) lies in
lambda times the subdifferential of the norm, lambda = ||grad f(x)||_inf; hence x also minimises
f + lambda ||.||_1. These libraries are given that lambda, which in practice takes a search, and
their points are scaled onto the ball. They run repeatedly, with smaller and smaller tolerances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..front.minimize import minimize
from .cases import Case
from .referee import Referee

TOLERANCES = tuple(10.0**-j for j in range(1, 13))


class Model(Protocol):
    """A linear model in scikit-learn's manner."""

    coef_: Array

    def fit(self, X: Array, y: Array) -> Model:
        """Set `coef_` from rows and labels."""
        ...


def liblinear(referee: Referee) -> None:
    """Run scikit-learn's coordinate descent."""
    from sklearn.linear_model import LogisticRegression

    fixed = {"solver": "liblinear", "fit_intercept": False, "max_iter": 10_000}
    C = 1.0 / multiplier(referee.case)
    _run(referee, lambda tol: LogisticRegression(l1_ratio=1.0, C=C, tol=tol, **fixed))


def skglm(referee: Referee) -> None:
    """Run skglm's prox-Newton method with working sets."""
    from skglm import SparseLogisticRegression

    data = referee.case.data
    alpha = multiplier(referee.case) / len(data["labels"])  # its loss is a mean

    def model(tol: float) -> Model:
        return SparseLogisticRegression(alpha, tol=tol, fit_intercept=False, max_iter=1000)

    model(0.1).fit(np.asfortranarray(data["A"]), data["labels"])  # compiles
    _run(referee, model)


def multiplier(case: Case) -> float:
    """Return lambda, from a solution to high accuracy."""
    x = minimize(case.f, case.K, method="projected", tol=0.0, rtol=1e-12, progress=False).x
    return float(abs(case.f.value_and_gradient(x)[1]).max())


def _run(referee: Referee, model: Callable[[float], Model]) -> None:
    case = referee.case
    A, labels = np.asfortranarray(case.data["A"]), case.data["labels"]  # they work by columns
    for tol in TOLERANCES:
        fitted = model(tol)
        referee.start_clock()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tolerances that cannot be met end in warnings
            x = fitted.fit(A, labels).coef_.reshape(-1)
        referee.see(x * min(1.0, case.K.r / float(np.abs(x).sum() or 1.0)), None)
