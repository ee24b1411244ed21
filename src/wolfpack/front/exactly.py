"""How `minimize` reads an exact problem: which settings it has there."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..exact import minimize_exactly
from ..loop import Limits, Result

USED = ("method", "tol", "max_rounds", "max_seconds", "callback", "raise_on_failure")
"""Settings of `minimize` that exact problems have, besides L."""


def exactly(f: Any, K: Any, x0: Any, given: dict[str, Any], began: float) -> Result:
    """Solve an exact problem, and refuse settings that it does not have."""
    from .minimize import minimize  # which imports this module

    L = given.pop("L", None)
    known = signature(minimize).parameters
    unused = [
        name
        for name, value in given.items()
        if not (name in USED or (name in known and _is_same(value, known[name].default)))
    ]
    if unused:
        raise TypeError(
            f"exact problems have no use for {', '.join(sorted(unused))}: leave them out, or use "
            "floats"
        )
    settings = {name: given[name] for name in USED}
    tol = settings["tol"]
    limits = Limits(
        **({} if tol is None else {"tol": tol}),
        max_rounds=settings["max_rounds"],
        max_seconds=settings["max_seconds"],
    )
    return minimize_exactly(
        f, K, x0, settings["method"], tol, limits, settings["callback"], L, began
    )


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))
