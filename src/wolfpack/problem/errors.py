"""Errors that a run may end with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Structured, to_host

_SHOWN = 6  # entries of a point that a message lists


class CapabilityError(ValueError):
    """A method needs something that the objective, the set or the machine does not have."""


class NonFiniteError(ArithmeticError):
    """The objective returned a NaN or infinite value or gradient in the middle of a run.

    Attributes
    ----------
    x : array or None
        The point where it did, None where that is not known.
    part : str
        The part of f that did, such as a block of data; empty where that is not known.
    """

    def __init__(self, message: str, x: Any = None, part: str = "") -> None:
        super().__init__(message)
        self.x = x
        self.part = part

    def __str__(self) -> str:
        """Return the message, which names the point: it is written only when it is read."""
        where = f" in {self.part}" if self.part else ""
        where += "" if self.x is None else f" at x = {named_point(self.x)}"
        return f"{self.args[0]}{where}"


def named_point(x: Any) -> str:
    """Return the norm of a point and its first entries, or the largest ones of a long vector."""
    if isinstance(x, Structured):
        return f"a {type(x).__name__} matrix of shape {tuple(x.shape)}"
    entries = np.asarray(to_host(x)).reshape(-1)
    length = float(np.linalg.norm(entries.astype(np.float64, copy=False)))
    if len(entries) <= _SHOWN:
        listed = ", ".join(f"{entry:.6g}" for entry in entries)
        return f"[{listed}]"
    largest = np.sort(np.argsort(-abs(entries), kind="stable")[:_SHOWN])
    listed = ", ".join(f"x[{i}] = {entries[i]:.6g}" for i in largest)
    return f"(norm {length:.6g}; largest entries {listed})"


class EndOfData(RuntimeError):
    """A source of data that can be read once has ended in the middle of a run."""
