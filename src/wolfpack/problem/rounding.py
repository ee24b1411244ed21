r"""How much rounding errors may change a sum, a value of f and a lower bound.

The theorem and its proof are in docs/theory/rounding.md. Here are the model of a sum and the two
numbers that a certificate needs of an objective: a bound on the error of f(x), and an affine
function below f with a bound on the error of that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..arrays import Array, epsilon, sums_are_wide

_ANY_ORDER = 64
_SPREAD = 8.0
UNIT = 2.0**-53
"""Unit roundoff of double precision."""

FAR = 8.0
"""A set is far from the origin if its radius is so many diameters: then a point of it is taken as
the centre of inner products, instead of the origin."""

MODEL = 64.0
"""Relative error of a user's values and gradients that is assumed, in units of roundoff."""


class Minorant(NamedTuple):
    """An affine function below f on K: level + <y, v - centre>, exceeding f by ``error`` at most.

    Attributes
    ----------
    level : float
        The value at the centre, as computed.
    centre : array or None
        The centre, None for the origin.
    error : float
        By how much rounding errors of the level and of the slope y may lift the function on K.
    product : float, optional
        <y, centre> for the slope y that was given, where it is known.
    length : float, optional
        The norm of that y, where it is known.
    """

    level: float
    centre: Any
    error: float
    product: float | None = None
    length: float | None = None


class Scatter(NamedTuple):
    """Measured errors of a user's values, and of its gradients in the Euclidean norm, near a point.

    ``largest`` and ``steepest`` are the sizes of the largest value and of the longest gradient
    there, and ``constant`` an error of gradients that is the same at all points of a segment. All
    of them are numbers, or arrays with an entry for each of many functions.
    """

    value: Any
    gradient: Any
    constant: Any
    largest: Any
    steepest: Any


def accumulation(terms: int) -> float:
    """Return c(n): a sum of n terms is computed up to c(n) u times the sum of their sizes.

    Up to 64 terms c(n) = n, which holds for every order of summation. Beyond that it is 8 sqrt(n),
    which holds for sums in blocks and by pairs, as BLAS, NumPy and devices compute them, and in any
    order with probability 1 - 1e-13 if rounding errors are independent.
    """
    return float(terms) if terms <= _ANY_ORDER else _SPREAD * math.sqrt(terms)


def unit_of(a: Array) -> float:
    """Return the unit roundoff of an array's floating-point type."""
    return 0.5 * epsilon(a)


def sum_unit(a: Array) -> float:
    """Return the unit roundoff in which sums over ``a`` are taken."""
    return UNIT if sums_are_wide(a) else unit_of(a)


def underflow(eps: float) -> float:
    """Return the size below which numbers of precision ``eps`` may have lost digits, or be zero.

    A logarithmic loss in single precision is zero from 1e-45 on, and its gradient with it. That
    does not prove a gap of zero. In double precision, eps times the number must not vanish either.
    """
    return 2.0**-970 if eps < 1e-10 else 2.0**-126
