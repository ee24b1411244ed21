"""Step rules of one-vertex methods, as objects: how far to go from x along d.

Each rule is called with what the round knows and answers a step in [0, max_step].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from ..arrays import inner
from ..problem import Evaluation, Problem

Array = Any


@dataclass(frozen=True)
class OpenLoop:
    r"""The step :math:`\ell / (k + \ell)`, which looks at nothing; 2 is the classical ell."""

    ell: float = 2.0

    def __post_init__(self) -> None:
        if not self.ell > 0:
            raise ValueError(f"ell must be positive, found {self.ell}")

    def __call__(
        self, problem: Problem, k: int, x: Array, at: Evaluation, d: Array, max_step: float
    ) -> float:
        """Return the step of round ``k``."""
        return min(max_step, self.ell / (k + self.ell))


@dataclass(frozen=True)
class ShortStep:
    r"""The minimiser of the quadratic upper bound, :math:`-\langle g, d\rangle / (L \|d\|^2)`."""

    def __call__(
        self, problem: Problem, k: int, x: Array, at: Evaluation, d: Array, max_step: float
    ) -> float:
        """Return the step along ``d``."""
        curvature = problem.need_L("fw-short") * inner(d, d)
        return _clamped(-inner(at.gradient, d), curvature, max_step)


@dataclass(frozen=True)
class LineSearch:
    """The exact minimiser along d: in closed form for quadratics, else by a bracketed root search.

    Parameters
    ----------
    xtol : float
        Accuracy of the search, relative to the longest step.

    Notes
    -----
    f is convex, so t -> <grad f(x + t d), d> is nondecreasing and its zero is the minimiser;
    Brent's method keeps it bracketed. Each look at the slope counts as one gradient.
    """

    xtol: float = 1e-10

    def __call__(
        self, problem: Problem, k: int, x: Array, at: Evaluation, d: Array, max_step: float
    ) -> float:
        """Return the step along ``d``."""
        slope = inner(at.gradient, d)
        if slope >= 0 or max_step <= 0:
            return 0.0
        curvature = problem.objective.curvature(x, d)
        if curvature is not None:
            return _clamped(-slope, curvature, max_step)
        along = problem.objective.slope_along(x, d)

        def counted(t: float) -> float:
            problem.counts.njev += 1
            return along(t)

        if counted(max_step) <= 0:
            return max_step
        # xtol is absolute in brentq; the values at both ends have opposite signs here
        return float(brentq(counted, 0.0, max_step, xtol=self.xtol * max_step, rtol=1e-12))


def _clamped(descent: float, curvature: float, max_step: float) -> float:
    """Return descent/curvature clamped to [0, max_step], without dividing by zero."""
    if descent <= 0:
        return 0.0
    return max_step if descent >= curvature * max_step else descent / curvature
