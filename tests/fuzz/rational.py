"""Random problems with rational minima: quadratics over polytopes, near to the origin and far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

import wolfpack as wp
from fuzz import exact
from fuzz.exact import QuadraticForm, Vector
from fuzz.problem import Problem

DISTANCES = (0.0, 1.0, 1e2, 1e3, 3e4, 1e6)
WIDTHS = (1e-2, 1.0, 1.0, 30.0)
RADII = (1.0, 1.0, 1e2, 1e4, 1e6)
MAGNITUDES = (1.0, 1.0, 1.0, 1.0, 1e-20, 1e-9, 1e9)
"""Factors of f; squares of single-precision numbers of size 1e-20 underflow."""


@dataclass(frozen=True)
class Place:
    """A polytope with all that is known of it.

    ``nearest`` minimises a quadratic whose Q is a multiple of the identity, where a formula does.
    """

    name: str
    K: Any
    vertices: list[Vector]
    centre: np.ndarray
    width: float
    nearest: Callable[[QuadraticForm], Vector] | None = None

    def minimum(self, f: QuadraticForm) -> Fraction:
        """Return the exact minimum of a quadratic over this polytope."""
        return exact.hull_minimum(f, self.vertices)


def box(rng: np.random.Generator, d: int, narrow: Any) -> Place:
    """A box at some distance."""
    distance, width = rng.choice(DISTANCES), rng.choice(WIDTHS)
    lower = narrow(distance * rng.choice([-1, 1], d) + width * rng.standard_normal(d))
    upper = np.maximum(narrow(lower + width * rng.uniform(0.1, 2.0, d)), lower)
    corners = [exact.vector(np.where(c, upper, lower)) for c in product((0, 1), repeat=d)]
    lows, highs = exact.vector(lower), exact.vector(upper)
    return Place(
        "box",
        wp.sets.Box(lower, upper),
        corners,
        0.5 * (lower + upper),
        float(width),
        lambda f: exact.box_point(f, lows, highs),
    )


def simplex(rng: np.random.Generator, d: int, narrow: Any) -> Place:
    """A simplex of some radius, about the origin."""
    radius = float(narrow(rng.choice(RADII) * rng.uniform(0.5, 2.0)))
    vertices = [exact.vector(row) for row in radius * np.eye(d)]

    def nearest(f: QuadraticForm) -> Vector:
        return exact.simplex_point(_free(f), Fraction(radius))

    K = wp.sets.Simplex(d, radius)
    return Place("simplex", K, vertices, np.full(d, radius / d), radius, nearest)


def l1_ball(rng: np.random.Generator, d: int, narrow: Any) -> Place:
    """An l1 ball of some radius, about the origin."""
    radius = float(narrow(rng.choice(RADII) * rng.uniform(0.5, 2.0)))
    vertices = [exact.vector(row) for row in (*(radius * np.eye(d)), *(-radius * np.eye(d)))]

    def nearest(f: QuadraticForm) -> Vector:
        return exact.l1_point(_free(f), Fraction(radius))

    return Place("l1 ball", wp.sets.L1Ball(d, radius), vertices, np.zeros(d), radius, nearest)


def moved(rng: np.random.Generator, d: int, narrow: Any) -> Place:
    """A simplex or an l1 ball, moved far away."""
    base = (simplex, l1_ball)[rng.integers(2)](rng, d, narrow)
    offset = narrow(rng.choice(DISTANCES) * rng.choice([-1.0, 1.0], d) + rng.standard_normal(d))
    shift = exact.vector(offset)
    vertices = [_sum(v, shift) for v in base.vertices]

    def nearest(f: QuadraticForm) -> Vector:
        c = _sum(f.c, exact.apply(f.Q, shift))
        assert base.nearest is not None
        return _sum(base.nearest(f._replace(c=c)), shift)

    K = wp.sets.Translate(base.K, offset)
    return Place(f"moved {base.name}", K, vertices, base.centre + offset, base.width, nearest)


def hull(rng: np.random.Generator, d: int, narrow: Any) -> Place:
    """The hull of a few points in one or two dimensions, far from the origin."""
    d, n = min(d, 2), int(rng.integers(2, 6))
    width = rng.choice(WIDTHS)
    centre = rng.choice(DISTANCES) * rng.choice([-1, 1], d) + rng.standard_normal(d)
    points = narrow(centre + width * rng.standard_normal((n, d)))
    return Place(
        "hull", wp.sets.ConvexHull(points), exact.matrix(points), points.mean(0), float(width)
    )


PLACES = (box, box, simplex, l1_ball, moved, moved, hull)


def _free(f: QuadraticForm) -> Vector:
    """Return the minimiser of a quadratic with Q = q I over the whole space."""
    return [-c / f.Q[0][0] for c in f.c]


def _sum(a: Vector, b: Vector) -> Vector:
    return [p + q for p, q in zip(a, b, strict=True)]


def projection(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """q/2 ||x - t||^2 written as a quadratic, whose terms cancel far from the origin."""
    place = PLACES[rng.integers(len(PLACES))](rng, int(rng.integers(1, 7)), narrow)
    q, t = float(rng.choice([1.0, 1.0, 0.5, 3.0]) * rng.choice(MAGNITUDES)), _target(rng, place)
    c = (-q * t).astype(dtype)
    r = float(rng.choice([0.5 * q * float(t @ t), 0.0]))
    form = exact.scaled_identity(q, c, r)
    point = place.nearest(form) if place.nearest is not None else None
    least = place.minimum(form) if point is None else form(point)
    return _problem("projection", dtype, place, wp.objectives.Quadratic(q, c, r), form, least, rng)


def separable(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """A quadratic with a diagonal matrix over a box."""
    place = box(rng, int(rng.integers(1, 7)), narrow)
    sizes = 2.0 ** rng.integers(-4, 5, len(place.centre)) * rng.uniform(0.5, 1.0)
    diagonal = sizes.astype(dtype).astype(np.float64)
    t = _target(rng, place)
    c = (-diagonal * t).astype(dtype)
    r = float(rng.choice([0.5 * float(t @ (diagonal * t)), 0.0]))
    form = exact.scaled_identity(diagonal, c, r)
    assert place.nearest is not None
    f = wp.objectives.Quadratic(np.diag(diagonal).astype(dtype), c, r)
    return _problem("separable", dtype, place, f, form, form(place.nearest(form)), rng)


def quadratic(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """A quadratic with a matrix of integers, singular or not."""
    place = _small(rng, narrow)
    d = len(place.centre)
    root = rng.integers(-3, 4, (int(rng.integers(1, d + 2)), d)).astype(float)
    Q = (root.T @ root).astype(dtype)
    Q[np.diag_indices(d)] += rng.integers(0, 2)
    t = _target(rng, place)
    c = (-Q @ t + rng.choice([0.0, 1.0]) * rng.integers(-3, 4, d)).astype(dtype)
    r = float(rng.choice([0.5 * float(t @ Q @ t), 0.0]))
    form = QuadraticForm(exact.matrix(Q), exact.vector(c), Fraction(r))
    f = wp.objectives.Quadratic(Q, c, r)
    return _problem("quadratic", dtype, place, f, form, place.minimum(form), rng)


def least_squares(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """Least squares with few rows or many, with small residuals or large ones."""
    place = _small(rng, narrow)
    d, n = len(place.centre), int(rng.integers(1, 7))
    A = rng.integers(-4, 5, (n, d)) if rng.random() < 0.5 else rng.standard_normal((n, d))
    A = (A * rng.choice(MAGNITUDES)).astype(dtype)
    b = (A @ _target(rng, place) + rng.choice([0.0, 1.0]) * rng.standard_normal(n)).astype(dtype)
    form = exact.least_squares(A, b)
    f = wp.objectives.LeastSquares(A, b)
    return _problem("least squares", dtype, place, f, form, place.minimum(form), rng)


def linear(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """A linear function, written by the user."""
    place = PLACES[rng.integers(len(PLACES))](rng, int(rng.integers(1, 5)), narrow)
    c = rng.standard_normal(len(place.centre)).astype(dtype)
    form = exact.scaled_identity(0.0, c, 0.0)
    least = min(form(v) for v in place.vertices)
    return _problem("linear", dtype, place, lambda x: (float(c @ x), c), form, least, rng, L=1e-3)


def distance(rng: np.random.Generator, dtype: Any, narrow: Any) -> Problem:
    """||x - t||^2/2, written by the user as a sum of squares."""
    place = PLACES[rng.integers(len(PLACES))](rng, int(rng.integers(1, 7)), narrow)
    t = _target(rng, place).astype(dtype)
    shift = exact.vector(t)
    form = exact.scaled_identity(1.0, [-s for s in shift], 0.0)
    form = form._replace(r=exact.HALF * exact.dot(shift, shift))
    point = place.nearest(form) if place.nearest is not None else None
    least = place.minimum(form) if point is None else form(point)

    def f(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float((x - t) @ (x - t)), x - t

    return _problem("callable", dtype, place, f, form, least, rng, L=1.0)


FAMILIES = (projection, projection, separable, quadratic, least_squares, linear, distance)


def rational_problem(rng: np.random.Generator) -> Problem:
    """Return a random problem in float32 or float64."""
    dtype = (np.float64, np.float32)[rng.integers(2)]
    rounded = rng.random() < 0.7  # else the set has float64 numbers that x cannot represent

    def narrow(values: Any) -> Any:
        kind = dtype if rounded else np.float64
        return np.asarray(values, dtype=kind).astype(np.float64)

    return FAMILIES[rng.integers(len(FAMILIES))](rng, dtype, narrow)


def _small(rng: np.random.Generator, narrow: Any) -> Place:
    """Return a polytope with at most eight vertices."""
    make, d = [(box, 1), (box, 2), (simplex, 4), (simplex, 3), (l1_ball, 2), (moved, 3), (hull, 2)][
        rng.integers(7)
    ]
    return make(rng, d, narrow)


def _target(rng: np.random.Generator, place: Place) -> np.ndarray:
    """Return a point near the set, inside it or outside."""
    spread = place.width * rng.choice([0.0, 0.3, 1.0, 3.0])
    return place.centre + spread * rng.standard_normal(len(place.centre))


def _problem(
    family: str,
    dtype: Any,
    place: Place,
    f: Any,
    form: QuadraticForm,
    least: Fraction,
    rng: np.random.Generator,
    L: float | None = None,
) -> Problem:
    K, area = place.K, f"{family}, {np.dtype(dtype).name}"
    direction = rng.standard_normal(K.shape)
    starts = [K.start().astype(dtype), np.asarray(K.lmo(direction)).astype(dtype)]
    options = {} if L is None else {"L": L}
    return Problem(area, place.name, f, K, form, least, starts, options)
