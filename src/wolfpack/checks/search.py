r"""Where might f bend down? Points of K that show it, if anything does, the likeliest first.

A search of few evaluations begins at the best point of a run. It looks at other points of K, and
follows f downhill from halfway to them: two wells have a hill between them, and a tangent at its
far side is above f at its near side. Where the gradient vanishes, it first measures curvatures
with differences of gradients (Lanczos' method), and goes where they are least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..arrays import Array, inner, like, norm
from ..problem import Problem
from .convexity import Sample

STEPS = 5
"""Steps downhill from each point."""

DESCENT = 4
"""The same on sets without a cheap projection, each with two evaluations and an oracle call."""

CURVATURES = 4
"""Directions along which curvature is measured where the gradient vanishes."""

NEAR = 0.02
"""How far they reach, as a part of the diameter of K."""

TRUST = 0.25
"""Longest step downhill, as a part of the distance from the best point: longer ones could cross
the hill that they are to find."""


_HOME = 0.1
"""A part of the way to a rival; what comes so near to the best point has found nothing else."""


def sample(problem: Problem, x: Array) -> Sample:
    """Evaluate f at x."""
    return Sample(x, problem.evaluate(x))


def projected_trail(
    problem: Problem, best: Sample, rival: Array, project: Callable[[Array], Array]
) -> Iterator[Sample]:
    """Yield samples halfway to a rival of the best point, downhill from there, and at the rival."""
    home, far = best.x, norm(rival - best.x)
    y = sample(problem, 0.5 * (home + rival))
    yield y
    former = best
    for _ in range(STEPS):
        g = y.at.gradient
        length = step_length(y.x - former.x, g - former.at.gradient, y.x - home, g)
        x = project(y.x - length * g)
        if norm(x - y.x) <= 1e-9 * far or norm(x - home) <= _HOME * far:
            break
        former, y = y, sample(problem, x)
        yield y
    yield sample(problem, 0.5 * (home + y.x))
    yield sample(problem, rival)


def oracle_trail(
    problem: Problem, best: Sample, rival: Array, target: Callable[[Array], Array]
) -> Iterator[Sample]:
    """Yield samples on the way to a rival, downhill from there, and on the way back.

    ``target`` answers a gradient with a point of K. Each step tries the middle of the way to it,
    and the minimiser of the parabola through the two ends.
    """
    for t in (0.5, 1.0):
        y = sample(problem, best.x + t * (rival - best.x))
        yield y
    for _ in range(DESCENT):
        d = target(y.at.gradient) - y.x
        slope, tried, t = inner(y.at.gradient, d), [y], 0.5
        for _ in range(2):
            tried.append(sample(problem, y.x + t * d))
            yield tried[-1]
            bend = tried[-1].at.value - y.at.value - t * slope
            least = 1.0 if bend <= 0 else -slope * t * t / (2.0 * bend)
            t = min(1.0, max(least, 1e-3))
        y = min(tried, key=lambda one: one.at.value)
    yield sample(problem, 0.5 * (best.x + y.x))


def step_length(step: Array, change: Array, way: Array, g: Array) -> float:
    """Return Barzilai and Borwein's step, but no longer than a part of the way that was come."""
    size = norm(g)
    if not size:
        return 0.0
    longest = TRUST * norm(way) / size
    curvature = inner(step, change)
    return longest if curvature <= 0.0 else min(longest, inner(step, step) / curvature)


def curvatures(
    problem: Problem, best: Sample, project: Callable[[Array], Array]
) -> Iterator[Sample]:
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
        point = project(x + NEAR * K.diameter / norm(u) * u)
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
        point = project(x + sign * K.diameter * lowest)
        yield Sample(point, problem.evaluate(point))
