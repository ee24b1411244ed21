"""What the checks of all runs share: tangents against values, and who is to blame."""

from __future__ import annotations

from typing import Any

from ..arrays import Array, Structured
from ..problem import CompositeProblem, Problem, Scatter, unit_of
from .convexity import Breach, Sample, Tangents
from .finding import Finding
from .scatter import scatter
from .slopes import Smooth, blame_gradient, chance, noise


class Audit:
    """Tests of one run.

    Parameters
    ----------
    problem : Problem or CompositeProblem
        What allows for errors of f that are measured.
    smooth : Smooth
        The function, f of `minimize` or G of `minimize_composite`. Evaluations are counted there.
    gradient, convexity : bool
        Whether the gradient, and whether convexity, is to be tested.
    """

    function, place = "f", "K"
    advice = " Pass convex=False to search for a stationary point."

    def __init__(
        self, problem: Problem | CompositeProblem, smooth: Smooth, gradient: bool, convexity: bool
    ) -> None:
        self.smooth, self.gradient, self.convexity = smooth, gradient, convexity
        self._allow_for = problem.allow_for
        # other classes of a user's know the errors of their values
        self.measures = gradient and problem.objective.number_dual
        self.tangents = Tangents(smooth)

    @property
    def active(self) -> bool:
        """Whether there is anything to test."""
        return self.gradient or self.convexity

    @property
    def finding(self) -> Finding | None:
        """What disproves the oracle, if anything does."""
        return None

    @property
    def remark(self) -> str:
        """What is to be said of an oracle that is inexact but not wrong."""
        return ""

    def begin(self, x: Array, at: Any, vertex: Any) -> Finding | None:
        """Test the gradient at the first point; ``vertex`` is the oracle's first answer."""
        raise NotImplementedError

    def conclude(self, x: Array, at: Any, vertex: Any) -> Finding | None:
        """Look for what would disprove a certificate at x, the best point of the run.

        ``at`` is None where the evaluation is not kept, ``vertex`` the oracle's last answer.
        """
        raise NotImplementedError

    def scatter(self, x: Array, at: Any, vertex: Any) -> Scatter | None:
        """Measure the errors of values and gradients at x; None where nothing can be said."""
        return None

    def sample(self, x: Array, at: Any) -> Sample:
        """Return a point of the run with the evaluation of the function there."""
        return Sample(x, at)

    def note(self, x: Array, at: Any) -> Finding | None:
        """Compare a round with those before."""
        if not (self.gradient or self.convexity) or isinstance(x, Structured):
            return None
        found = self.tangents.add(*self.sample(x, at))
        return None if found is None else self.explain(found)

    def explain(self, found: Breach, where: str = "") -> Finding | None:
        """Say whether the gradient or convexity is at fault for a value below a tangent.

        None means that values of f scatter as much, so that nothing is proved.
        """
        if self.is_scatter(found.here, found.there):
            return None
        (x, at), there, depth = found
        d = there.x - x
        if self.gradient:
            points = [there.x, *(s.x for s in self.tangents.samples if s.x is not x)]
            blamed = self.blame(x, at, points[:6])
            if blamed is not None:
                return blamed
        if depth <= 30.0 * noise(self.smooth, x, at, d, 0.01):
            return None
        random = chance(self.smooth, x, at, self.function)
        return random or Finding(
            "convexity",
            f"{self.function} is not convex: {where}{' ' if where else ''}it is {depth:.3g} below "
            "one of its tangents. No gap can be certified; the value and the point are still "
            f"valid.{self.advice}",
        )

    def is_scatter(self, here: Sample, there: Sample) -> bool:
        """Tell whether errors of values explain what two evaluations seem to prove wrong.

        They are measured, and the run allows for them from then on.
        """
        if not self.measures or isinstance(here.x, Structured):
            return False
        seen = scatter(self.smooth, here.x, here.at, there.x - here.x)
        if seen is None:
            return True
        # a constant error of the gradient is what may have been proved, and not an excuse
        self._allow_for(seen._replace(constant=0.0), here.x, unit_of(here.at.gradient))
        return self.smooth.violation(here.at, here.x, there.at, there.x) is None

    def blame(self, x: Array, at: Any, points: list[Array]) -> Finding | None:
        """Return what is wrong with the gradient at x, seen from there towards other points."""
        found = blame_gradient(self.smooth, x, at, points, self.function, self.place)
        return found and (chance(self.smooth, x, at, self.function) or found)
