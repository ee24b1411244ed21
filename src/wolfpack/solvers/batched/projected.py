r"""Accelerated projected gradient for many problems at once.

Problem
    min f_i(x) over x in K_i, i = 1, ..., B, with projections P_i. Points are rows of a matrix.

Iteration
    That of `wolfpack.solvers.projected`, in every row:

    .. math::

        y = x_k + \tfrac{t_k - 1}{t_{k+1}} (x_k - x_{k-1}), \qquad
            x_{k+1} = P(y - \tfrac1L \nabla f(y)) .

    Each problem has its own L, t and restarts. Where the test of L fails, the problem keeps its
    point, L rises, and the next call tries again: no problem waits for another one's trials.

Guarantee
    That of the method for one problem, trials counted as rounds. No step depends on another row,
    so that a problem takes the same steps in every batch, up to rounding.

Symbols
    x_k ``x``, x_{k-1} ``x_before``, t_k ``t``, L ``L``, gradients ``g`` and ``g_before``.

Cost of a round
    One projection, and one product with the second derivatives of quadratics; two evaluations of
    other functions. No number is fetched from another device.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...arrays import Array, epsilon, namespace, row_norms, sum_last
from ._base import BatchedMethod

_RISE = 2.0
_FALL = 0.9
_STEEPEST = 2.0**100
"""L beyond which a problem is given up: its function has no finite value near its point."""


class Motion(NamedTuple):
    """Two consecutive points of each problem, with values and gradients, t and L."""

    x: Array
    f: Array
    g: Array
    x_before: Array
    g_before: Array
    t: Array
    L: Array

    def at_rest(self, x: Array, f: Array, g: Array, where: Array) -> Motion:
        """Return the motion with some problems at rest at other points."""
        xp, row = namespace(x), where[:, None]
        x, g = xp.where(row, x, self.x), xp.where(row, g, self.g)
        return Motion(
            x,
            xp.where(where, f, self.f),
            g,
            xp.where(row, x, self.x_before),
            xp.where(row, g, self.g_before),
            xp.where(where, xp.ones_like(self.t), self.t),
            self.L,
        )


def first_motion(model: Any, x: Array, f: Array, g: Array, diameter: Array) -> Motion:
    """Return the state at the starting points.

    The first L is the curvature along the gradient where f is quadratic. Elsewhere it is the one
    with which the first step crosses the set.
    """
    xp = namespace(x)
    square = sum_last(g * g, 1)
    tiny = 1e-300 if epsilon(x) < 1e-10 else 1e-37
    across = xp.sqrt(square) / xp.where(diameter > 0, diameter, xp.ones_like(diameter))
    L = across
    if model.affine:
        curvature = sum_last(g * model.product(g), 1) / xp.where(square > 0, square, 1.0 + square)
        L = xp.where(curvature > 0, curvature, across)
    # an absurdly large L would not move x
    L = xp.minimum(L, across / math.sqrt(epsilon(x)))
    L = xp.where((tiny < L) & xp.isfinite(L), L, xp.ones_like(L))
    return Motion(x, f, g, x, g, xp.ones_like(L), L)


def advance(model: Any, K: Any, motion: Motion) -> Motion:
    """Return the state after one more trial of every problem."""
    x, f, g, x_before, g_before, t, L = motion
    xp = namespace(x)
    t_next = 0.5 * (1.0 + xp.sqrt(1.0 + 4.0 * t * t))
    beta = ((t - 1.0) / t_next)[:, None]
    beta = beta if beta.dtype == x.dtype else xp.astype(beta, x.dtype)
    y = x + beta * (x - x_before)
    if model.affine:
        f_y, g_y = f, g + beta * (g - g_before)
    else:
        f_y, g_y = model.evaluate(y)
        known = xp.isfinite(f_y + sum_last(g_y * g_y, 1))
        y, f_y = xp.where(known[:, None], y, x), xp.where(known, f_y, f)
        g_y = xp.where(known[:, None], g_y, g)
    step = (1.0 / L)[:, None]
    step = step if step.dtype == x.dtype else xp.astype(step, x.dtype)
    x_next = K.project(y - step * g_y)
    d = x_next - y
    square = sum_last(d * d, 1)
    if model.affine:
        change = model.product(d)
        g_next, f_next = g_y + change, f
        excess = 0.5 * sum_last(d * change, 1)
        noise = 4.0 * epsilon(x) * xp.sqrt(square) * row_norms(g_y)
    else:
        f_next, g_next = model.evaluate(x_next)
        excess, noise = _excess(f_y, g_y, f_next, g_next, d)
    finite = xp.isfinite(excess + square)
    fits = finite & (excess <= 0.5 * L * square + noise)
    moved = square > 0
    safe = xp.where(moved, square, 1.0)
    bend = xp.where(finite & moved, 2.0 * excess / safe, 0.0)
    # L falls, but not below the curvature along the step, which a smaller L could not pass again
    lower = xp.maximum(_FALL * L, xp.minimum(L, bend))
    L_next = xp.where(fits, xp.where(moved, lower, L), xp.maximum(_RISE * L, bend))
    L_next = xp.where(L_next < _STEEPEST, L_next, _STEEPEST)
    uphill = sum_last((y - x_next) * (x_next - x), 1) > 0
    row, rests = fits[:, None], (fits & uphill)[:, None]
    x_new, g_new = xp.where(row, x_next, x), xp.where(row, g_next, g)
    return Motion(
        x_new,
        xp.where(fits, f_next, f),
        g_new,
        xp.where(rests, x_new, xp.where(row, x, x_before)),
        xp.where(rests, g_new, xp.where(row, g, g_before)),
        xp.where(fits, xp.where(uphill, 1.0, t_next), t),
        L_next,
    )


class BatchedProjected(BatchedMethod):
    """Accelerated projected gradient steps of many problems."""

    name = "projected"
    state = Motion
    searches_faces = True

    def begin(self, model: Any, K: Any, x: Array, f: Array, g: Array) -> Motion:
        return first_motion(model, x, f, g, K.diameter)

    def advance(self, model: Any, K: Any, state: Motion, noises: Array | None = None) -> Motion:
        return advance(model, K, state)

    def refreshed(self, state: Motion, values: Array, slopes: Array) -> Motion:
        return state._replace(g=slopes, g_before=state.g_before + (slopes - state.g))


def _excess(f_y: Array, g_y: Array, f_next: Array, g_next: Array, d: Array) -> tuple[Array, Array]:
    """Return f(y + d) - f(y) - <grad f(y), d>, and how much of it may be rounding."""
    xp = namespace(d)
    rounding = max(32 * 2.0**-52, 8 * epsilon(d))
    slope, slope_next = sum_last(g_y * d, 1), sum_last(g_next * d, 1)
    excess = f_next - f_y - slope
    noise = rounding * (abs(f_y) + abs(f_next))
    # where the values cancel, half the change of the slope is more accurate
    clear = excess > noise
    half = 0.5 * (slope_next - slope)
    return xp.where(clear, excess, half), xp.where(
        clear, noise, rounding * (abs(slope) + abs(slope_next))
    )
