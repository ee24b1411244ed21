"""Checks of the arguments that many sets take: shapes, radii, exponents."""

from __future__ import annotations

import math
import operator
from typing import SupportsFloat, TypeAlias

Shape: TypeAlias = int | tuple[int, ...] | list[int]
"""A number of entries or a shape, as users give it."""


def as_shape(n: Shape, name: str = "n") -> tuple[int, ...]:
    """Return ``n`` (a positive integer or a tuple of them) as a shape."""
    sizes = n if isinstance(n, tuple | list) else (n,)
    try:
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise TypeError(f"{name} must be a positive integer or a shape, found {n!r}") from None
    if not shape or min(shape) < 1:
        raise ValueError(f"{name} must be at least 1, found {n!r}")
    return shape


def matrix_shape(shape: Shape) -> tuple[int, int]:
    """Return ``shape`` as a pair (p, q) of positive integers."""
    sizes = as_shape(shape, "shape")
    if len(sizes) != 2:
        raise ValueError(f"shape must be (p, q), found {shape!r}")
    return sizes


def as_size(n: Shape) -> int:
    """Return one positive integer."""
    sizes = as_shape(n)
    if len(sizes) != 1:
        raise ValueError(f"n must be a positive integer, found {n!r}")
    return sizes[0]


def as_number(value: SupportsFloat, name: str) -> float:
    """Return ``value`` as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, found {value!r}") from None


def as_positive(value: SupportsFloat, name: str) -> float:
    """Return ``value`` as a float; raise unless it is positive and finite."""
    number = as_number(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, found {value!r}")
    return number


def as_exponent(value: SupportsFloat, name: str) -> float:
    """Return the exponent of an l_p norm as a float; raise unless it is from 1 to infinity."""
    number = as_number(value, name)
    if not number >= 1:  # NaN included
        raise ValueError(f"{name} must satisfy 1 <= {name} <= inf, found {value!r}")
    return number
