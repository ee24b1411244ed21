"""Sound problems in unsound units: data and sets from 1e-310 to 1e310, for every method."""

from __future__ import annotations

import math
import random
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import wolfpack as wp
from wolfpack.front.methods import METHODS

from .calls import EDGES, A, B, fit, use_result
from .judge import FalseClaim, Verdict, judge

_LABELS = np.where(A[:, 0] > 0, 1.0, -1.0)
OBJECTIVES = {
    "least squares": lambda a, b: wp.objectives.LeastSquares(a * A, b * B),
    "quadratic": lambda a, b: wp.objectives.Quadratic(a * (A.T @ A), b * A[0]),
    "distance": lambda a, b: wp.objectives.Quadratic(a, b * A[0]),
    "logistic": lambda a, b: wp.objectives.Logistic(a * A, _LABELS),
    "huber": lambda a, b: wp.objectives.Huber(a * A, b * B),
    "function": lambda a, b: wp.objectives.Function(lambda x: _half_square(x, a, b)),
}
SETS = {
    "simplex": lambda r: wp.sets.Simplex(3, r),
    "l1 ball": lambda r: wp.sets.L1Ball(3, r),
    "l2 ball": lambda r: wp.sets.L2Ball(3, r),
    "box": lambda r: wp.sets.Box(np.zeros(3), np.full(3, r)),
    "hull": lambda r: wp.sets.ConvexHull(r * A),
    "paths": lambda r: wp.sets.Translate(wp.sets.DagFlow(EDGES[:3], 0, 2), np.full(3, r)),
}
ESTIMATORS = ("SimplexRegressor", "AcceleratedRegressor", "TraceNormRegressor", "MatrixCompletion")


def _half_square(x: np.ndarray, a: float, b: float) -> tuple[float, np.ndarray]:
    residual = a * x - b
    return 0.5 * float(residual @ residual), a * residual


class Scaled(NamedTuple):
    """A problem and its units, as powers of ten."""

    objective: str
    region: str
    method: str
    a: float
    b: float
    r: float


def inputs(count: int, seed: int = 0) -> list[Scaled]:
    """Return ``count`` problems: half of them with one unusual unit, half with three."""
    rng = random.Random(seed)
    problems: list[Scaled] = []
    for _ in range(count):
        units = [0.0, 0.0, 0.0]
        for i in range(3):
            if rng.random() < 0.5:
                units[i] = rng.choice((rng.uniform(-310, 310), rng.uniform(-20, 20), 12.0, 160.0))
        if rng.random() < 0.1 and find_spec("sklearn") is not None:
            problems.append(Scaled("estimator", "", rng.choice(ESTIMATORS), *units))
            continue
        method = rng.choice(("auto", *METHODS))
        problems.append(Scaled(rng.choice([*OBJECTIVES]), rng.choice([*SETS]), method, *units))
    return problems


def run(given: Scaled) -> Verdict:
    """Solve the problem, and check what is claimed of it."""
    a, b, r = (10.0**unit if unit < 308.2 else math.inf for unit in given[3:])

    def solve() -> None:
        with np.errstate(all="ignore"):
            if given.objective == "estimator":
                _fit(given.method, a, b)
                return
            f, K = OBJECTIVES[given.objective](a, b), SETS[given.region](r)
            result = wp.minimize(f, K, method=given.method, max_rounds=5, max_seconds=3.0)
            use_result(result, f, K)
            if math.isnan(result.gap) or result.gap < 0:
                raise FalseClaim(f"the gap is {result.gap}")

    return judge(solve)


def _fit(name: str, a: float, b: float) -> None:
    kind: Any = getattr(wp.estimators, name)
    y = b * (np.stack([B, B], axis=1) if name == "TraceNormRegressor" else B)
    fit(kind, a * A, y, max_iter=5)
