r"""Steps of an active-set method for many small quadratics at once.

Problem
    min <x, H x>/2 + <c, x> over l <= x <= u, and perhaps a fixed sum of the entries.

Iteration
    The face of x holds the entries strictly between their bounds, which are free. First, whole sets
    of entries are exchanged (`PIVOTS` times): those of the face's minimum that are beyond their
    bounds go there, and if there are none, all entries with a multiplier of the wrong sign become
    free. For the problems that this does not solve, each step then goes toward the minimum over the
    face, until the first entry meets a bound and stays there. At the minimum of a face, the entry
    whose multiplier has the wrong sign by most becomes free.


Guarantee
    f never rises. Single exchanges that never stand still end at the minimum, since no face comes
    twice; the caller bounds their number, and goes on with another method. Exchanges of sets may
    come back to a face, and are fast in practice.

Cost of a step
    One system of the order of the largest face for each problem, and one product with H.

Sources
    J. Nocedal, S. Wright, Numerical optimization, 2nd edition, Springer 2006, section 16.5.
    J. Judice, F. Pires, A block principal pivoting algorithm for large-scale strictly monotone
    linear complementarity problems, Computers and Operations Research 21, 1994.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import (
    Array,
    arange,
    concat,
    epsilon,
    eye,
    is_foreign,
    namespace,
    rows,
    sum_last,
    take_along,
    to_host,
)

_RIDGE = 1e-13
"""Added to the diagonal, relative to its largest entry: a face may hold a line on which f is
constant. The steps then need no accuracy along it."""

PIVOTS = 8
"""Steps that exchange whole sets of entries, before those that exchange one."""

_ORDERS = 4
"""Faces are solved together whose orders are the same multiple of this number, rounded up."""


def face_steps(
    H: Array, x: Array, g: Array, bounds: tuple[Array, Array, bool], steps: int
) -> Array:
    """Return the points after at most ``steps`` steps each.

    ``g`` are the gradients at ``x``; ``H`` is (B, d, d), or (d, d) for all problems.
    """
    low, high = (side + 0.0 * x for side in bounds[:2])
    faces = _Faces(H, x, g, low, high, bounds[2])
    parts: list[tuple[np.ndarray, Array]] = []
    ids = np.arange(x.shape[0])
    for number in range(PIVOTS + steps):
        if number == PIVOTS:
            faces.settle()
        goes_on = np.asarray(to_host(faces.pivot() if number < PIVOTS else faces.step()))
        if not goes_on.any():
            break
        # those that have found their minimum leave, when they are worth a copy
        if goes_on.mean() < (0.5 if is_foreign(x) else 0.85):
            gone, kept = np.flatnonzero(~goes_on), np.flatnonzero(goes_on)
            parts.append((ids[gone], rows(faces.x, gone)))
            ids, faces = ids[kept], faces.take(kept)
    parts.append((ids, faces.x))
    order = np.argsort(np.concatenate([part for part, _ in parts]))
    return rows(concat([points for _, points in parts]), order)


class _Faces:
    """Points of many problems, their gradients, and which of their entries are free."""

    def __init__(
        self, H: Array, x: Array, g: Array, low: Array, high: Array, fixed_sum: bool
    ) -> None:
        self.H, self.x, self.g, self.low, self.high = H, x, g, low, high
        self.fixed_sum = fixed_sum
        self.settle()

    def take(self, kept: np.ndarray) -> _Faces:
        """Return some of the problems."""
        H = self.H if self.H.ndim == 2 else rows(self.H, kept)
        x, g, low, high = (rows(part, kept) for part in (self.x, self.g, self.low, self.high))
        other = _Faces(H, x, g, low, high, self.fixed_sum)
        other.free, other.bound = rows(self.free, kept), rows(self.bound, kept)
        return other

    def pivot(self) -> Array:
        """Exchange whole sets of entries between face and bounds; return which go on.

        Entries of the face's minimum that are beyond their bounds go there, and where there are
        none, all entries with a multiplier of the wrong sign become free. A minimum within the
        bounds that is lower than x takes its place.
        """
        H, x, g, low, high = self.H, self.x, self.g, self.low, self.high
        xp, free = namespace(x), self.free
        if self.fixed_sum:
            free = free | _lone(free, x, low)
        base = xp.where(free, x, self.bound)
        g_base = g + _times(H, base - x)
        missing = xp.sum(x - base, axis=1, keepdims=True)
        p, level = _direction(H, g_base, free, self.fixed_sum, missing)
        z, gz = base + p, g_base + _times(H, p)
        under, over = free & (z < low), free & (z > high)
        inside = ~xp.any(under | over, axis=1, keepdims=True)
        d = z - x
        better = inside & (sum_last(d * (g + gz), 1) < 0)[:, None]
        wrong = self._wrong(z, gz - level, free) > self._noise(gz)
        self.bound = xp.where(under, low, xp.where(over, high, self.bound))
        self.free = (free & ~(under | over)) | (wrong & inside)
        self.x, self.g = xp.where(better, z, x), xp.where(better, gz, g)
        return (~inside | xp.any(wrong, axis=1, keepdims=True))[:, 0]

    def _wrong(self, x: Array, slopes: Array, free: Array) -> Array:
        """Return how fast f falls where held entries leave their bounds, -1 elsewhere."""
        xp = namespace(x)
        held = ~free & (self.low < self.high)
        return xp.where(held, xp.where(x <= self.low, -slopes, slopes), xp.full_like(x, -1.0))

    def _noise(self, g: Array) -> Array:
        return 8.0 * epsilon(g) * namespace(g).max(abs(g), axis=1, keepdims=True)

    def settle(self) -> None:
        """Free the entries of x that are within their bounds, and no others."""
        self.free = (self.x > self.low) & (self.x < self.high)
        self.bound = self.x

    def step(self) -> Array:
        """Take one step; return which problems have another one to take."""
        H, x, g, low, high = self.H, self.x, self.g, self.low, self.high
        xp, free, places = namespace(x), self.free, arange(x.shape[1], x)[None, :]
        if self.fixed_sum:
            free = free | _lone(free, x, low)
        p, level = _direction(H, g, free, self.fixed_sum)
        moving = free & (p != 0)
        ratio = xp.where(p > 0, high - x, low - x) / xp.where(moving, p, xp.ones_like(x))
        ratio = xp.where(moving, ratio, xp.full_like(x, np.inf))
        first = xp.argmin(ratio, axis=1)[:, None]
        t = take_along(ratio, first)
        blocked = t < 1.0
        d = xp.where(blocked, t, xp.ones_like(t)) * p
        Hd = _times(H, d)
        better = (sum_last(d * (g + 0.5 * Hd), 1) <= 0)[:, None]
        x, g = xp.where(better, x + d, x), xp.where(better, g + Hd, g)
        # the entry that met its bound is set to it
        hit = blocked & better & (places == first)
        x = xp.where(hit, xp.where(p > 0, high, low), x)
        wrong = self._wrong(x, g - level, free & ~hit)
        worst = xp.argmax(wrong, axis=1)[:, None]
        leaves = (take_along(wrong, worst) > self._noise(g)) & ~blocked & better
        self.x, self.g = x, g
        self.free = (free & ~hit) | (leaves & (places == worst))
        return (leaves | (blocked & better))[:, 0]


def _times(H: Array, V: Array) -> Array:
    return V @ H if H.ndim == 2 else namespace(V).matmul(H, V[:, :, None])[:, :, 0]


def _lone(free: Array, x: Array, low: Array) -> Array:
    """Return the largest entry of each row that has no free entry: sums need one to trade with."""
    xp = namespace(x)
    largest = xp.argmax(x - low, axis=1)[:, None]
    none = ~xp.any(free, axis=1, keepdims=True)
    return none & (arange(x.shape[1], x)[None, :] == largest)


def _direction(
    H: Array, g: Array, free: Array, fixed_sum: bool, missing: Any = 0.0
) -> tuple[Array, Array]:
    """Return the steps to the minima over the faces, and the multipliers of the sums.

    The entries of a step sum to ``missing`` where sums are fixed.

    On the host, problems with faces of about the same order are solved together: the order of its
    system then depends on a problem's own face alone. Devices solve all at the largest order.
    """
    counts = namespace(g).sum(namespace(g).astype(free, namespace(g).int64), axis=1)
    if is_foreign(g):
        return _minima(H, g, free, max(1, int(namespace(g).max(counts))), fixed_sum, missing)
    orders = np.minimum(-(-np.maximum(counts, 1) // _ORDERS) * _ORDERS, g.shape[1])
    p, level = np.zeros_like(g), np.zeros((len(g), 1), dtype=g.dtype)
    for k in np.unique(orders).tolist():
        part = np.flatnonzero(orders == k)
        own = H if H.ndim == 2 else H[part]
        rest = missing if isinstance(missing, float) else missing[part]
        p[part], level[part] = _minima(own, g[part], free[part], k, fixed_sum, rest)
    return p, level


def _minima(
    H: Array, g: Array, free: Array, k: int, fixed_sum: bool, missing: Any
) -> tuple[Array, Array]:
    """Return what `_direction` does, from systems of order k.

    Entries that are not free are ordered last. Rows and columns of the identity stand for those of
    them that are among the first k.
    """
    xp = namespace(g)
    ordering = xp.argsort(xp.astype(~free, xp.int8), axis=1, stable=True)
    order = ordering[:, :k]
    kept = xp.astype(take_along(xp.astype(free, g.dtype), order), g.dtype)
    M = _minors(H, order) * kept[:, :, None] * kept[:, None, :]
    one = eye(k, g)[None, ...]
    diagonal = xp.sum(M * one, axis=2)
    top = xp.max(diagonal, axis=1, keepdims=True)
    top = xp.where(top > 0, top, xp.ones_like(top))
    M = M + one * (top * ((1.0 - kept) + _RIDGE * kept))[:, :, None]
    rhs = -take_along(g, order) * kept
    level = 0.0 * top
    if fixed_sum:
        both = xp.linalg.solve(M, xp.stack([rhs, kept], axis=2))
        p, w = both[:, :, 0], both[:, :, 1]
        total, weight = xp.sum(p * kept, axis=1), xp.sum(w * kept, axis=1)
        level = (missing - total[:, None]) / weight[:, None]
        p = p + level * w
        # g + H p = level on the face
    else:
        p = xp.linalg.solve(M, rhs[:, :, None])[:, :, 0]
    p = concat([p * kept, xp.zeros_like(g[:, k:])], 1)
    return take_along(p, xp.argsort(ordering, axis=1)), level


def _minors(H: Array, order: Array) -> Array:
    """Return the rows and columns ``order`` of each matrix."""
    if H.ndim == 2:
        return H[order[:, :, None], order[:, None, :]]
    batch = arange(order.shape[0], order)[:, None, None]
    return H[batch, order[:, :, None], order[:, None, :]]
