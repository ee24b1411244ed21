"""Is f convex? Values against the tangents at all points that have been evaluated.

A convex f lies above each of its tangents. Two evaluations give two such inequalities, so that n
points give n (n - 1) without another evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import Array, inners
from .slopes import Smooth


class Sample(NamedTuple):
    """A point and the evaluation of f there."""

    x: Array
    at: Any


class Breach(NamedTuple):
    """f at ``there`` is below its tangent at ``here``, by ``depth``."""

    here: Sample
    there: Sample
    depth: float


def breach(smooth: Smooth, one: Sample, other: Sample) -> Breach | None:
    """Return the deeper of two breaches of convexity, None if there is none beyond rounding."""
    found = smooth.violation(one.at, one.x, other.at, other.x)
    if found is None or found.what != "convexity":
        return None
    step = other.x - one.x
    slope, back = inners((one.at.gradient, step), (other.at.gradient, step))
    rise = other.at.value - one.at.value
    if slope - rise >= rise - back:
        return Breach(one, other, slope - rise)
    return Breach(other, one, rise - back)


class Tangents:
    """Samples of f, each compared with all others; the oldest but the first are forgotten."""

    def __init__(self, smooth: Smooth, most: int = 12) -> None:
        self.smooth = smooth
        self.most = most
        self.samples: list[Sample] = []

    def add(self, x: Array, at: Any) -> Breach | None:
        """Take a sample, and return the deepest breach that it shows."""
        new = Sample(x, at)
        found = [
            b for b in (breach(self.smooth, old, new) for old in self.samples) if b is not None
        ]
        if len(self.samples) >= self.most:
            del self.samples[1]
        self.samples.append(new)
        return max(found, key=lambda b: b.depth, default=None)
