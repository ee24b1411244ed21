"""Sets with rational vertices: exact linear oracles and exact membership."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import CapabilityError, Rational
from ..problem.checks import shown
from ..problem.rational import fractions
from ..sets import Box, ConvexHull, L1Ball, Simplex, UnitSimplex


@dataclass(frozen=True)
class ExactSet:
    """A polytope in rational arithmetic.

    Attributes
    ----------
    shape : tuple of int
        Shape of its points.
    lmo : callable
        Returns a vertex v with the least <g, v>.
    contains : callable or None
        Tells whether a point is in K; None for hulls, which are asked through a projection.
    """

    shape: tuple[int, ...]
    lmo: Callable[[Array], Array]
    contains: Callable[[Array], bool] | None = None


def zeros(shape: tuple[int, ...]) -> Array:
    """Return an array of Fractions 0."""
    return np.full(shape, Fraction(0), dtype=object)


def as_exact_set(K: Any) -> ExactSet:
    """Return ``K`` with an exact oracle; its floats count as the binary fractions that they are."""
    kind = K.kind if isinstance(K, Rational) else type(K)
    if isinstance(K, Simplex | UnitSimplex | L1Ball) and kind in (Simplex, UnitSimplex, L1Ball):
        return _corners(kind, K.shape, K.exact_arguments.get("radius", Fraction(K.r)))
    if kind is Box:
        return _box(*_data(K, "lower", "upper"))
    if kind is ConvexHull:
        return _hull(*_data(K, "points"))
    raise CapabilityError(
        "K must be a Simplex, UnitSimplex, L1Ball, Box or ConvexHull in exact problems, found "
        f"{shown(K)}"
    )


def _data(K: Any, *names: str) -> list[Array]:
    """Return the arrays of a set as Fractions; floats of a set of floats keep their exact values.

    Single numbers stand for arrays without axes.
    """
    if isinstance(K, Rational):
        given = [K.arguments[name] for name in names]
        pairs = zip(given, names, strict=True)
        return [fractions(np.asarray(v, object), name) for v, name in pairs]
    found = []
    for name in names:
        floats = getattr(K, name)
        exact = zeros(floats.shape)
        exact.reshape(-1)[:] = [Fraction(entry) for entry in floats.reshape(-1).tolist()]
        found.append(exact)
    return found


def _corners(kind: type, shape: tuple[int, ...], r: Fraction) -> ExactSet:
    """Return a simplex, a simplex with its interior, or an l1 ball: multiples of e_i."""

    def lmo(g: Array) -> Array:
        flat, v = g.reshape(-1), zeros(shape)
        i = int(np.argmax(abs(flat)) if kind is L1Ball else np.argmin(flat))
        if kind is L1Ball:
            v.reshape(-1)[i] = -r if flat[i] > 0 else r
        elif kind is Simplex or flat[i] < 0:
            v.reshape(-1)[i] = r
        return v

    def contains(x: Array) -> bool:
        if kind is L1Ball:
            return bool(abs(x).sum() <= r)
        return bool(x.min() >= 0 and (x.sum() == r if kind is Simplex else x.sum() <= r))

    return ExactSet(shape, lmo, contains)


def _box(lower: Array, upper: Array) -> ExactSet:
    if lower.ndim == upper.ndim == 0 or 0 in lower.shape or 0 in upper.shape:
        raise ValueError("lower and upper must be arrays that are not empty")
    try:
        lower, upper = np.broadcast_arrays(lower, upper)
    except ValueError:
        raise ValueError(
            f"lower and upper must have one shape, found {lower.shape} and {upper.shape}"
        ) from None
    if (lower > upper).any():
        raise ValueError("lower must not exceed upper, found that it does: the box is empty")
    return ExactSet(
        lower.shape,
        lambda g: np.where(g < 0, upper, lower),
        lambda x: bool((lower <= x).all() and (x <= upper).all()),
    )


def _hull(points: Array) -> ExactSet:
    if points.ndim < 2 or points.size == 0:
        raise ValueError(
            f"points must be a non-empty array of shape (N, *shape), found shape {points.shape}"
        )
    rows = points.reshape(len(points), -1)
    return ExactSet(points.shape[1:], lambda g: points[int(np.argmin(rows @ g.reshape(-1)))].copy())
