"""What the run of a batch asks of a method (`wolfpack.loop.many`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ...arrays import Array


class BatchedMethod(ABC):
    """A method that takes a step of many problems at once.

    Its states are named tuples of arrays with one row, or one number, for each problem, of which
    ``x`` holds the points.

    Attributes
    ----------
    name : str
        As for a method of `wolfpack.minimize`.
    state : type
        The named tuple.
    searches_faces : bool
        Whether the faces of quadratics over bounds are searched beside the steps.
    """

    name: ClassVar[str]
    state: ClassVar[type[Any]]
    searches_faces: ClassVar[bool] = False

    @abstractmethod
    def begin(self, model: Any, K: Any, x: Array, f: Array, g: Array) -> Any:
        """Return the state at the starting points, where f and its gradients are f and g."""

    @abstractmethod
    def advance(self, model: Any, K: Any, state: Any, noises: Array | None = None) -> Any:
        """Return the state after one more trial of every problem."""

    @abstractmethod
    def refreshed(self, state: Any, values: Array, slopes: Array) -> Any:
        """Return the state of quadratics with values and gradients that are accurate again."""

    def noises(self, k: int, K: Any) -> Array | None:
        """Return the random numbers of round k, if the method draws some."""
        return None

    def records(self, K: Any) -> bool:
        """Tell whether all rounds do the same, whatever the numbers are."""
        return True

    def calls(self, k: int, K: Any) -> int:
        """Return how many oracle calls a problem has made after k rounds."""
        return 0

    def second(self, state: Any) -> Array | None:
        """Return other points than x whose tangents may be better bounds, if there are some."""
        return None
