"""What the images of sets under linear maps share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ..arrays import Array
from ..atoms import Atoms, Imaged
from ._base import Set
from ._combination import Combination
from ._laws import LIFTED, NoiseLike, smoothing_arguments


class LinearMap(Combination):
    """The set {T x : x in K} for a linear map T, given by `_map`, `_pull` and `_pull_error`.

    The oracle is T v with v the oracle's answer of K to T'g, since <g, T v> = <T'g, v>. Noise on
    the scores of the vertices of K (lifted smoothing) keeps its closed form.
    """

    @property
    def K(self) -> Set:
        """The set that is mapped."""
        return self.parts[0]

    @abstractmethod
    def _map(self, x: Array) -> Array:
        """Return T x for a point x of the shape of K."""

    @abstractmethod
    def _pull(self, g: Array) -> Array:
        """Return T'g, of the shape of K."""

    @abstractmethod
    def _pull_error(self, g: Array) -> Array:
        """Return what the entries of T'g may have lost to rounding."""

    def _lmo(self, g: Array) -> Imaged:
        g = np.asarray(g, dtype=np.float64)
        if g.ndim == len(self.shape):
            base = self.K._lmo(self._pull(g))
            return Imaged(self._map(base.to_dense()), self.shape, base)
        # one by one: the rounding of a product with many columns depends on their number
        base = self.K._lmo(np.stack([self._pull(row) for row in g]))
        points = np.stack([self._map(point) for point in base.to_dense()])
        return Imaged(points, self.shape, base)

    def certify(self, g: Array, vertex: Atoms) -> float:
        g = np.asarray(g, dtype=np.float64)
        pulled = self._pull(g)
        base = vertex.base if isinstance(vertex, Imaged) else self.K._lmo(pulled)
        return self.K.certify(pulled, base) - self.K.absolute_support(self._pull_error(g))

    def start(self) -> Array:
        return self._map(np.asarray(self.K.start()))

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        law = self._closed_form(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return self._map(self.K.smoothed(self._pull(y), alpha, law))

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        law = self._closed_form(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return self.K.smoothed_support(self._pull(y), alpha, law)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Imaged:
        self._need("draw")
        base = self.K.draw(self._pull(y), alpha, count, rng)
        points = np.stack([self._map(point) for point in base.to_dense()])
        return Imaged(points, self.shape, base)

    def _keeps(self, law: str) -> bool:
        return law == LIFTED
