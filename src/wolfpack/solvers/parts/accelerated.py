r"""Accelerated projected gradient steps, in whatever coordinates the feasible points have.

.. math::

    &y = x_k + \tfrac{t_k - 1}{t_{k+1}} (x_k - x_{k-1}), \qquad
        t_{k+1} = \tfrac12 (1 + \sqrt{1 + 4 t_k^2}) \\
    &x_{k+1} = \arg\min_x\ \langle\nabla f(y), x\rangle + \tfrac{L}{2} \|x - y\|^2,

L being raised until :math:`f(x_{k+1}) \le f(y) + \langle\nabla f(y), x_{k+1} - y\rangle +
\tfrac L2\|x_{k+1}-y\|^2`, and lowered by a tenth between steps. The momentum is dropped (t = 1)
when :math:`\langle y - x_{k+1}, x_{k+1} - x_k\rangle > 0`, that is when it points uphill, and when
f is not finite at y, which may lie outside the feasible set.

Sources
    A. Beck, M. Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse
    problems, SIAM J. Imaging Sciences 2, 2009.
    B. O'Donoghue, E. Candes, Adaptive restart for accelerated gradient schemes, Foundations of
    Computational Mathematics 15, 2015.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ...arrays import Array, epsilon
from ...problem import NonFiniteError

_RISE = 2.0
_FALL = 0.9
_TRIALS = 60


class Look(NamedTuple):
    """f at a point: its value, its gradient in the space's coordinates, and all that is known."""

    value: float
    gradient: Array
    full: Any = None


def rounding_of(x: Array) -> float:
    """Return the relative error to expect of values of f at points like x."""
    return max(32 * 2.0**-52, 8 * epsilon(x))


class Space(Protocol):
    """Feasible points in some coordinates, with an inner product."""

    @property
    def rounding(self) -> float:
        """Relative error of values of f."""
        ...

    @property
    def affine(self) -> bool:
        """Whether gradients are affine in the point, that is f is quadratic."""
        ...

    def look(self, x: Array) -> Look:
        """Evaluate f; raise `NonFiniteError` where it has no finite value."""
        ...

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        """Return the minimiser of <gradient, x> + L/2 ||x - y||^2 over the feasible points."""
        ...

    def pair(self, gradient: Array, step: Array) -> float:
        """Return <gradient, step>."""
        ...

    def dot(self, a: Array, b: Array) -> float:
        """Return the inner product of two steps."""
        ...


class Motion(NamedTuple):
    """Two consecutive points, the momentum's weight t and the estimate of L."""

    x: Array
    look: Look
    before: Array
    look_before: Look
    t: float
    L: float

    @classmethod
    def start(cls, x: Array, look: Look, L: float) -> Motion:
        """Return the state of a point at rest."""
        return cls(x, look, x, look, 1.0, L)


def advance(space: Space, motion: Motion) -> Motion:
    """Return the state after one step."""
    x, look, _, _, t, L = motion
    t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
    y, here = _extrapolate(space, motion, (t - 1.0) / t_next)
    L *= _FALL
    for _ in range(_TRIALS):
        x_next = space.project(y, here.gradient, L)
        look_next = space.look(x_next)
        d = x_next - y
        square = space.dot(d, d)
        excess, noise = _excess(space, here, look_next, d)
        # below rounding the test says nothing, and L must not run away
        if excess <= max(0.5 * L * square, noise):
            break
        L = max(_RISE * L, 2.0 * excess / square if square > 0 else 0.0)
    # a step of no length has taught nothing
    L = L if square > 0 else motion.L
    if space.dot(y - x_next, x_next - x) > 0:
        return Motion(x_next, look_next, x_next, look_next, 1.0, L)
    return Motion(x_next, look_next, x, look, t_next, L)


def _extrapolate(space: Space, motion: Motion, beta: float) -> tuple[Array, Look]:
    x, look, before, look_before, _, _ = motion
    if beta <= 0.0:
        return x, look
    y = x + beta * (x - before)
    if space.affine:
        gradient = look.gradient + beta * (look.gradient - look_before.gradient)
        # f(y) is not needed: for a quadratic the gradients tell its excess over the tangent
        return y, Look(look.value, gradient)
    try:
        return y, space.look(y)
    except NonFiniteError:
        return x, look


def _excess(space: Space, here: Look, there: Look, d: Array) -> tuple[float, float]:
    """Return f(y + d) - f(y) - <grad f(y), d>, and what of it may be rounding."""
    slope, slope_there = space.pair(here.gradient, d), space.pair(there.gradient, d)
    excess = there.value - here.value - slope
    noise = space.rounding * (abs(here.value) + abs(there.value))
    if not space.affine and excess > noise:
        return excess, noise
    # half the change of the slope: exact for quadratics, and it tells where the values cancel
    return 0.5 * (slope_there - slope), space.rounding * (abs(slope) + abs(slope_there))
