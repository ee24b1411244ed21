"""Products with the Hessian of any smooth f."""

from __future__ import annotations

import math

from ...arrays import Array, all_finite, epsilon, norm
from ...problem import Evaluation, NonFiniteError, Problem


def hessian_product(problem: Problem, x: Array, at: Evaluation, d: Array) -> Array:
    """Return Hess f(x) d, for d that leads from x to a point of K.

    Where the objective does not know it, it comes from a difference of gradients, to about half of
    the digits; gradients are asked between x and x + d only.
    """
    product = problem.objective.hessian_product(x, d)
    if product is not None:
        return product
    length = norm(d)
    if length == 0.0:
        return 0.0 * d
    t = min(1.0, math.sqrt(epsilon(d)) * max(1.0, norm(x)) / length)
    problem.counts.njev += 1
    gradient = problem.objective.gradient(x + t * d)
    if not all_finite(gradient):
        raise NonFiniteError("f returned a NaN or infinite gradient near a point of K")
    return (gradient - at.gradient) / t
