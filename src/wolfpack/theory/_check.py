"""Validation shared by the formulas: one message that names the argument and what is allowed."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np


def number(name: str, value: Any, least: float = 0.0, *, strict: bool = True) -> float:
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


def fraction(name: str, value: Any) -> float:
    """``value`` as a float in [0, 1)."""
    x = number(name, value, strict=False)
    if x >= 1.0:
        raise ValueError(f"{name} must satisfy 0 <= {name} < 1, found {value!r}")
    return x


def rounds(name: str, value: Any, least: int = 1) -> np.ndarray:
    """``value``, an integer or an array of integers of at least ``least``, as an int64 array."""
    if type(value) is int and value >= least:  # solvers ask for one round at a time
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


def choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Refuse a ``value`` that is not one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, found {value!r}")


def like(k: np.ndarray, value: Any) -> Any:
    """``value`` as a float when ``k`` is a single round, as an array otherwise."""
    return float(value) if k.ndim == 0 else np.asarray(value)
