"""Checks of what users say about their own functions."""

from __future__ import annotations

import math
import operator
from typing import Any


def as_constant(L: Any) -> float | None:
    """Return a Lipschitz constant as a float, None where it is unknown."""
    if L is None:
        return None
    try:
        number = math.nan if isinstance(L, bool | str) else float(L)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"L must be a finite number >= 0, or None if unknown, found {L!r}")
    return number


def as_shape(shape: Any) -> tuple[int, ...] | None:
    """Return the shape of x, (n,) for an integer n, None where any will do."""
    if shape is None:
        return None
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    try:
        found = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise TypeError(f"shape must be a tuple of integers or one, found {shape!r}") from None
    if min(found, default=1) < 1 or any(isinstance(size, bool) for size in sizes):
        raise ValueError(f"shape must have positive sizes, found {shape!r}")
    return found
