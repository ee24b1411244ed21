"""Vertices found by a numerical solver, with what the solver proved about them."""

from __future__ import annotations

from typing import Any

from ._base import Array, Dense


class Bounded(Dense):
    """Dense answers to directions g, each with a lower bound on min <g, v>.

    Parameters
    ----------
    array : array, shape ([count,] *vertex_shape)
        The answers.
    vertex_shape : tuple of int
        Shape of one vertex.
    bound : float or array, shape ([count])
        What no value of <g, v> falls below, g being the direction that was answered.
    """

    def __init__(self, array: Array, vertex_shape: tuple[int, ...], bound: Any) -> None:
        super().__init__(array, vertex_shape)
        self.bound = bound

    def take(self, i: Any) -> Bounded:
        return Bounded(self.array[i], self.vertex_shape, self.bound[i])
