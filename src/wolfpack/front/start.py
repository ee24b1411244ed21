"""A starting point for functions that are not finite everywhere on K."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Array, like, same_type
from ..problem import NonFiniteError, Problem
from ..problem.errors import named_point
from ..sets import Set

_MAX_ANSWERS = 2048
"""Answers to random directions of which the last point is made."""

_MAX_AXES = 512
"""Dimension up to which the oracle is also asked in the directions of all axes."""

_ENTRIES = 2**21
"""Entries of the directions that are asked at once."""


def search_start(problem: Problem, K: Set, outside: Array) -> tuple[Array, str]:
    """Return a point of K where f is finite, and a remark that names it.

    ``outside`` is where K starts by default, and f is not finite there. The points that are tried
    lie deeper and deeper inside K: the smoothed answer to no direction at all, where K knows it in
    closed form, then means of the oracle's answers to all axes and to random directions, of a fixed
    seed. The domain of f is convex, so it has one of them unless it is thin, or to one side of the
    middle of K. Many functions need x > 0 or x < 0: the last two points that are tried are those
    with the largest and the smallest sum.
    """
    tried = 0
    for point in _deeper_points(problem, K, outside):
        tried += 1
        try:
            problem.evaluate(point)
        except NonFiniteError:
            continue
        return point, (
            "f is not finite at the starting point of K, so a point of its domain was searched "
            f"for: the run began at x = {named_point(point)}."
        )
    raise ValueError(
        f"f is not finite at the starting point of K, nor at any of {tried} points inside K that "
        "were tried: pass an x0 at which it is finite"
    )


def _deeper_points(problem: Problem, K: Set, outside: Array) -> Iterator[Array]:
    """Yield points of K, the later the deeper inside."""
    if K.closed_forms:
        yield same_type(K.smoothed(0.0 * outside, 1.0), outside)
    total, count = 0.0 * outside, 0
    axes = np.eye(K.dimension) if K.dimension <= _MAX_AXES else np.empty((0, K.dimension))
    rng, most = np.random.default_rng(0), max(1, _ENTRIES // K.dimension)
    directions = np.concatenate([axes, -axes]).reshape(-1, *K.shape)
    due = len(directions)
    while count < 2 * len(axes) + _MAX_ANSWERS:
        if count >= 2 * len(axes):
            directions = rng.standard_normal((min(max(8, count), most), *K.shape))
        problem.counts.ask(len(directions))
        total = total + len(directions) * same_type(
            K.lmo(like(directions, outside)).mean(), outside
        )
        count += len(directions)
        if count >= due:
            yield total / count
            due = 2 * count
    problem.counts.ask(2)
    for sign in (-1.0, 1.0):
        yield same_type(K.lmo(like(np.full(K.shape, sign), outside)).to_dense(), outside)
