r"""Where might f bend down? Points of K that show it, if anything does, the likeliest first.

A search of few evaluations begins at the best point of a run. It looks at other points of K, and
follows f downhill from halfway to them: two wells have a hill between them, and a tangent at its
far side is above f at its near side. Where the gradient vanishes, it first measures curvatures
with differences of gradients (Lanczos' method), and goes where they are least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ..arrays import Array, inner, like, norm, same_type
from ..problem import Problem
from ..sets import Simplex
from .convexity import Sample

STEPS = 5
"""Steps downhill from each point."""

CURVATURES = 4
"""Directions along which curvature is measured where the gradient vanishes."""

NEAR = 0.02
"""How far they reach, as a part of the diameter of K."""

_TRUST = 0.25
"""Longest step downhill, as a part of the distance from the best point: longer ones could cross
the hill that they are to find."""


class Coordinates(Protocol):
    """How to move in K: a point has coordinates, and every change of them can be made feasible."""

    def of(self, points: Sequence[Array]) -> list[Array]:
        """Return the coordinates of the best point and of its rivals."""
        ...

    def point(self, c: Array) -> Array:
        """Return the point with coordinates c."""
        ...

    def pull(self, g: Array) -> Array:
        """Return the gradient with respect to the coordinates."""
        ...

    def project(self, c: Array) -> Array:
        """Return coordinates of a point of K near c."""
        ...


class Projected:
    """The entries of x themselves, for sets with a cheap projection."""

    def __init__(self, problem: Problem) -> None:
        self.K = problem.set

    def of(self, points: Sequence[Array]) -> list[Array]:
        return list(points)

    def point(self, c: Array) -> Array:
        return c

    def pull(self, g: Array) -> Array:
        return g

    def project(self, c: Array) -> Array:
        return same_type(self.K.project(c), c)


class Weights:
    """Weights of the points that a run has met, for sets of which nothing else is known."""

    def __init__(self, points: Sequence[Array]) -> None:
        self.points, self.simplex = points, Simplex(len(points))

    def of(self, points: Sequence[Array]) -> list[Array]:
        return list(np.eye(len(self.points))[: len(points)])

    def point(self, c: Array) -> Array:
        terms = [float(w) * p for w, p in zip(c, self.points, strict=True) if w > 0.0]
        return sum(terms[1:], terms[0])

    def pull(self, g: Array) -> Array:
        return np.array([float(inner(g, p)) for p in self.points])

    def project(self, c: Array) -> Array:
        return self.simplex.project(c)


_HOME = 0.1
"""A part of the way to a rival; what comes so near to the best point has found nothing else."""


def trail(
    problem: Problem, best: Sample, where: Coordinates, ends: Sequence[Array]
) -> Iterator[Sample]:
    """Yield samples halfway to a rival of the best point, downhill from there, and at the rival."""
    home, rival = where.of(ends)[:2]

    def sample(c: Array) -> Sample:
        x = where.point(c)
        return Sample(x, problem.evaluate(x))

    c, far = 0.5 * (home + rival), norm(home - rival)
    y = sample(c)
    yield y
    former, slope = home, where.pull(best.at.gradient)
    for _ in range(STEPS):
        g = where.pull(y.at.gradient)
        c_next = where.project(c - step_length(c - former, g - slope, c - home, g) * g)
        if norm(c_next - c) <= 1e-9 * far or norm(c_next - home) <= _HOME * far:
            break
        former, slope, c = c, g, c_next
        y = sample(c)
        yield y
    yield sample(0.5 * (home + c))
    yield sample(rival)


def step_length(step: Array, change: Array, way: Array, g: Array) -> float:
    """Return Barzilai and Borwein's step, but no longer than a part of the way that was come."""
    size = norm(g)
    if not size:
        return 0.0
    longest = _TRUST * norm(way) / size
    curvature = inner(step, change)
    return longest if curvature <= 0.0 else min(longest, inner(step, step) / curvature)


def curvatures(problem: Problem, best: Sample, where: Projected) -> Iterator[Sample]:
    """Yield samples near a point where the gradient vanishes, then where f bends down the most.

    Differences of gradients are products with the Hessian. On the subspace that these span the
    least curvature is that of Lanczos' method.
    """
    K, x = problem.set, best.x
    rng = np.random.Generator(np.random.Philox(key=10))
    u = like(rng.standard_normal(tuple(x.shape)), x)
    basis: list[Array] = []
    images: list[Array] = []
    while norm(u) > 0.0 and len(basis) < CURVATURES:
        point = where.project(x + NEAR * K.diameter / norm(u) * u)
        length = norm(point - x)
        if not length:
            break
        at = problem.evaluate(point)
        yield Sample(point, at)
        basis.append((point - x) / length)
        images.append((at.gradient - best.at.gradient) / length)
        u = images[-1]
        scale = norm(u)
        for b in (*basis, *basis):
            u = u - inner(u, b) * b
        if norm(u) <= 1e-6 * scale:
            break
    if not basis:
        return
    products = np.array([[float(inner(b, h)) for h in images] for b in basis])
    weights = np.linalg.eigh(products + products.T)[1][:, 0]
    lowest = sum(float(w) * b for w, b in zip(weights, basis, strict=True))
    for sign in (1.0, -1.0):
        point = where.project(x + sign * K.diameter * lowest)
        yield Sample(point, problem.evaluate(point))
