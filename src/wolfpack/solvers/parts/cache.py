"""A cache of vertices: a hull whose ages count the rounds since each vertex was used."""

from __future__ import annotations

import math

import numpy as np

from .hull import Hull


def used(cache: Hull, i: int, size: int) -> Hull:
    """Return the cache after a round that used vertex i, which alone has weight.

    At most ``size`` vertices are kept; the one unused for longest goes first.
    """
    weights, idle = np.zeros(len(cache.weights)), cache.idle + 1
    weights[i], idle[i] = 1.0, 0
    cache = cache._replace(weights=weights, idle=idle)
    return cache.trimmed(1 + size, math.inf, idle)
