"""Moved sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, epsilon, inner, scaled_norm
from ..atoms import Affine, Atoms
from ..problem import Polyhedron
from ..problem.checks import as_array
from ._base import Set
from ._combination import Combination
from ._laws import NoiseLike, smoothing_arguments
from ._polyhedra import moved
from ._prices import Prices


class Translate(Combination):
    r"""The set moved by an offset, :math:`K + b`.

    Parameters
    ----------
    K : Set
        The set.
    offset : array or float
        The offset b, of the shape of K or broadcastable to it.

    Notes
    -----
    Oracle, closed forms, projection and k-best are those of K, moved. The noise is centred, so
    s_alpha grows by <y, b> and s_1(0) stays. The radius is bounded by R_K + ||b||.

    Examples
    --------
    >>> from wolfpack.sets import Simplex
    >>> np.asarray(Translate(Simplex(2), [1.0, -1.0]).lmo(np.array([1.0, 2.0])))
    array([ 2., -1.])
    """

    summary = "{K.K}"

    def __init__(self, K: Set, offset: ArrayLike) -> None:
        super().__init__((K,))
        self.shape = K.shape
        array = as_array(offset, "offset")
        try:
            self.offset = np.broadcast_to(array, K.shape).astype(np.float64)
        except ValueError:
            raise ValueError(
                f"offset must have the shape {K.shape} of {K}, found {array.shape}"
            ) from None
        self.radius, self.diameter = K.radius + scaled_norm(self.offset), K.diameter
        self.centred_radius = K.centred_radius

    @property
    def K(self) -> Set:
        """The set that was moved."""
        return self.parts[0]

    def _lmo(self, g: Array) -> Affine:
        return Affine(self.K._lmo(g), 1.0, self.offset)

    def certify(self, g: Array, vertex: Atoms) -> float:
        vertex = vertex if isinstance(vertex, Affine) else self._lmo(g)
        least, shift = self.K.certify(g, vertex.base), inner(g, self.offset)
        # the two may cancel, so that their rounding errors remain
        return least + shift - 4.0 * epsilon(self.offset) * (abs(least) + abs(shift))

    def _lmo_face(self, x: Array, g: Array) -> Affine:
        return Affine(self.K._lmo_face(x - self.offset, g), 1.0, self.offset)

    def _max_step(self, x: Array, d: Array) -> float:
        return self.K._max_step(x - self.offset, d)

    def violation(self, x: Array) -> float:
        return self.K.violation(x - self.offset)

    def start(self) -> Array:
        return self.K.start() + self.offset

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        return self.K.smoothed(y, alpha, self._closed_form(noise)) + self.offset

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        law = self._closed_form(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return self.K.smoothed_support(y, alpha, law) + inner(self.offset, y)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Affine:
        self._need("draw")
        return Affine(self.K.draw(y, alpha, count, rng), 1.0, self.offset)

    def k_best(self, g: Array, k: int) -> Affine:
        self._need("k_best")
        return Affine(self.K.k_best(g, k), 1.0, self.offset)

    def _polyhedron(self) -> Polyhedron:
        return moved(self.K.polyhedron(), 1.0, self.offset)

    def _prices(self, g: Array) -> Prices:
        return self.K._prices(g)

    def _project(self, x: Array) -> Array:
        return self.K._project(x - self.offset) + self.offset
