r"""The least value of a quadratic function with kinks and bounds.

.. math::

    \min_x\ \langle c, x\rangle + \tfrac12 \langle x, M x\rangle + \sum_j \kappa_j |x_j|, \qquad
    l \le x \le u

M is positive definite and of moderate size. Each round solves the equations of the coordinates that
may move, with the signs that they have or are about to take. Two points compete: the solution, cut
off where a coordinate would change its sign or leave the box, and the lowest point on the way to
the solution, on which a coordinate may pass through 0. The lower of them is next (the second is
that of feature-sign search: H. Lee et al., Efficient sparse coding algorithms, 2006). Values fall
in every round. When no coordinate is cut off, and no other wants to move, x is the minimiser.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...arrays import Array
from ...problem.pieces import least_slopes

_MOST_ROUNDS = 50
_FEWEST_STEPS = 10
_POORLY = 0.01
_WELL = 0.5  # share of what a step promises that it must keep where it is cut off
_ENOUGH = 1e-12  # share of what was gained that another round must promise


class _Quadratic(NamedTuple):
    """The function to minimise."""

    M: Array
    c: Array
    kink: Array
    low: Array
    high: Array

    def at(self, x: Array) -> _Place:
        s = self.c + self.M @ x
        value = 0.5 * float((self.c + s) @ x) + float(self.kink @ abs(x))
        return _Place(x, s, value)

    def held(self, x: Array) -> Array:
        """Tell which coordinates are at a kink or at a bound."""
        held = (x == 0.0) & (self.kink > 0.0)
        return held if self.low is None else held | (x <= self.low) | (x >= self.high)


class _Place(NamedTuple):
    """A point x with s = c + M x, and the value of the function."""

    x: Array
    s: Array
    value: float


def minimize_kinked(
    M: Array, c: Array, x: Array, kink: Array, low: Array = None, high: Array = None
) -> Array:
    """Return a point at which the function above is low, from ``x`` downhill.

    `numpy.linalg.LinAlgError` is raised where M is not positive definite.
    """
    if low is None and not kink.any():
        return x - cho_solve(cho_factor(M), c + M @ x)
    # powers of 2 change no digit
    units = np.exp2(-np.round(0.5 * np.log2(np.diag(M))))
    ends = (None if end is None else end / units for end in (low, high))
    f = _Quadratic(M * np.multiply.outer(units, units), c * units, kink * units, *ends)
    return units * _descend(f, f.at(x / units))


def _descend(f: _Quadratic, at: _Place) -> Array:
    """Return a point at which f is low, downhill from a place."""
    barred, first, stiff = np.zeros(len(at.x), bool), at.value, 0.0
    for _ in range(_MOST_ROUNDS):
        x, held = at.x, f.held(at.x)
        slopes = least_slopes(at.s, x, f.kink, f.low, f.high)
        moving = np.flatnonzero(~held | ((slopes != 0.0) & ~barred))
        if not len(moving):
            break
        part = f.M if len(moving) == len(x) else f.M[np.ix_(moving, moving)]
        step = np.zeros_like(x)
        step[moving] = -cho_solve(cho_factor(part), slopes[moving])
        promised = -0.5 * float(slopes @ step)
        if promised <= _ENOUGH * (first - at.value):
            break
        found = f.at(_cut(f, x, step, slopes))
        wrong, cut = held & (step * slopes > 0.0), not np.array_equal(found.x, x + step)
        if cut and at.value - found.value < _WELL * promised:
            # there are many faces on the way: cheap steps of all coordinates find a better one
            stiff = stiff or float(abs(f.M).sum(axis=0).max())
            others = [_proximal_steps(f, x, stiff)]
            if not wrong.any():
                others.append(_lowest(f, at, step))
            found = min([found, *map(f.at, others)], key=attrgetter("value"))
        if cut and wrong.any() and at.value - found.value < _POORLY * promised:
            barred |= wrong  # without them the step leads downhill
        elif found.value < at.value:
            barred[:] = False
        else:
            break
        at = found if found.value < at.value else at
        if not cut and not least_slopes(at.s, at.x, f.kink, f.low, f.high)[f.held(at.x)].any():
            break  # solved, but for rounding
    return at.x


def _proximal_steps(f: _Quadratic, x: Array, stiff: float) -> Array:
    """Return x after accelerated proximal gradient steps that cost as much as an elimination.

    They restart where they turn. ``stiff`` bounds the eigenvalues of M.
    """
    z, t, kink = x, 1.0, f.kink / stiff
    for _ in range(_FEWEST_STEPS + len(x) // 3):
        v = z - (f.c + f.M @ z) / stiff
        following = v - np.clip(v, -kink, kink)
        if f.low is not None:
            following = np.clip(following, f.low, f.high)
        if (z - following) @ (following - x) > 0.0:
            t = 1.0
        t_next = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        z, x, t = following + ((t - 1.0) / t_next) * (following - x), following, t_next
    return x


def _cut(f: _Quadratic, x: Array, step: Array, slopes: Array) -> Array:
    """Return x + step, cut off where signs change or the box ends."""
    sign = np.where(x == 0.0, -np.sign(slopes), np.sign(x))  # what leaves 0 takes its sign
    least = np.where((f.kink > 0.0) & (sign > 0.0), 0.0, -np.inf)
    most = np.where((f.kink > 0.0) & (sign < 0.0), 0.0, np.inf)
    if f.low is not None:
        least, most = np.maximum(least, f.low), np.minimum(most, f.high)
    return np.clip(x + step, least, most)


def _lowest(f: _Quadratic, at: _Place, step: Array) -> Array:
    """Return the lowest point of the box on x + t step, t >= 0.

    Along the line the function is convex. Its slope grows linearly, and jumps where a coordinate
    passes through 0.
    """
    x, last = at.x, np.inf
    if f.low is not None:
        ends = np.where(step < 0.0, f.low, f.high) - x
        shares = np.divide(ends, step, out=np.full_like(x, np.inf), where=step != 0.0)
        last = float(shares.min(initial=np.inf))
    crossing = np.flatnonzero((f.kink > 0.0) & (x * step < 0.0))
    times = -x[crossing] / step[crossing]
    order = np.argsort(times)
    crossing, times = crossing[order], times[order]
    signs = np.where(x == 0.0, np.sign(step), np.sign(x))
    slope, bend = float((at.s + f.kink * signs) @ step), float(step @ (f.M @ step))
    # the slope just after each crossing
    jumps = 2.0 * np.cumsum(f.kink[crossing] * abs(step[crossing]))
    passed = int(np.searchsorted(slope + bend * times + jumps, 0.0))
    if passed:
        slope += float(jumps[passed - 1])
    t = -slope / bend if bend > 0.0 else 0.0
    stops = passed < len(times) and t >= times[passed]
    t = times[passed] if stops else max(t, times[passed - 1] if passed else 0.0)
    if t >= last:
        t, stops = max(last, 0.0), False
    following = x + t * step
    if stops:
        following[crossing[passed]] = 0.0
    return following if f.low is None else np.clip(following, f.low, f.high)
