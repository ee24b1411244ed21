"""Data of Fractions: constructor calls that stand for exact problems.

``Quadratic(Q, c)``, ``LeastSquares(A, b)``, ``Box(lower, upper)`` and ``ConvexHull(points)`` with
object arrays of Fractions and integers are no objective and no set of floats. Such a call returns a
`Rational` in its place, which `wolfpack.minimize` takes and solves in exact arithmetic.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any, cast

import numpy as np

from ..arrays import ArgumentError, Array


class Rational:
    """A constructor call with exact data.

    Attributes
    ----------
    kind : type
        The class that was called.
    arguments : dict
        Its arguments by name; object arrays hold Fractions alone.
    """

    def __init__(self, kind: type, arguments: dict[str, Any]) -> None:
        self.kind = kind
        self.arguments = {
            name: fractions(value, name) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }

    def __repr__(self) -> str:
        return f"{self.kind.__name__} of Fractions"


def is_rational_array(value: object) -> bool:
    """Tell whether ``value`` is an object array with a Fraction, or of integers alone."""
    if not isinstance(value, np.ndarray):
        return False
    array = cast("Any", value)
    if array.dtype.kind != "O" or not array.size:
        return False
    kinds: set[type] = set(map(type, array.flat))
    return Fraction in kinds or kinds == {int}


def is_exact(value: object) -> bool:
    """Tell whether ``value`` is a Fraction or an array of them."""
    # comparing types is much faster than `isinstance`, since Fraction is an abstract number
    return type(value) is Fraction or is_rational_array(value)


def fraction(value: Any, name: str) -> Fraction:
    """Return an integer or Fraction as a Fraction."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Fraction(operator.index(cast("Any", value)))
    raise ArgumentError(
        f"{name} must be a Fraction or an integer in exact problems, found {value!r}: "
        "Fraction(value) makes a float exact"
    )


def fractions(value: Any, name: str) -> Array:
    """Return a copy of an array of Fractions and integers, all of them Fractions."""
    if not hasattr(value, "dtype") or value.dtype.kind not in "Oiu":
        found = f"dtype {value.dtype}" if hasattr(value, "dtype") else repr(value)[:80]
        raise ArgumentError(
            f"{name} must be an array of Fractions, as the other data of this exact problem are, "
            f"found {found}: floats and Fractions do not mix"
        )
    exact = np.empty(value.shape, dtype=object)
    for i, entry in np.ndenumerate(value):
        exact[i] = fraction(entry, f"{name}[{', '.join(map(str, i))}]")
    return exact
