"""Exact arithmetic for small problems: every float is a rational number.

Values of quadratics and minima of quadratics over polytopes are rational and are computed as
`fractions.Fraction`. Exponentials and logarithms are computed with 40 digits.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

Vector = list[Fraction]
Matrix = list[Vector]

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
DIGITS = decimal.Context(prec=40)


def vector(values: Any) -> Vector:
    """Return the numbers of an array, of a list or of nested ones as fractions, in one list."""
    if isinstance(values, list) and (not values or isinstance(values[0], Fraction)):
        return values
    # Half precision of PyTorch has no NumPy type; float64 holds every narrower number exactly.
    array = values.double() if hasattr(values, "double") else values
    return [Fraction(number) for number in np.asarray(array, dtype=np.float64).ravel().tolist()]


def matrix(values: Any) -> Matrix:
    """Return a matrix as rows of fractions."""
    return [vector(row) for row in values]


def dot(a: Iterable[Fraction], b: Iterable[Fraction]) -> Fraction:
    """Return the inner product."""
    return sum((p * q for p, q in zip(a, b, strict=True)), ZERO)


def apply(A: Matrix, x: Vector) -> Vector:
    """Return A x."""
    return [dot(row, x) for row in A]


def combine(weights: Sequence[Fraction], points: Sequence[Vector]) -> Vector:
    """Return the combination of points with these weights."""
    return [dot(weights, column) for column in zip(*points, strict=True)]


def decimal_of(number: Fraction) -> Decimal:
    """Return a fraction with 40 digits."""
    return DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


def exp(z: Fraction) -> Fraction:
    """Return e^z with 40 digits."""
    return Fraction(DIGITS.exp(decimal_of(z)))


def softplus(z: Fraction) -> Fraction:
    """Return log(1 + e^z) with about 40 digits."""
    small = DIGITS.exp(decimal_of(-abs(z)))
    if small < Decimal("1e-25"):
        tail = Fraction(small) - Fraction(small) ** 2 / 2
    else:
        tail = Fraction(DIGITS.ln(DIGITS.add(1, small)))
    return max(z, ZERO) + tail


class QuadraticForm(NamedTuple):
    """f(x) = <x, Q x>/2 + <c, x> + r in exact arithmetic."""

    Q: Matrix
    c: Vector
    r: Fraction

    def __call__(self, x: Vector) -> Fraction:
        return HALF * dot(x, apply(self.Q, x)) + dot(self.c, x) + self.r


def scaled_identity(q: Any, c: Any, r: float) -> QuadraticForm:
    """Return q ||x||^2/2 + <c, x> + r; ``q`` is a number or one number per coordinate."""
    linear = vector(c)
    diagonal = vector(np.broadcast_to(np.asarray(q, dtype=np.float64), (len(linear),)))
    rows = [[q if i == j else ZERO for j in range(len(linear))] for i, q in enumerate(diagonal)]
    return QuadraticForm(rows, linear, Fraction(float(r)))


def least_squares(A: Any, b: Any) -> QuadraticForm:
    """Return ||A x - b||^2/2 as a quadratic form."""
    rows, targets = matrix(A), vector(b)
    columns = [list(column) for column in zip(*rows, strict=True)]
    Q = [[dot(p, q) for q in columns] for p in columns]
    return QuadraticForm(Q, [-dot(p, targets) for p in columns], HALF * dot(targets, targets))


def solve(A: Matrix, b: Vector) -> Vector | None:
    """Return the solution of A z = b by elimination, None if A is singular."""
    n = len(b)
    rows = [[*row, right] for row, right in zip(A, b, strict=True)]
    for i in range(n):
        pivot = next((j for j in range(i, n) if rows[j][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(n):
            if j != i and rows[j][i]:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [p - factor * q for p, q in zip(rows[j], rows[i], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def hull_minimum(f: QuadraticForm, vertices: Sequence[Vector]) -> Fraction:
    """Return the minimum of a convex quadratic over the hull of ``vertices``.

    A minimiser whose representation has the fewest vertices lies in the relative interior of
    their simplex and is the only minimiser there. It therefore solves the optimality conditions
    on the plane through these vertices, which are not singular. Trying all subsets finds it.
    """
    images = [apply(f.Q, v) for v in vertices]
    G = [[dot(v, image) for image in images] for v in vertices]
    h = [dot(f.c, v) for v in vertices]
    best = min(HALF * G[i][i] + h[i] for i in range(len(vertices)))
    for size in range(2, min(len(vertices), len(vertices[0]) + 1) + 1):
        for chosen in combinations(range(len(vertices)), size):
            system = [[*(G[i][j] for j in chosen), ONE] for i in chosen]
            system.append([ONE] * size + [ZERO])
            solution = solve(system, [*(-h[i] for i in chosen), ONE])
            if solution is None or min(weights := solution[:size]) < 0:
                continue
            slopes = [HALF * dot(weights, [G[i][j] for j in chosen]) + h[i] for i in chosen]
            best = min(best, dot(weights, slopes))
    return best + f.r


def box_point(f: QuadraticForm, lower: Vector, upper: Vector) -> Vector:
    """Return the minimiser of a quadratic with a diagonal Q over a box."""
    diagonal = [row[i] for i, row in enumerate(f.Q)]
    free = [-c / q for c, q in zip(f.c, diagonal, strict=True)]
    return [min(max(x, low), high) for x, low, high in zip(free, lower, upper, strict=True)]


def simplex_point(t: Vector, radius: Fraction) -> Vector:
    """Return the projection of ``t`` onto {x >= 0, sum x = radius}: subtract and cut off at 0."""
    total, threshold = ZERO, ZERO
    for count, value in enumerate(sorted(t, reverse=True), start=1):
        total += value
        candidate = (total - radius) / count
        if candidate < value:
            threshold = candidate
    return [max(value - threshold, ZERO) for value in t]


def l1_point(t: Vector, radius: Fraction) -> Vector:
    """Return the projection of ``t`` onto the l1 ball."""
    if sum(map(abs, t)) <= radius:
        return t
    sizes = simplex_point([abs(value) for value in t], radius)
    return [size if value >= 0 else -size for size, value in zip(sizes, t, strict=True)]
