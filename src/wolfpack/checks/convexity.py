"""Is f convex? Values against the tangents at all points that have been evaluated.

A convex f lies above each of its tangents. Two evaluations give two such inequalities, so that n
points give n (n - 1) without another evaluation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, inners
from .slopes import Smooth

_SMALL = 10_000
"""Entries of x up to which samples are copied into matrices; beyond, products take the time."""


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
        self._rows: Rows | None = None

    def add(self, x: Array, at: Any) -> Breach | None:
        """Take a sample, and return the deepest breach that it shows."""
        new = Sample(x, at)
        found = [
            b
            for b in (breach(self.smooth, old, new) for old in self._suspects(new))
            if b is not None
        ]
        oldest = 1 if len(self.samples) >= self.most else None
        if oldest is not None:
            del self.samples[oldest]
        self.samples.append(new)
        if self._rows is not None:
            self._rows.add(new, oldest)
        return max(found, key=lambda b: b.depth, default=None)

    def _suspects(self, new: Sample) -> list[Sample]:
        """Return the samples that a closer look may prove to contradict a new one.

        They are all of them, unless one product of small matrices tells.
        """
        x = new.x
        if not self.samples:
            fits = type(x) is np.ndarray is type(new.at.gradient)
            if fits and x.dtype == np.float64 == new.at.gradient.dtype and x.size <= _SMALL:
                self._rows = Rows(self.most, x.size)
        if self._rows is None:
            return self.samples
        return [self.samples[i] for i in self._rows.below(new)]


class Rows:
    """The points and gradients of samples as rows of two matrices, in the order of the samples."""

    def __init__(self, most: int, size: int) -> None:
        self.points, self.slopes = np.empty((2, most, size))
        self.values = np.empty(most)
        self.count = 0

    def add(self, new: Sample, oldest: int | None) -> None:
        """Take a sample, in place of the oldest where there is no more room."""
        if oldest is not None:
            for rows in (self.points, self.slopes, self.values):
                rows[oldest:-1] = rows[oldest + 1 :]
            self.count -= 1
        i = self.count
        self.points[i], self.slopes[i] = new.x.reshape(-1), new.at.gradient.reshape(-1)
        self.values[i] = new.at.value
        self.count += 1

    def below(self, new: Sample) -> list[int]:
        """Return which samples are below a new tangent, or have tangents above the new sample."""
        n = self.count
        steps = new.x.reshape(-1) - self.points[:n]
        rises = new.at.value - self.values[:n]
        depths = np.einsum("ij,ij->i", self.slopes[:n], steps) - rises
        backs = rises - steps @ new.at.gradient.reshape(-1)
        return np.flatnonzero(np.maximum(depths, backs) > 0.0).tolist()
