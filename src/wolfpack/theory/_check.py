"""Checks that the formulas share; each message names the argument and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, SupportsFloat, TypeAlias

import numpy as np

Rounds: TypeAlias = int | Sequence[int] | np.ndarray
"""One round, or several."""

PerRound: TypeAlias = Any
"""A float for one round, a NumPy array for several; no static type says so without overloads."""


def number(
    name: str, value: SupportsFloat | str, least: float = 0.0, *, strict: bool = True
) -> float:
    """``value`` as a finite float above ``least`` (at least ``least`` when not strict)."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, found {value!r}") from None
    if not isfinite(x) or x < least or (strict and x == least):
        raise ValueError(
            f"{name} must be finite and {'>' if strict else '>='} {least:g}, found {value!r}"
        )
    return x


def positive(**values: float) -> tuple[float, ...]:
    """The named values as positive finite floats."""
    return tuple(number(name, value) for name, value in values.items())


def nonnegative(**values: float) -> tuple[float, ...]:
    """The named values as finite floats of at least 0."""
    return tuple(number(name, value, strict=False) for name, value in values.items())


def fraction(name: str, value: float) -> float:
    """``value`` as a float in [0, 1)."""
    x = number(name, value, strict=False)
    if x >= 1.0:
        raise ValueError(f"{name} must satisfy 0 <= {name} < 1, found {value!r}")
    return x


def rounds(name: str, value: Rounds, least: int = 1) -> np.ndarray:
    """``value``, an integer or an array of integers of at least ``least``, as an int64 array."""
    if type(value) is int and value >= least:  # Solvers ask for one round at a time.
        return np.asarray(value)
    k = np.asarray(value)
    whole = k.dtype.kind in "iu" or (
        k.dtype.kind == "f" and bool(np.all(np.isfinite(k)) and np.all(k == np.floor(k)))
    )
    if k.size == 0 or not whole or np.any(k < least):
        raise ValueError(
            f"{name} must be an integer (or an array of them) >= {least}, found {value!r}"
        )
    return k.astype(np.int64)


def choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a ``value`` that is not one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, found {value!r}")


def like(k: np.ndarray, value: Any) -> PerRound:
    """``value`` as a float when ``k`` is a single round, as an array otherwise."""
    return float(value) if k.ndim == 0 else np.asarray(value)
