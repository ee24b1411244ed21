"""Checks of hyperparameters that several solvers share."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any


def check_positive(
    name: str, value: Any, *, optional: bool = False, names: tuple[str, ...] = ()
) -> None:
    """Raise unless ``value`` is a positive finite number (or None where that is allowed)."""
    if value is None and optional:
        return
    allowed = " or ".join(["a positive finite number", *map(repr, names)])
    number = math.nan
    try:
        if value is not None and not isinstance(value, bool | str):
            number = float(value)
    except (TypeError, ValueError):
        pass
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be {allowed}, found {value!r}")


def check_count(name: str, value: Any, *, names: tuple[str, ...] = ()) -> None:
    """Raise unless ``value`` is an integer of at least 1, or one of ``names``."""
    if isinstance(value, str) and value in names:
        return
    allowed = " or ".join(["an integer >= 1", *map(repr, names)])
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be {allowed}, found {value!r}")
