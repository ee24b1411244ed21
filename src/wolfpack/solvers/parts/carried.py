r"""The product of f's matrix with the iterate, carried along the steps of an active set.

For f(x) = loss(A x) or a quadratic with the matrix Q, call the matrix M and z the carried M x. A
step :math:`x_+ = x + t d` between vertices gives :math:`z_+ = z + t M d`, and M d takes only those
columns of M that the vertices have. The norm of the error of z is bounded along the way, with u the
unit roundoff (Lemma E6 of docs/theory/rounding.md):

.. math::

    \delta_+ = s \delta + t \varepsilon + \|M\|_F \bigl(\|x_+ - (x + t d)\| + u (\|x_+\| +
    2 t \|d\|)\bigr) + u (\|z_+\| + 2 t \|M d\|),

s being 1 - t for a Frank-Wolfe step, 1 + t for an away step and 1 for a pairwise step, and
:math:`\varepsilon` the error of the columns. The bound goes into every certificate. When it exceeds
`REFRESH` times that of a fresh product, the product is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...arrays import Array, norm
from ...problem import Evaluation, Problem, accumulation
from ...problem.protocols import Carrier
from ...problem.rounding import UNIT
from .hull import Hull

REFRESH = 4.0
"""Multiple of the error of a fresh product at which a carried one is replaced."""


class Carried(NamedTuple):
    """M x, a bound on its error, and the bound of a fresh product."""

    product: Array
    error: float
    fresh: float


class Shift(NamedTuple):
    """M x, M d along a direction d, the error of M d, and by how much a step t scales that of M x,
    which is 1 + ``growth`` t.
    """

    carrier: Carrier
    at: Carried
    change: Array
    error: float
    growth: int

    def curvature(self, d: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, None otherwise."""
        return self.carrier.curvature(d, self.change)

    def slope_along(self, problem: Problem) -> Callable[[float], float]:
        """Return t -> <grad f(x + t d), d>, each slope counted as a gradient."""
        along = self.carrier.slope_along(self.at.product, self.change)

        def counted(t: float) -> float:
            problem.counts.evaluated(0, 1)
            return along(t)

        return counted

    def step(
        self, problem: Problem, x: Array, d: Array, t: float, x_next: Array
    ) -> tuple[Evaluation, Carried]:
        """Return f at ``x_next``, which is x + t d up to rounding, and the product there."""
        product = self.at.product + t * self.change
        moved = norm(x_next - (x + t * d)) + UNIT * (norm(x_next) + 2.0 * t * norm(d))
        error = (1.0 + self.growth * t) * self.at.error + t * self.error
        error += self.carrier.size * moved + UNIT * (norm(product) + 2.0 * t * norm(self.change))
        if not error <= REFRESH * self.at.fresh:
            return begin(problem, self.carrier, x_next)
        at = problem.evaluate_product(self.carrier, x_next, product, error)
        return at, self.at._replace(product=product, error=error)


def begin(problem: Problem, carrier: Carrier, x: Array) -> tuple[Evaluation, Carried]:
    """Return f at x, and a fresh product."""
    product, error = carrier.product(x), carrier.error(norm(x))
    return problem.evaluate_product(carrier, x, product, 0.0), Carried(product, error, error)


def shift(
    carrier: Carrier, at: Carried, active: Hull, source: int | None, target: int | None
) -> Shift:
    """Return what is known along the direction from source to target, None standing for x."""
    tip, tip_error = (at.product, 0.0) if target is None else _of_point(carrier, active, target)
    tail, tail_error = (at.product, 0.0) if source is None else _of_point(carrier, active, source)
    growth = (target is None) - (source is None)
    return Shift(carrier, at, tip - tail, tip_error + tail_error, growth)


def _of_point(carrier: Carrier, active: Hull, i: int) -> tuple[Array, float]:
    """Return M v_i, and a bound on its error."""
    if i == 0 or active.atoms is None:
        return carrier.product(active.origin), carrier.error(norm(active.origin))
    return carrier.of_vertex(active.atoms.take(i - 1))


def evaluate(problem: Problem, hull: Hull, weights: Array, x: Array) -> Evaluation:
    """Return f at the point x of a hull, from the images of its points where these are known."""
    carrier = problem.objective.carrier(x)
    if carrier is None:
        return problem.evaluate(x)
    if hull.images is None:
        return problem.evaluate_product(carrier, x, carrier.product(x), 0.0)
    assert problem.objective.image_shape is not None
    z = (weights @ hull.images).reshape(problem.objective.image_shape)
    # x and z are sums over the points, and the images have errors of their own
    sums = 2.0 * UNIT * (accumulation(len(weights)) + 2.0) * carrier.size
    drift = sums * problem.set.radius + carrier.error(problem.set.radius)
    return problem.evaluate_product(carrier, x, z, drift)
