"""An iterate as an exact mixture of vertices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ..arrays import Array
from ..loop.active import Mixture


class Hull:
    """Distinct vertices with positive weights of sum 1, all of them Fractions.

    Attributes
    ----------
    vertices : list of array
        The vertices with weight.
    weights : list of Fraction
        Their weights.
    added, dropped : int
        Vertices that were taken up and let go so far.
    """

    def __init__(self, vertex: Array) -> None:
        self.vertices, self.weights = [vertex], [Fraction(1)]
        self.added, self.dropped = 1, 0

    @property
    def point(self) -> Array:
        """The mixture itself."""
        pairs = zip(self.weights, self.vertices, strict=True)
        return sum((w * v for w, v in pairs), start=0 * self.vertices[0])

    @property
    def mixture(self) -> Mixture:
        """The vertices and weights as arrays."""
        return Mixture(np.array(self.vertices), np.array(self.weights, dtype=object), 0.0)

    def copy(self) -> Hull:
        """Return the same mixture, which further steps leave alone."""
        other = Hull(self.vertices[0])
        other.vertices, other.weights = [*self.vertices], [*self.weights]
        other.added, other.dropped = self.added, self.dropped
        return other

    def find(self, v: Array) -> int:
        """Return the place of a vertex, which is taken up with weight 0 if it is new."""
        for i, known in enumerate(self.vertices):
            if (known == v).all():
                return i
        self.vertices.append(v)
        self.weights.append(Fraction(0))
        self.added += 1
        return len(self.vertices) - 1

    def move(self, change: list[Fraction]) -> None:
        """Add a change of sum 0 to the weights, and drop vertices that have no weight left."""
        moved = [w + c for w, c in zip(self.weights, change, strict=True)]
        kept = [i for i, w in enumerate(moved) if w != 0]
        self.dropped += len(moved) - len(kept)
        self.vertices = [self.vertices[i] for i in kept]
        self.weights = [moved[i] for i in kept]

    def towards(self, i: int) -> list[Fraction]:
        """Return the change of the weights that leads from the mixture to vertex i."""
        return [Fraction(int(i == j)) - w for j, w in enumerate(self.weights)]

    def direction(self, change: list[Fraction]) -> Array:
        """Return the direction of a change of the weights."""
        pairs = zip(change, self.vertices, strict=True)
        return sum((c * v for c, v in pairs if c), start=0 * self.vertices[0])

    def longest(self, change: list[Fraction]) -> Fraction:
        """Return the longest step along a change that keeps all weights nonnegative."""
        return min(w / -c for w, c in zip(self.weights, change, strict=True) if c < 0)
