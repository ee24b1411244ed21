"""Projections of the rows of a matrix by one level per row, on any array library."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, arange, clip, concat, cumsum, namespace, sum_last, take_along
from ._base import column


def above_level(U: Array, total: Array, weights: Array | None = None) -> Array:
    r"""Return max(u - t, 0) in each row, for the t with :math:`\sum_i w_i \max(u_i - t, 0) = s`.

    Numbers are differences to the largest entry of the row, which keep their digits.
    """
    xp = namespace(U)
    U = U - xp.max(U, axis=1, keepdims=True)
    s = column(total, U)
    if weights is None:
        falling = falling_rows(U)
        levels = (cumsum(falling, 1, U.dtype) - s) / xp.astype(arange(U.shape[1], U) + 1, U.dtype)
    else:
        order = xp.argsort(-U, axis=1, stable=True)
        w = take_along(xp.broadcast_to(weights, U.shape), order)
        mass = cumsum(w, 1, U.dtype)
        levels = (cumsum(w * take_along(U, order), 1, U.dtype) - s) / mass
    # each of these is the level if the first entries are what is left; the largest one is right
    return clip(U - xp.max(levels, axis=1, keepdims=True), 0.0, None)


def clip_to_total(X: Array, caps: Array, total: Array) -> Array:
    """Return the projection of each row onto {0 <= v <= caps, sum v = total}, clip(x - t, 0, c).

    The sum falls with t and is linear between the numbers x_i and x_i - c_i: they are sorted, the
    sums at all of them added up, and t found between two of them. Newton steps then take away what
    the long sums have lost. Their steps are kept apart from t, whose digits end where those of
    x do.
    """
    xp = namespace(X)
    X = X - xp.max(X, axis=1, keepdims=True)
    C = xp.broadcast_to(caps, X.shape)
    s = column(total, X)
    knots = concat([X - C, X], 1)
    order = xp.argsort(knots, axis=1, stable=True)
    t = take_along(knots, order)
    ones = xp.ones_like(X)
    slopes = cumsum(take_along(concat([-ones, ones], 1), order), 1, X.dtype)
    steps = t[:, 1:] - t[:, :-1]
    first = xp.astype(sum_last(C, 1), X.dtype)[:, None]
    sums = concat([first, first + cumsum(slopes[:, :-1] * steps, 1, X.dtype)], 1)
    # the last knot at which the sum is still at least the total
    last = xp.sum(xp.astype(sums >= s, xp.int64), axis=1, keepdims=True)
    at = clip(last - 1, 0, t.shape[1] - 1)
    slope = take_along(slopes, at)
    level = take_along(t, at) + _quotient(take_along(sums, at) - s, -slope)
    X, level = X - level, 0.0 * level
    for _ in range(_REFINEMENTS):
        rise = X - level
        moving = xp.astype((rise > 0) & (rise < C), X.dtype)
        excess = xp.astype(sum_last(_between(rise, C), 1), X.dtype)[:, None] - s
        level = level + _quotient(excess, xp.sum(moving, axis=1, keepdims=True))
    return _between(X - level, C)


_REFINEMENTS = 2
"""Newton steps of `clip_to_total`."""


def _between(rise: Array, C: Array) -> Array:
    xp = namespace(rise)
    return xp.minimum(clip(rise, 0.0, None), C)


def _quotient(a: Array, b: Array) -> Array:
    """Return a / b, and 0 where b is 0."""
    xp = namespace(a)
    some = b > 0
    return xp.where(some, a, 0.0 * a) / xp.where(some, b, xp.ones_like(b))


def falling_rows(U: Array) -> Array:
    """Return each row in falling order."""
    if type(U) is np.ndarray:
        return np.sort(U, axis=1)[:, ::-1]
    return namespace(U).sort(U, axis=1, descending=True)
