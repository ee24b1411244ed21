"""Checks of numbers, counts and shapes that users pass, shared by the whole library."""

from __future__ import annotations

import math
import operator
from numbers import Integral
from typing import Any


def check_positive(
    name: str, value: Any, *, optional: bool = False, names: tuple[str, ...] = ()
) -> None:
    """Raise unless ``value`` is a positive finite number (or None where that is allowed)."""
    if value is None and optional:
        return
    allowed = " or ".join(["a positive finite number", *map(repr, names)])
    if not _finite(value) > 0:
        raise ValueError(f"{name} must be {allowed}, found {value!r}")


def check_nonnegative(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number >= 0."""
    if not _finite(value) >= 0:
        raise ValueError(f"{name} must be a number >= 0, found {value!r}")


def check_count(name: str, value: Any, *, names: tuple[str, ...] = ()) -> None:
    """Raise unless ``value`` is an integer of at least 1, or one of ``names``."""
    if isinstance(value, str) and value in names:
        return
    allowed = " or ".join(["an integer >= 1", *map(repr, names)])
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be {allowed}, found {value!r}")


def as_number(value: Any, name: str) -> float:
    """Return ``value`` as a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, found {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, found {value!r}")
    return number


def as_nonnegative(value: Any, name: str) -> float:
    """Return ``value`` as a finite float >= 0."""
    number = as_number(value, name)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, found {value!r}")
    return number


def as_constant(L: Any) -> float | None:
    """Return a Lipschitz constant as a float, None where it is unknown."""
    if L is None:
        return None
    number = _finite(L)
    if not number >= 0:
        raise ValueError(f"L must be a finite number >= 0, or None if unknown, found {L!r}")
    return number


def as_convexity(convex: Any) -> bool | None:
    """Return whether a function is convex: True, False, or None where nobody has said so."""
    if convex is None or isinstance(convex, bool):
        return convex
    raise TypeError(f"convex must be True, False or None, found {convex!r}")


def as_shape(shape: Any) -> tuple[int, ...] | None:
    """Return the shape of x, (n,) for an integer n, None where any shape is allowed."""
    if shape is None:
        return None
    try:
        sizes: list[Any] = [*shape] if isinstance(shape, tuple | list) else [shape]
        found = tuple(operator.index(size) for size in sizes)
    except TypeError:
        raise TypeError(f"shape must be a tuple of integers or one, found {shape!r}") from None
    if min(found, default=1) < 1 or any(isinstance(size, bool) for size in sizes):
        raise ValueError(f"shape must have positive sizes, found {shape!r}")
    return found


def is_own(part: object) -> bool:
    """Tell whether the class of a part of a problem belongs to the library."""
    return type(part).__module__.partition(".")[0] == __name__.partition(".")[0]


def _finite(value: Any) -> float:
    """Return ``value`` as a float, NaN where it is not a finite number."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan
