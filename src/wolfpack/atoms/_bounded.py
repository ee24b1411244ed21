"""Vertices found by a numerical solver, with what the solver proved about them."""

from __future__ import annotations

import numpy as np

from ..arrays import rows
from ._base import Array, Dense, Index


class Bounded(Dense):
    """Dense answers to directions g, each with a lower bound on min <g, v>.

    Parameters
    ----------
    array : array, shape ([count,] *vertex_shape)
        The answers.
    vertex_shape : tuple of int
        Shape of one vertex.
    bound : float or array, shape ([count])
        What no value of <g, v> falls below.
    direction : array, like ``array``
        The directions g for which that was proved.
    """

    def __init__(
        self, array: Array, vertex_shape: tuple[int, ...], bound: Array, direction: Array
    ) -> None:
        super().__init__(array, vertex_shape)
        self.bound = bound
        self.direction = direction

    def bound_for(self, g: Array) -> float | None:
        """Return the bound of a single vertex if it was proved for ``g``, else None."""
        return float(self.bound) if np.array_equal(self.direction, g) else None

    def take(self, i: Index) -> Bounded:
        return Bounded(
            rows(self.array, i), self.vertex_shape, self.bound[i], rows(self.direction, i)
        )
