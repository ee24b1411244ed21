"""Minkowski sums."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..atoms import Atoms, Sums
from ._base import Set
from ._combination import Combination
from ._distance import separation
from ._laws import LIFTED, NoiseLike, smoothing_arguments


class MinkowskiSum(Combination):
    r"""The sum :math:`K_1 + \dots + K_p = \{x_1 + \dots + x_p : x_i \in K_i\}`.

    Parameters
    ----------
    *sets : Set
        The summands, all of one shape.

    Notes
    -----
    The oracle adds the summands' answers. Radius and diameter are bounded by the sums of theirs.
    The support function is the sum of theirs, so closed forms for the same noise add up, with
    s_1(0) and the smoothness constant. No constraints describe a sum: membership is judged with
    the oracle, by Wolfe's algorithm, and `violation` is a proved part of the distance.

    Examples
    --------
    >>> from wolfpack.sets import Box, L1Ball
    >>> K = MinkowskiSum(L1Ball(2), Box([0.0, 0.0], [1.0, 1.0]))
    >>> K.support(np.array([2.0, -1.0]))
    4.0
    """

    def __init__(self, *sets: Set) -> None:
        super().__init__(sets)
        self.shape = self.parts[0].shape
        for part in self.parts:
            if part.shape != self.shape:
                raise ValueError(
                    f"MinkowskiSum needs sets of one shape, found {self.parts[0]} and {part}"
                )
        self.radius = sum(part.radius for part in self.parts)
        self.diameter = sum(part.diameter for part in self.parts)
        self.centred_radius = sum(part.centred_radius for part in self.parts)

    def _lmo(self, g: Array) -> Sums:
        return Sums([part._lmo(g) for part in self.parts])

    def certify(self, g: Array, vertex: Atoms) -> float:
        vertex = vertex if isinstance(vertex, Sums) else self._lmo(g)
        answers = zip(self.parts, vertex.parts, strict=True)
        values = np.array([part.certify(g, answer) for part, answer in answers])
        # values may cancel, so that the rounding errors of the larger ones remain
        rounding = 4.0 * np.finfo(np.float64).eps * abs(values).sum()
        return float(values.sum() - rounding)

    def violation(self, x: Array) -> float:
        return separation(self, x)

    def start(self) -> Array:
        return sum(part.start() for part in self.parts)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        law = self._closed_form(noise)
        return sum(part.smoothed(y, alpha, law) for part in self.parts)

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        law = self._closed_form(noise)
        return sum(part.smoothed_support(y, alpha, law) for part in self.parts)

    def has(self, capability: str) -> bool:
        # noise on the coordinates perturbs all summands alike: their draws are not independent
        if capability == "draw" and LIFTED not in self.closed_forms[:1]:
            return False
        return super().has(capability)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Sums:
        self._need("draw")
        y, alpha = smoothing_arguments(self, y, alpha)
        return Sums([part.draw(y, alpha, count, rng) for part in self.parts])
