"""Scaled and reflected sets."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..atoms import Affine, Atoms
from ..problem import Polyhedron
from ..problem.checks import checked, number
from ._base import Set
from ._combination import Combination, Law
from ._laws import LIFTED, NoiseLike, smoothing_arguments
from ._polyhedra import moved
from ._prices import Prices

_SYMMETRIC = ("gaussian", "logistic", LIFTED)
"""Noise that keeps its law when the set is reflected."""


class Scale(Combination):
    r"""The set times a number, :math:`c K = \{c x : x \in K\}`.

    Parameters
    ----------
    K : Set
        The set.
    factor : float
        The number c, not 0. A negative one also reflects the set in the origin.

    Notes
    -----
    The oracle is c times that of K for the direction sign(c) g. A score of c v is <c y, v>, so
    noise on the coordinates acts like noise of scale \|c\| alpha on K, and noise on the scores of
    vertices (lifted smoothing) like noise of the same alpha. A negative c needs a law that is
    symmetric: Gumbel noise on the coordinates then has no closed form.

    Examples
    --------
    >>> from wolfpack.sets import Simplex
    >>> np.asarray(Scale(Simplex(2), -3.0).lmo(np.array([1.0, 2.0])))
    array([-0., -3.])
    """

    summary = "{K.K}, factor={K.factor:g}"

    @checked(factor=number)
    def __init__(self, K: Set, factor: float) -> None:
        self.factor = factor
        if self.factor == 0.0:
            raise ValueError(f"factor must be finite and not 0, found {factor!r}")
        super().__init__((K,))
        self.shape = K.shape
        self.radius = abs(self.factor) * K.radius
        self.diameter = abs(self.factor) * K.diameter
        self.centred_radius = abs(self.factor) * K.centred_radius

    @property
    def K(self) -> Set:
        """The set that was scaled."""
        return self.parts[0]

    def _lmo(self, g: Array) -> Affine:
        return Affine(self.K._lmo(g if self.factor > 0 else -g), self.factor)

    def certify(self, g: Array, vertex: Atoms) -> float:
        vertex = vertex if isinstance(vertex, Affine) else self._lmo(g)
        return abs(self.factor) * self.K.certify(g if self.factor > 0 else -g, vertex.base)

    def _lmo_face(self, x: Array, g: Array) -> Affine:
        answer = self.K._lmo_face(x / self.factor, g if self.factor > 0 else -g)
        return Affine(answer, self.factor)

    def _max_step(self, x: Array, d: Array) -> float:
        return self.K._max_step(x / self.factor, d / self.factor)

    def violation(self, x: Array) -> float:
        return abs(self.factor) * self.K.violation(x / self.factor)

    def start(self) -> Array:
        return self.factor * self.K.start()

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        return self.factor * self.K.smoothed(*self._rescaled(y, alpha, self._closed_form(noise)))

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        return self.K.smoothed_support(*self._rescaled(y, alpha, self._closed_form(noise)))

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        value = super().smoothed_at_zero(noise)
        if value is None or self._law(noise) == LIFTED:
            return value
        return abs(self.factor) * value

    def smoothness(self, noise: NoiseLike) -> float | None:
        value = super().smoothness(noise)
        if value is None:
            return None
        return value * (self.factor**2 if self._law(noise) == LIFTED else abs(self.factor))

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Affine:
        self._need("draw")
        direction, scale, _ = self._rescaled(y, alpha, self.closed_forms[0])
        return Affine(self.K.draw(direction, scale, count, rng), self.factor)

    def k_best(self, g: Array, k: int) -> Affine:
        self._need("k_best")
        g = self._check_direction(g)
        return Affine(self.K.k_best(g if self.factor > 0 else -g, k), self.factor)

    def _polyhedron(self) -> Polyhedron:
        return moved(self.K.polyhedron(), self.factor, np.zeros(self.shape))

    def _prices(self, g: Array) -> Prices:
        return self.K._prices(self.factor * g)

    def _project(self, x: Array) -> Array:
        return self.factor * self.K._project(x / self.factor)

    def _rescaled(self, y: Array, alpha: float, law: Law) -> tuple[Array, float, Law]:
        """Return direction, smoothing and law for K."""
        y, alpha = smoothing_arguments(self, y, alpha)
        lifted = isinstance(law, str) and law == LIFTED
        return self.factor * y, alpha if lifted else abs(self.factor) * alpha, law

    def _keeps(self, law: str) -> bool:
        return self.factor > 0 or law in _SYMMETRIC
