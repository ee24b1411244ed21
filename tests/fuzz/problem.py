"""A problem whose minimum is known without the library, and what a run of it must satisfy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fuzz.exact import Vector, vector

FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True)
class Problem:
    """A function, a set, and the same function in exact arithmetic.

    Attributes
    ----------
    area : str
        Kind of function and precision, the row of the report.
    place : str
        Name of the set.
    f, K : Any
        What `wolfpack.minimize` is given.
    value : callable
        f in exact arithmetic, or with 40 digits: takes and returns fractions.
    least : Fraction
        f at a point that is exactly in K. It is min f over K where the minimum is known exactly,
        and otherwise larger by less than the square of a rounding error.
    starts : list
        Starting points to choose from; None stands for the set's own.
    options : dict
        Options that every run of this problem needs, such as L.
    """

    area: str
    place: str
    f: Any
    K: Any
    value: Callable[[Vector], Fraction]
    least: Fraction
    starts: list[Any] = field(default_factory=lambda: [None])
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What was found about one run: its faults, and true error divided by the gap."""

    status: str
    faults: list[str]
    ratio: float = -math.inf


def judge(problem: Problem, res: Any, tol: float, rtol: float | None, rounds: int) -> Verdict:
    """Compare a result with the truth."""
    faults = [*_certificate(problem, res), *_status(res, tol, rtol, rounds)]
    error = problem.value(vector(_host(res.x))) - problem.least
    ratio = -math.inf
    if error > 0:
        positive = math.isfinite(res.gap) and res.gap > 0
        ratio = float(error / Fraction(res.gap)) if positive else math.inf * (res.gap <= 0)
        ratio = ratio if ratio == ratio else 0.0
    if not math.isnan(res.gap) and res.gap < math.inf and error > Fraction(res.gap):
        faults.append(f"true error {float(error):.3g} exceeds gap {res.gap:.3g}")
    return Verdict(str(res.status), faults, ratio)


def _certificate(problem: Problem, res: Any) -> list[str]:
    faults = []
    if not res.gap > 0:
        faults.append(f"gap {res.gap} is not positive")
    bound, recorded = res.lower_bound, max(map(float, res.history["lower_bound"]))
    if recorded > -math.inf and not Fraction(recorded) <= problem.least:
        faults.append(f"a recorded bound exceeds the minimum: {recorded:.9g}")
    if math.isnan(bound) or bound == math.inf:
        faults.append(f"lower bound {bound}")
    elif bound > -math.inf and Fraction(bound) > problem.least:
        excess = float(Fraction(bound) - problem.least)
        faults.append(f"lower bound {bound:.9g} exceeds the minimum by {excess:.3g}")
    ulps = 2.0**-50 * (abs(res.fun) + abs(bound))
    if math.isfinite(res.gap) and res.gap < (res.fun - bound) * (1 - 1e-6) - ulps:
        faults.append(f"gap {res.gap:.3g} is below fun - lower_bound = {res.fun - bound:.3g}")
    violation, size = problem.K.violation(_host(res.x)), max(1.0, problem.K.radius)
    eps = float(np.finfo(_host(res.x).dtype).eps)
    if not violation <= 1e3 * eps * size:
        faults.append(f"x violates the constraints by {violation:.3g}")
    return faults


def _status(res: Any, tol: float, rtol: float | None, rounds: int) -> list[str]:
    faults = []
    if res.success != (res.status == "converged"):
        faults.append(f"success is {res.success} with status {res.status}")
    enough = max(tol, 0.0 if rtol is None else rtol * abs(res.fun))
    if res.success and not res.gap <= enough:
        faults.append(f"converged with gap {res.gap:.3g} above {enough:.3g}")
    if res.status not in ("converged", "stalled", "max_rounds"):
        faults.append(f"status {res.status}")
    if res.status == "max_rounds" and res.nit < rounds:
        faults.append(f"status max_rounds in round {res.nit} of {rounds}")
    return faults


def _host(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else np.asarray(x.cpu() if hasattr(x, "cpu") else x)
