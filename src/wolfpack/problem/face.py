"""Where the simple term of a composite problem is quadratic."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..arrays import Array


class Face(NamedTuple):
    """Where H is quadratic around a point y: the points between ``low`` and ``high``.

    Attributes
    ----------
    free : array of bool
        The coordinates that may move.
    gradient, ridge : array, float or array
        The gradient of H at y, and its second derivatives, along these coordinates.
    low, high : array or None
        The bounds of all coordinates, None where there are none.
    """

    free: Array
    gradient: Array
    ridge: Any
    low: Array = None
    high: Array = None

    @property
    def bounded(self) -> bool:
        """Whether the face has an end."""
        return self.low is not None
