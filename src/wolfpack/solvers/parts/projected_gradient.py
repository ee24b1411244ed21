r"""Accelerated projected gradient steps, in whatever coordinates the feasible points have.

.. math::

    &y = x_k + \tfrac{t_k - 1}{t_{k+1}} (x_k - x_{k-1}), \qquad
        t_{k+1} = \tfrac12 (1 + \sqrt{1 + 4 t_k^2}) \\
    &x_{k+1} = \arg\min_x\ \langle\nabla f(y), x\rangle + \tfrac{L}{2} \|x - y\|^2,

L being raised until :math:`f(x_{k+1}) \le f(y) + \langle\nabla f(y), x_{k+1} - y\rangle +
\tfrac L2\|x_{k+1}-y\|^2`, and lowered by a tenth between steps, but not below the curvature seen
along the step. The momentum is dropped (t = 1)
when :math:`\langle y - x_{k+1}, x_{k+1} - x_k\rangle > 0`, that is when it points uphill, and when
f is not finite at y, which may lie outside the feasible set. L is raised as well where f is not
finite at :math:`x_{k+1}`, which then comes nearer to y.

Sources: those of `wolfpack.solvers.projected`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from ...arrays import Array, epsilon, inner
from ...problem import NonFiniteError
from .domain import beyond

_RISE = 2.0
_FALL = 0.9
_TRIALS = 60
_STEEPEST = 2.0**40
"""Factor by which L rises in one step before f is called broken (see `domain`)."""

D = TypeVar("D")


class Probe(NamedTuple, Generic[D]):
    """f at a point: its value, its gradient in the space's coordinates, and the full evaluation."""

    value: float
    gradient: Array
    details: D


class Space(Generic[D]):
    """Feasible points in some coordinates, with an inner product.

    ``rounding`` is the relative error of values of f; ``affine`` tells whether gradients are affine
    in the point, that is f is quadratic.
    """

    rounding: float
    affine: bool

    def evaluate(self, x: Array) -> Probe[D]:
        """Evaluate f; raise `NonFiniteError` where it has no finite value."""
        raise NotImplementedError

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        """Return the minimiser of <gradient, x> + L/2 ||x - y||^2 over the feasible points."""
        raise NotImplementedError

    def dot(self, a: Array, b: Array) -> float:
        """Return the inner product of two steps."""
        return inner(a, b)


class Motion(NamedTuple, Generic[D]):
    """Two consecutive points with f there, the momentum's weight t and the estimate of L."""

    x: Array
    at: Probe[D]
    x_before: Array
    at_before: Probe[D]
    t: float
    L: float

    @classmethod
    def start(cls, x: Array, at: Probe[D], L: float) -> Motion[D]:
        """Return the state of a point at rest."""
        return cls(x, at, x, at, 1.0, L)


def rounding_of(x: Array) -> float:
    """Return the relative error to expect of values of f at points like x."""
    return max(32 * 2.0**-52, 8 * epsilon(x))


def advance(space: Space[D], motion: Motion[D]) -> Motion[D]:
    """Return the state after one step."""
    x, t, L = motion.x, motion.t, motion.L
    t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
    y, value, gradient = _extrapolate(space, motion, (t - 1.0) / t_next)
    outside, x_next, at_next, square, excess = None, x, motion.at, 0.0, 0.0
    for _ in range(_TRIALS):
        x_next = space.project(y, gradient, L)
        try:
            at_next = space.evaluate(x_next)
        except NonFiniteError as error:
            if L > _STEEPEST * motion.L:
                raise beyond(error.x) from None
            outside, L = error, _RISE * L
            continue
        d = x_next - y
        square = space.dot(d, d)
        excess, noise = _excess(space, value, gradient, at_next, d)
        # Rounding errors must not make L grow.
        if excess <= 0.5 * L * square + noise:
            break
        L = max(_RISE * L, 2.0 * excess / square if square > 0 else 0.0)
    if outside is not None and square <= (4.0 * epsilon(x)) ** 2 * space.dot(x_next, x_next):
        raise beyond(outside.x)
    # L falls, but not below the curvature along the step, which a smaller L could not pass again.
    # A step of no length says nothing about L.
    L = max(_FALL * L, min(L, 2.0 * excess / square)) if square > 0 else motion.L
    if space.dot(y - x_next, x_next - x) > 0:
        return Motion.start(x_next, at_next, L)
    return Motion(x_next, at_next, x, motion.at, t_next, L)


def minimize(
    space: Space[D], motion: Motion[D], done: Callable[[Motion[D]], bool], steps: int, slack: float
) -> Motion[D]:
    """Return the best of at most ``steps`` points until one is ``done``, and the last L.

    A later point may be worse by the relative amount ``slack``, which rounding makes.
    """
    best = motion
    for _ in range(steps):
        if done(motion):
            break
        motion = advance(space, motion)
        if motion.at.value <= best.at.value + slack * abs(best.at.value):
            best = motion
    return best._replace(L=motion.L)


def _extrapolate(space: Space[D], motion: Motion[D], beta: float) -> tuple[Array, float, Array]:
    """Return y = x + beta (x - x_before), and the value and the gradient of f there."""
    x, at = motion.x, motion.at
    if beta > 0.0:
        y = x + beta * (x - motion.x_before)
        if space.affine:
            # f(y) is not needed: for a quadratic the gradients tell its excess over the tangent
            return y, at.value, at.gradient + beta * (at.gradient - motion.at_before.gradient)
        try:
            at_y = space.evaluate(y)
            return y, at_y.value, at_y.gradient
        except NonFiniteError:
            pass
    return x, at.value, at.gradient


def _excess(
    space: Space[D], value: float, gradient: Array, there: Probe[D], d: Array
) -> tuple[float, float]:
    """Return f(y + d) - f(y) - <grad f(y), d>, and how much of it may be rounding."""
    slope, slope_there = inner(gradient, d), inner(there.gradient, d)
    excess = there.value - value - slope
    noise = space.rounding * (abs(value) + abs(there.value))
    if not space.affine and excess > noise:
        return excess, noise
    # half the change of the slope: exact for quadratics, and accurate where the values cancel
    return 0.5 * (slope_there - slope), space.rounding * (abs(slope) + abs(slope_there))
