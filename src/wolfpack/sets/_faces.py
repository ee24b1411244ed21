r"""Oracles on the minimal face of a point, and the longest step that stays in a set.

Many polytopes are a simple set with bounds on its entries. There the minimal face of x is the set
of the points that agree with x where x is at a bound. The set's own oracle finds the best of them
when the costs of those entries are changed so much that they stay where they are.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, epsilon
from ._base import Set

_BALANCED = 1e-9  # sums of a direction up to this share of its size are rounding errors


def near(K: Set, x: Array) -> float:
    """Return the distance up to which an entry of ``x`` counts as being at its bound.

    Points are sums of many steps, of which rounding leaves a few hundred units at most.
    """
    return 1e3 * epsilon(x) * K.radius


def restricted(g: Array, low: Array, high: Array | None = None) -> Array:
    """Return costs that have the order of ``g``, and hold entries at ``low`` and at ``high``."""
    largest = float(abs(g).max())
    g = g / largest if largest else g
    hold = 4.0 * g.size
    held = np.where(low, hold, g)
    return held if high is None else np.where(high, -hold, held)


def longest(slack: Array, rate: Array) -> float:
    """Return the largest t with t ``rate`` <= ``slack`` in all entries, infinite without limit."""
    used = rate > 0
    return float((np.maximum(slack[used], 0.0) / rate[used]).min()) if used.any() else math.inf


def balanced(sums: Array, d: Array) -> bool:
    """Tell whether sums of entries of ``d`` are zero up to rounding errors."""
    return float(np.max(np.abs(sums))) <= _BALANCED * float(np.abs(d).sum())


def norm_step(x: Array, d: Array, limit: float) -> float:
    """Return the largest t with ||x + t d||_1 <= limit.

    The norm is convex and linear between the t at which an entry changes its sign.
    """
    x, d = x.reshape(-1).astype(np.float64), d.reshape(-1).astype(np.float64)
    crossing = np.sort(-x[x * d < 0] / d[x * d < 0])
    t, value, level = 0.0, float(np.abs(x).sum()), _BALANCED * float(np.abs(d).sum())
    for after in (*crossing.tolist(), math.inf):
        middle = 0.5 * (t + after) if after < math.inf else t + 1.0
        slope = float((np.sign(x + middle * d) * d).sum())
        slope = 0.0 if slope <= level else slope  # along a facet, up to rounding
        if slope > 0 and value + slope * (after - t) >= limit:
            return t + max(limit - value, 0.0) / slope
        if after == math.inf:
            return math.inf if not d.any() else t
        t, value = after, float(np.abs(x + after * d).sum())
    return t
