"""Projections by one level that is subtracted from all entries, found without sorting them all."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array

_SORT_UP_TO = 128
"""Sorting so few entries is faster than several passes over them."""

_NEWTON_STEPS = 20
"""Newton's method rarely takes more than eight; after these every other step is a bisection."""


def above_level(u: Array, total: float, weights: Array | None = None) -> Array:
    r"""Return max(u - t, 0) for the t with :math:`\sum_i w_i \max(u_i - t, 0) = s`.

    Here w > 0 are the weights, 1 by default, and s > 0 is the total. All numbers are differences to
    entries of u, which keep their digits where u is far away.
    """
    with np.errstate(over="ignore"):  # entries at -inf are below every level
        depths = np.subtract(u, np.maximum.reduce(u), dtype=np.float64)
        left, w = _support(depths, weights, total)
    lowest = np.minimum.reduce(left)
    depths -= lowest
    left = left - lowest
    if w is None:
        depths += (total - np.add.reduce(left)) / left.size
    else:
        depths += (total - w @ left) / np.add.reduce(w)
    return np.maximum(depths, 0.0, out=depths)


def _support(u: Array, w: Array | None, total: float) -> tuple[Array, Array | None]:
    r"""Return the entries above the level, and their weights; the largest entry is 0.

    Newton's method for :math:`F(t) = \sum_i w_i \max(u_i - t, 0) - s = 0` starts below the solution
    and rises: each step drops the entries below the level that the others would have (Michelot,
    1986). F is convex and piecewise linear, so F times the sum of the weights left falls to a
    quarter at least in each step. O(n log n) at worst, and about two passes over all entries in
    practice.
    """
    if u.size > _SORT_UP_TO:  # the level of one entry alone is below the solution
        u, w = _kept(u, w, u >= (-total if w is None else np.max(u - total / w)))
    if u.size <= _SORT_UP_TO:
        return _support_by_sorting(u, w, total)
    count = 0
    while u.size != count:
        count = u.size
        level = (np.add.reduce(u) - total) / count if w is None else (w @ u - total) / w.sum()
        u, w = _kept(u, w, u >= level)
    return u, w


def _kept(u: Array, w: Array | None, mask: Array) -> tuple[Array, Array | None]:
    return u[mask], None if w is None else w[mask]


def _support_by_sorting(u: Array, w: Array | None, total: float) -> tuple[Array, Array | None]:
    """Return what `_support` returns: the first entries in falling order with the highest level."""
    if w is None:
        u = np.sort(u)[::-1]
        levels = (np.add.accumulate(u) - total) / np.arange(1, u.size + 1)
        return u[: int(levels.argmax()) + 1], None
    order = np.argsort(-u)
    falling, mass = u[order], w[order]
    levels = (np.add.accumulate(mass * falling) - total) / np.add.accumulate(mass)
    k = int(levels.argmax()) + 1
    return falling[:k], mass[:k]


def clip_to_total(x: Array, caps: Array, total: float) -> Array:
    """Return the projection of ``x`` onto {0 <= v <= caps, sum v = total}.

    It is clip(x - t, 0, caps). If x_j is the entry at which the caps of the largest entries reach
    the total, t is between x_j - max c and x_j. Differences to x_j, cut off at max c, keep the
    digits when x is far away. O(n) by selection and a few passes.
    """
    flat, c = x.reshape(-1), caps.reshape(-1)
    widest = float(np.maximum.reduce(c))
    with np.errstate(over="ignore"):
        rise = np.subtract(flat, _entry_at_total(flat, c, total), dtype=np.float64)
    np.clip(rise, -widest, widest, out=rise)
    rise -= _clipping_level(rise, c, total, widest)
    return np.clip(rise, 0.0, c, out=rise).reshape(x.shape)


def _entry_at_total(x: Array, c: Array, total: float) -> float:
    """Return the entry at which the caps of the largest entries reach the total."""
    rank = math.ceil(x.size * (total / np.add.reduce(c)) - 1e-9)  # for equal caps it is right
    while x.size > _SORT_UP_TO:
        at = x.size - min(max(rank, 1), x.size)
        pivot = np.partition(x, at)[at]
        above, below = x > pivot, x < pivot
        if np.add.reduce(c[above]) >= total:
            x, c = x[above], c[above]
        else:
            filled = np.add.reduce(c[~below])
            if filled >= total or not below.any():
                return float(pivot)
            x, c, total = x[below], c[below], total - filled
        rank = x.size // 2
    order = np.argsort(-x, kind="stable")
    j = int(np.searchsorted(np.cumsum(c[order]), total))
    return float(x[order[min(j, x.size - 1)]])


def _clipping_level(x: Array, c: Array, total: float, widest: float) -> float:
    """Return the t in [-widest, 0] at which clip(x - t, 0, c) sums to the total.

    Newton's method within a bracket. It ends when a step stays on the linear piece that it was
    computed from, which the numbers of entries at 0 and at their caps tell.
    """
    rounding = 4.0 * np.finfo(np.float64).eps * total
    full = x >= c  # at their caps whatever t is; entries at -widest are at 0
    total = total - np.add.reduce(c[full])
    between = ~full & (x > -widest)
    x, c = x[between], c[between]
    low, high = -2.0 * widest, widest  # the solution is inside, also where it is at an end
    t, piece, step = -0.5 * widest, None, 0
    while True:
        rise = x - t
        above = rise > 0.0
        excess = np.add.reduce(np.minimum(rise, c)[above]) - total
        positive, full = np.count_nonzero(above), np.count_nonzero(rise >= c)
        moving = positive - full
        if excess == 0.0 or (moving == 0 and abs(excess) <= rounding) or piece == (positive, full):
            return t
        low, high = (t, high) if excess > 0.0 else (low, t)
        step += 1
        following, piece = t + excess / moving if moving else high, (positive, full)
        if following == t and moving:
            return t
        if not low < following < high or (step > _NEWTON_STEPS and step % 2):
            following, piece = 0.5 * (low + high), None
            if not low < following < high:
                return low
        t = following
