"""How the formulas check their arguments, on top of `wolfpack.problem.checks`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ..arrays import ArgumentError
from ..problem import checks
from ..problem.checks import Kind, checked, shown

Rounds: TypeAlias = int | Sequence[int] | np.ndarray
"""One round, or several."""

PerRound: TypeAlias = Any
"""A float for one round, a NumPy array for several; no static type says so without overloads."""

P = ParamSpec("P")
T = TypeVar("T")

MAX_TABLE = 2**24
"""The last round of a bound that sums over all rounds; its arrays have as many entries."""
_MAX_ROUND = 2**53  # larger integers are not exact as floats


def formula(**kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declare the arguments of a formula, and refuse those at which it overflows."""

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        names = tuple(signature(function).parameters)

        @wraps(function)
        def compute(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                with np.errstate(all="ignore"):
                    value = function(*args, **kwargs)
                parts = value if isinstance(value, tuple) else (value,)
                numbers = [part for part in parts if isinstance(part, float | np.ndarray)]
                if not any(np.isnan(part).any() for part in numbers):
                    return value
            except (OverflowError, ZeroDivisionError):
                pass
            given = dict(zip(names, args, strict=False)) | kwargs
            found = ", ".join(f"{name} = {shown(value)}" for name, value in given.items())
            raise ArgumentError(
                f"{function.__name__} must have arguments whose products are numbers that a float "
                f"can hold, found {found}"
            )

        return checked(**kinds)(compute)

    return declare


def positive(**values: float) -> tuple[float, ...]:
    """The named values as positive finite floats."""
    return tuple(checks.positive(value, name) for name, value in values.items())


def nonnegative(**values: float) -> tuple[float, ...]:
    """The named values as finite floats of at least 0."""
    return tuple(checks.nonnegative(value, name) for name, value in values.items())


def number(name: str, value: Any, least: float = 0.0, *, strict: bool = True) -> float:
    """``value`` as a finite float above ``least`` (at least ``least`` when not strict)."""
    if least == 0.0:
        return (checks.positive if strict else checks.nonnegative)(value, name)
    ends = {"low_open": strict, "high_open": True}
    return checks.between(least, float("inf"), **ends)(value, name)


share = checks.between(0, 1, high_open=True)
"""A number in [0, 1)."""


def choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a ``value`` that is not one of ``allowed``."""
    checks.choice(*allowed)(value, name)


def rounds(name: str, value: Rounds, least: int = 1, most: int = _MAX_ROUND) -> np.ndarray:
    """``value``, an integer or an array of integers from ``least`` to ``most``, as int64."""
    if type(value) is int and least <= value <= most:
        return np.asarray(value)
    try:
        k = np.asarray(value)
        whole = k.dtype.kind in "iu" or (k.dtype.kind == "f" and bool(np.all(k == np.floor(k))))
        inside = k.size > 0 and whole and bool(np.all((k >= least) & (k <= most)))
    except Exception:  # of objects that are no arrays
        k, inside = np.empty(0), False
    if not inside or isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name} must be an integer (or an array of them) >= {least} and at most {most}, found "
            f"{shown(value)}"
        )
    return k.astype(np.int64)


def like(k: np.ndarray, value: Any) -> PerRound:
    """``value`` as a float when ``k`` is a single round, as an array otherwise."""
    return float(value) if k.ndim == 0 else np.asarray(value)
