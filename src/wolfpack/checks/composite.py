"""The checks of one composite run: what `minimize_composite` tests by default of a user's G.

At the start, the slope of G along one segment of the domain of H. In rounds 0, 1, 2, 4, 8 and so
on, tangents against values. Before a gap is handed out, the slope again, at the best point.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, Structured, like, norm
from ..problem import (
    CompositeEvaluation,
    CompositeProblem,
    LimitReached,
    NonFiniteError,
    Scatter,
    Violation,
)
from .audit import Audit
from .convexity import Sample
from .finding import Finding
from .scatter import scatter
from .slopes import disproof

_STEPS = 64.0
"""Gradient steps within which the gradient is tested; the first segment has a sixteenth of them."""


class SmoothPart:
    """G of a composite problem: evaluations whose value is G's, not that of F = G + H."""

    def __init__(self, problem: CompositeProblem) -> None:
        self.problem = problem

    def evaluate(self, y: Array) -> CompositeEvaluation:
        """Evaluate G at y, which is counted."""
        return part(self.problem.evaluate(y))

    def violation(
        self, at: CompositeEvaluation, y: Array, at_next: CompositeEvaluation, y_next: Array
    ) -> Violation | None:
        """Return what the evaluations at two points prove wrong, None if nothing."""
        return self.problem.violation(at, y, at_next, y_next)


def part(at: CompositeEvaluation) -> CompositeEvaluation:
    """Return an evaluation of G from one of F."""
    return at._replace(value=at.smooth)


class CompositeAudit(Audit):
    """Tests of one composite run; G has values and a gradient."""

    function, place, advice = "G", "the domain of H", ""

    def __init__(self, problem: CompositeProblem) -> None:
        G = problem.objective
        own = G.has_values and not G.tested
        smooth, convexity = SmoothPart(problem), own and G.convex is None
        super().__init__(problem, smooth, gradient=own, convexity=convexity)
        self.problem = problem
        self._first: Array = None

    def begin(self, x: Array, at: CompositeEvaluation, vertex: None) -> Finding | None:
        """Test the gradient at the first point."""
        if at.gradient is None or isinstance(x, Structured):
            return None
        self._first, at = x, part(at)
        reach = self._reach(x, at)
        if disproof(self.smooth, x, at, self._away(x, reach, 11) - x) is None:
            return None
        return self.blame(x, at, [self._away(x, reach, key) for key in (11, 12, 13)])

    def note(self, x: Array, at: CompositeEvaluation) -> Finding | None:
        """Compare a round with those before."""
        return None if at.gradient is None else super().note(x, at)

    def sample(self, x: Array, at: CompositeEvaluation) -> Sample:
        """Return a point of the run with the evaluation of G there."""
        return Sample(x, part(at))

    def conclude(self, x: Array, at: CompositeEvaluation | None, vertex: None) -> Finding | None:
        """Test the gradient at the best point: towards the first one, and in a new direction."""
        if isinstance(x, Structured):
            return None
        try:
            here = self.smooth.evaluate(x) if at is None else part(at)
            moved = 0.0 if self._first is None else norm(self._first - x)
            points = [self._away(x, moved or self._reach(x, here), 14)]
            if moved > 0.0:
                points.append(self._first)
            return self.blame(x, here, points)
        except (NonFiniteError, LimitReached):
            return None  # where G is not finite, or beyond a limit, this test cannot go

    def scatter(self, x: Array, at: CompositeEvaluation | None, vertex: None) -> Scatter | None:
        """Measure the errors of values and gradients of G at x, in a random direction."""
        if not self.measures or isinstance(x, Structured):
            return None
        try:
            here = self.smooth.evaluate(x) if at is None else part(at)
            if here.gradient is None:
                return None
            return scatter(self.smooth, x, here, self._away(x, self._reach(x, here), 15) - x)
        except (NonFiniteError, LimitReached):
            return None

    def _reach(self, y: Array, at: CompositeEvaluation) -> float:
        """Return how far from y to look: some gradient steps, but not beyond what F allows.

        F is mu-strongly convex: if G >= 0, and y minimises H, no minimiser of F is farther away
        than sqrt(2 G(y) / mu).
        """
        size, mu, L = norm(at.gradient), self.problem.mu, self.problem.L
        reach = math.sqrt(2.0 * abs(at.value) / mu) or size / mu or 1.0 + norm(y)
        return min(reach, _STEPS * size / L) if size > 0.0 and L else reach

    def _away(self, y: Array, reach: float, key: int) -> Array:
        """Return a point of the domain of H, about so far from y, in a random direction."""
        H, mu = self.problem.regularizer, self.problem.mu
        u = np.random.Generator(np.random.Philox(key=key)).standard_normal(tuple(y.shape))
        u = like(u / math.sqrt(u.size), y)
        tip = y + reach * u
        return tip if math.isfinite(H.value(tip)) else self.problem.solve(2.0 * mu * reach * u, mu)
