"""Dense vertices that are images of the vertices of another set."""

from __future__ import annotations

from ..arrays import rows
from ._base import Array, Atoms, Dense, Index


class Imaged(Dense):
    """The images of vertices ``base`` under a linear map, as one dense array."""

    def __init__(self, array: Array, vertex_shape: tuple[int, ...], base: Atoms) -> None:
        super().__init__(array, vertex_shape)
        self.base = base

    def take(self, i: Index) -> Imaged:
        return Imaged(rows(self.array, i), self.vertex_shape, self.base.take(i))
