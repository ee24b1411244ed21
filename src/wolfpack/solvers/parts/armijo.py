r"""A step that goes down by a sure amount, for any smooth f and without its constants.

Along a ray :math:`\varphi(t)` with :math:`\varphi'(0) = -g < 0`, starting from t = 1, t is replaced
by the minimiser of the parabola through what is known until
:math:`\varphi(t) \le \varphi(0) - \tfrac12 t g`. If f is L-smooth and the ray has length at most D
at t = 1, then :math:`\varphi(0) - \varphi(t) \ge \min(g/2,\ g^2 / (4 L D^2))` (Lemma R1 of
docs/theory/corrective.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_TRIALS = 60


class Descent(NamedTuple):
    """How far to go, what was found there, and the curvature of f met on the way.

    ``found`` is None where the ray does not lead down beyond rounding; ``bend`` is
    2 (phi(t) - phi(0) - t phi'(0)) / t^2 at its largest.
    """

    step: float
    found: Any
    bend: float


def descend(look: Callable[[float], Any], value: float, slope: float) -> Descent:
    """Return a step that satisfies Armijo's condition.

    Parameters
    ----------
    look : callable
        t -> an object with ``value`` = phi(t).
    value, slope : float
        phi(0) and phi'(0).
    """
    t, bend = 1.0, 0.0
    for _ in range(_TRIALS):
        if not slope * t < 0:
            break
        there = look(t)
        excess = there.value - value - t * slope
        bend = max(bend, 2.0 * excess / t**2)
        if excess <= -0.5 * t * slope:
            return Descent(t, there, bend)
        t = min(0.5 * t, max(0.1 * t, -0.5 * t * t * slope / excess))
    return Descent(0.0, None, bend)
