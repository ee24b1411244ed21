r"""Steps that stay where f is finite.

f may be defined on a part of K only, like :math:`-\log\det`, and return an infinite value or NaN
elsewhere. Its domain is convex, because f is. If f is finite at x and not at x + t d, then it is
finite on a first part of that ray and nowhere beyond, so a method halves its step until f is finite
at the end. Nothing is evaluated that was not before as long as f is finite.

Lower bounds are unchanged: each is made of tangents at points where f and its gradient are finite,
and holds for every step and every weight of the averages.

Two findings show that f is broken, and end the run with the status ``nonfinite``:

- f is finite at the end of the ray, but not in between. No convex function is like that.
- f falls along d and is not finite however short the step is, down to 1e-12 of the ray (1e-5 in
  single precision).
  A convex function that grows towards the edge of its domain does not fall there. One that is cut
  off ends like this: the edge is a constraint, which belongs to K.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...arrays import Array, epsilon
from ...problem import Evaluation, NonFiniteError, Problem

T = TypeVar("T")


def shortened(
    attempt: Callable[[float], T], step: float, x: Array, end: float | None = None
) -> tuple[float, T]:
    """Return the first of step, step/2, step/4, ... at which f is finite, and what is found there.

    Parameters
    ----------
    attempt : callable
        Takes a step and evaluates f where it leads; raises `NonFiniteError` outside the domain.
    step : float
        The step to try first.
    x : array
        Where the step 0 leads, a point where f is finite.
    end : float, optional
        The longest step of the same ray. If f is finite there and not at ``step``, it is broken.
    """
    try:
        return step, attempt(step)
    except NonFiniteError as error:
        first = last = error
    if end is not None and step < end and _succeeds(attempt, end):
        raise between(first.x)
    shortest = shortest_step(step, x)
    while step > shortest:
        step *= 0.5
        try:
            return step, attempt(step)
        except NonFiniteError as error:
            last = error
    raise beyond(last.x)


def within(problem: Problem, x: Array, inside: Array) -> tuple[Array, Evaluation]:
    """Return x and f there, or a point nearer to ``inside``, where f is known to be finite."""

    def attempt(t: float) -> tuple[Array, Evaluation]:
        point = x if t == 1.0 else inside + t * (x - inside)
        return point, problem.evaluate(point)

    return shortened(attempt, 1.0, inside)[1]


def shortest_step(step: float, x: Array) -> float:
    """Return the length at which halving ``step`` ends, so that it still exceeds rounding.

    It is a share 1e-12 of a ray (1e-5 in single precision), or 1e-4 of the step if that is less.
    """
    eps = epsilon(x)
    return min(eps**0.75, step * eps**0.25)


def between(x: Array) -> NonFiniteError:
    """Return the error of a function that is finite on both sides of a point and not there."""
    return NonFiniteError(
        "f is finite at two points and not between them, which no convex function is: it is broken",
        x,
    )


def beyond(x: Array) -> NonFiniteError:
    """Return the error of a function that falls towards points where it is not finite."""
    return NonFiniteError(
        "f falls along a direction in which it is not finite however short the step is. If the "
        "edge of its domain is a constraint, make it a part of K; otherwise f is broken: it is not "
        "finite",
        x,
    )


def _succeeds(attempt: Callable[[float], object], step: float) -> bool:
    """Tell whether f is finite where a step leads."""
    try:
        attempt(step)
    except NonFiniteError:
        return False
    return True
