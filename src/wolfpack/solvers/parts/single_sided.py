r"""Line searches that ask one thing of f: its gradients alone, or its values alone.

Write :math:`\varphi(t) = f(x + t d)`. `AdaptiveStep` never asks for a value of f, which are useless
near a minimum, where they differ by less than their rounding errors, and cost extra where f is
given by its gradient. `GoldenSection` never asks for a gradient along the ray.

Sources
    S. Pokutta, The Frank-Wolfe algorithm: a short introduction, Jahresbericht der Deutschen
    Mathematiker-Vereinigung 126, 2024.
    J. Kiefer, Sequential minimax search for a maximum, Proceedings of the American Mathematical
    Society 4, 1953.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arrays import inner
from ...problem import Problem
from ...problem.checks import between, checked
from .domain import shortest_step
from .step_rules import Rule, SearchLine, Stride, clamped, slope_function

_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@checked(tau=between(1, math.inf, low_open=True, high_open=True), eta=between(0, 1, low_open=True))
@dataclass(frozen=True)
class AdaptiveStep(Rule):
    r"""The short step with an estimate of L that gradients alone confirm.

    The memory is the estimate M. Each round first lowers it to :math:`\eta M`, then multiplies it
    by :math:`\tau` until the step :math:`t = \min(-\varphi'(0) / (M \|d\|^2), t_{\max})` keeps half
    of the slope,

    .. math:: \varphi'(t) \le \tfrac12 \varphi'(0),

    which every :math:`M \ge 2L` does. As f is convex it then falls by at least
    :math:`\tfrac t2 |\varphi'(0)|`, half of what the short step with M in the place of L promises.

    Parameters
    ----------
    tau : float
        Factor > 1 by which the estimate grows.
    eta : float
        Factor in (0, 1] by which it falls from round to round.
    """

    tau: float = 2.0
    eta: float = 0.9

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        descent, square, estimate = -inner(ray.at.gradient, ray.d), inner(ray.d, ray.d), ray.memory
        if descent <= 0 or square == 0 or ray.max_step <= 0:
            return Stride(0.0, estimate)
        slope_at = slope_function(problem, ray)  # infinite outside the domain of f
        if estimate is None:
            t = 1e-3 * min(ray.max_step, 1.0)
            rise = slope_at(t) + descent
            M = rise / (t * square) if 0 < rise < math.inf else descent / (ray.max_step * square)
        else:
            M = self.eta * estimate
        step = clamped(descent, M * square, ray.max_step)
        shortest = shortest_step(step, ray.x)
        while step > shortest:
            if slope_at(step) <= -0.5 * descent:
                return Stride(step, M)
            M *= self.tau
            step = clamped(descent, M * square, ray.max_step)
        return Stride(0.0, estimate)


@checked(tol=between(0, 1, low_open=True, high_open=True))
@dataclass(frozen=True)
class GoldenSection(Rule):
    r"""The minimiser along the ray by golden sections, from values of f alone.

    Each section costs one value and leaves 0.618 of the interval. Values that are not finite count
    as infinite, so that the search stays in the domain of f. Values differ by less than rounding
    where the ray is flat: the step is known to about :math:`\sqrt{\epsilon}`.

    Parameters
    ----------
    tol : float
        Accuracy of the step, relative to the longest one; in (0, 1).
    """

    tol: float = 1e-7

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        if inner(ray.at.gradient, ray.d) >= 0 or ray.max_step <= 0:
            return Stride(0.0)

        def value(t: float) -> float:
            found = problem.value(ray.x + t * ray.d)
            return found if math.isfinite(found) else math.inf

        low, high = 0.0, ray.max_step
        best, lowest = min((0.0, ray.at.value), (high, value(high)), key=lambda pair: pair[1])
        left, right = high - _GOLDEN * high, _GOLDEN * high
        at_left, at_right = value(left), value(right)
        while high - low > self.tol * ray.max_step:
            # where both are infinite, the domain ends before either
            if at_left <= at_right:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = value(left)
            else:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = value(right)
        step, found = min((left, at_left), (right, at_right), key=lambda pair: pair[1])
        return Stride(float(step if found < lowest else best))
