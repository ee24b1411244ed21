r"""A step along which f falls by a guaranteed amount, for any smooth f and without its constants.

Along a ray :math:`\varphi(t)` with :math:`\varphi'(0) = -g < 0`, starting from t = 1, t is replaced
by the minimiser of the parabola through what is known until
:math:`\varphi(t) \le \varphi(0) - \tfrac12 t g`. If f is L-smooth and the ray has length at most D
at t = 1, then :math:`\varphi(0) - \varphi(t) \ge \min(g/2,\ g^2 / (4 L D^2))` (Lemma R1 of
docs/theory/corrective.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from ...problem import NonFiniteError
from .domain import beyond

_TRIALS = 60
_SHORTEST = 2.0**-40
"""If f is not even finite here, it is broken (see `domain`)."""


class HasValue(Protocol):
    """Something that knows the value of f at a point."""

    @property
    def value(self) -> float: ...


T = TypeVar("T", bound=HasValue)


class Descent(NamedTuple, Generic[T]):
    """A step, what was found there, and the curvature of f along it.

    ``found`` is None where f does not fall by more than rounding; ``bend`` is the largest
    2 (phi(t) - phi(0) - t phi'(0)) / t^2 of all trials.
    """

    step: float
    found: T | None
    bend: float


def descend(evaluate: Callable[[float], T], value: float, slope: float) -> Descent[T]:
    """Return a step that satisfies Armijo's condition, from ``value`` phi(0) and ``slope`` phi'(0).

    ``evaluate`` takes t and returns an object whose ``value`` is phi(t). It raises `NonFiniteError`
    where f is not finite, and t is then halved.
    """
    t, bend = 1.0, 0.0
    for _ in range(_TRIALS):
        if not slope * t < 0:
            break
        try:
            there = evaluate(t)
        except NonFiniteError as error:
            if t <= _SHORTEST:
                raise beyond(error.x) from None
            t *= 0.5
            continue
        excess = there.value - value - t * slope
        bend = max(bend, 2.0 * excess / t**2)
        if excess <= -0.5 * t * slope:
            return Descent(t, there, bend)
        t = min(0.5 * t, max(0.1 * t, -0.5 * t * t * slope / excess))
    return Descent(0.0, None, bend)
