"""One step of each exact method: Frank-Wolfe, away, pairwise, blended pairwise and corrective.

All but "fw" keep the iterate as a mixture of vertices. A step changes the weights along a direction
of sum 0, as far as f falls (`length`) and no weight becomes negative. The answer v of the oracle is
a minimiser of <g, v> over K; a and s are the vertices of the mixture with the largest and least
<g, .>.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..arrays import Array
from .hull import Hull
from .objectives import ExactFunction, ExactQuadratic

ExactObjective = ExactFunction | ExactQuadratic

LONG = 64
"""Binary digits of a step's denominator beyond which the step is rounded."""

DIGITS = 32
"""Binary digits that are kept of it."""


def length(f: ExactObjective, g: Array, d: Array, most: Fraction) -> Fraction:
    """Return the step in [0, most] along d that makes f (or its upper model) least.

    Every rational step gives a rational point of K, whose value and bound are exact. So a step of
    very many digits is rounded, since the digits of the iterates would triple in each round.
    """
    fall, curvature = -(g * d).sum(), f.curvature(d)
    assert curvature is not None
    if fall >= most * curvature:
        return most
    if fall <= 0:
        return Fraction(0)
    step: Fraction = fall / curvature
    if step.denominator.bit_length() <= LONG:
        return step
    shift = step.denominator.bit_length() - step.numerator.bit_length() + DIGITS
    return min(Fraction(round(step * 2**shift), 2**shift), most)


def frank_wolfe(f: ExactObjective, hull: Hull, g: Array, v: Array) -> str:
    """Move towards v."""
    i = hull.find(v)
    return _along(f, hull, g, hull.towards(i), "fw")


def away(f: ExactObjective, hull: Hull, g: Array, v: Array) -> str:
    """Move towards v or away from a, whichever promises more."""
    x, a = hull.point, _extreme(hull, g, largest=True)
    if (g * (x - v)).sum() >= (g * (hull.vertices[a] - x)).sum():
        return frank_wolfe(f, hull, g, v)
    return _along(f, hull, g, [-c for c in hull.towards(a)], "away")


def pairwise(f: ExactObjective, hull: Hull, g: Array, v: Array) -> str:
    """Move weight from a to v."""
    a = _extreme(hull, g, largest=True)
    return _along(f, hull, g, _exchange(hull, a, hull.find(v)), "pairwise")


def blended_pairwise(f: ExactObjective, hull: Hull, g: Array, v: Array) -> str:
    """Move weight from a to s, unless the step towards v promises more."""
    a, s = _extreme(hull, g, largest=True), _extreme(hull, g, largest=False)
    inside = (g * (hull.vertices[a] - hull.vertices[s])).sum()
    if inside < (g * (hull.point - v)).sum():
        return frank_wolfe(f, hull, g, v)
    return _along(f, hull, g, _exchange(hull, a, s), "pairwise")


def corrective(f: ExactObjective, hull: Hull, g: Array, v: Array) -> str:
    """Take v up, and minimise a quadratic f over the mixtures of all vertices kept.

    Wolfe's minor cycles: go to the minimum over the affine hull, or as far as the weights stay
    nonnegative; then a vertex is dropped, and the smaller hull is next. The affine hulls never
    return since f falls from one to the next, so a run ends at the exact minimum.
    """
    assert isinstance(f, ExactQuadratic)
    hull.find(v)
    while True:
        _, slope = f(hull.point)
        change, bounded = _newton(f, hull, slope)
        if not any(change):
            hull.move(change)
            return "correction"
        step = hull.longest(change)
        step = min(step, Fraction(1)) if bounded else step
        hull.move([step * c for c in change])


def _newton(f: ExactQuadratic, hull: Hull, g: Array) -> tuple[list[Fraction], bool]:
    """Return a change of the weights to the minimum over the affine hull, and True.

    Where f falls without bound there, return a direction of that kind, and False.
    """
    first, *others = hull.vertices
    D = np.array([v - first for v in others], dtype=object).reshape(len(others), first.size)
    products = [f.product(d.reshape(first.shape)).reshape(-1) for d in D]
    M = D @ np.array(products, dtype=object).reshape(D.shape).T
    u, bounded = _solved(M, -(D @ g.reshape(-1)))
    return [-sum(u, start=Fraction(0)), *u], bounded


def _solved(M: Array, b: Array) -> tuple[list[Fraction], bool]:
    """Return a solution u of M u = b and True, for positive semidefinite M.

    Without solutions return a u with M u = 0 and <b, u> > 0, and False.
    """
    n = len(b)
    R = np.column_stack([M, b]) if n else np.zeros((0, 1), dtype=object)
    pivots: list[int] = []
    for j in range(n):
        row = len(pivots)
        i = next((i for i in range(row, n) if R[i, j] != 0), None)
        if i is None:
            continue
        R[[row, i]] = R[[i, row]]
        R[row] = R[row] / R[row, j]
        for other in range(n):
            if other != row and R[other, j] != 0:
                R[other] = R[other] - R[other, j] * R[row]
        pivots.append(j)
    for j in sorted(set(range(n)) - set(pivots)):  # a basis of the kernel of M
        u = [Fraction(0)] * n
        u[j] = Fraction(1)
        for row, pivot in enumerate(pivots):
            u[pivot] = -R[row, j]
        rise = sum((b[i] * u[i] for i in range(n)), start=Fraction(0))
        if rise:
            return [entry if rise > 0 else -entry for entry in u], False
    u = [Fraction(0)] * n
    for row, pivot in enumerate(pivots):
        u[pivot] = R[row, n]
    return u, True


def _extreme(hull: Hull, g: Array, largest: bool) -> int:
    """Return the vertex with weight that has the largest or the least <g, .>."""
    scores = [(g * v).sum() for v in hull.vertices]
    return scores.index(max(scores) if largest else min(scores))


def _exchange(hull: Hull, a: int, s: int) -> list[Fraction]:
    change = [Fraction(0)] * len(hull.vertices)
    change[a] -= 1
    change[s] += 1
    return change


def _along(f: ExactObjective, hull: Hull, g: Array, change: list[Fraction], kind: str) -> str:
    """Make the best step along a change of the weights."""
    step = length(f, g, hull.direction(change), hull.longest(change))
    hull.move([step * c for c in change])
    return kind
