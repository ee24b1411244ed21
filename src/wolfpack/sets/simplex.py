"""The simplex: x >= 0 with a given sum."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..atoms import OneHot, Tally
from ..problem import Polyhedron
from ..problem.checks import Shape, as_shape, checked, count, extent
from ..problem.polyhedron import Rows
from ._base import Set
from ._faces import balanced, longest, near, restricted
from ._laws import NoiseLike, need_scale, scale_of, smoothing_arguments
from ._level import above_level
from ._lifted import draw_indices, exponentials
from ._select import ranked


class Simplex(Set):
    r"""The scaled simplex :math:`\{x \ge 0,\ \sum_i x_i = r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The sum r.

    Notes
    -----
    Vertices are r e_i; the oracle is one argmin, O(n). With Gumbel noise the smoothed argmax is
    r softmax(y / alpha), s_1(0) = r log n for centred noise, and s_alpha is r/(2 alpha)-smooth. A
    perturbed answer is a draw from that softmax, so m answers cost O(n + m log n);
    more than n of them are one multinomial draw, O(n).

    Examples
    --------
    >>> np.asarray(Simplex(3).lmo(np.array([2.0, -1.0, 0.0])))
    array([0., 1., 0.])
    """

    unconditional = True
    polytope = True
    default_noise = "gumbel"
    closed_forms = ("gumbel",)
    summary = "{K.sizes}, radius={K.r:g}"
    stack_axes: ClassVar[dict[str, int]] = {"radius": 0}
    rational_data = True
    price_names: ClassVar[dict[str, str]] = {"equations": "radius"}

    @checked(radius=extent)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        self.shape = as_shape(n, "n")
        self.r = self.radius = radius
        self.diameter = self.r * math.sqrt(2.0) if self.dimension > 1 else 0.0
        self.centred_radius = self.r * math.sqrt(1.0 - 1.0 / self.dimension)

    def _lmo(self, g: Array) -> OneHot:
        if g.ndim == len(self.shape):
            return OneHot(g.argmin(), self.r, self.shape)
        return OneHot(g.reshape(g.shape[0], -1).argmin(axis=1), self.r, self.shape)

    def violation(self, x: Array) -> float:
        return max(-float(x.min()), abs(float(x.sum()) - self.r))

    def start(self) -> Array:
        return np.full(self.shape, self.r / self.dimension)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = smoothing_arguments(self, y, alpha)
        weights, _ = exponentials(y, alpha * need_scale(self, noise, "gumbel"))
        return weights * (self.r / weights.sum())

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gumbel")
        weights, largest = exponentials(y, alpha)
        return self.r * (largest + alpha * math.log(weights.sum()))

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gumbel")
        return None if scale is None else self.r * scale * math.log(self.dimension)

    def smoothness(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gumbel")
        return None if scale is None else 0.5 * self.r / scale

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> OneHot:
        weights = exponentials(y.reshape(-1), alpha)[0].astype(np.float64, copy=False)
        if count > weights.size and isinstance(rng, np.random.Generator):
            # how often each vertex is drawn: one multinomial, whatever the count
            times = rng.multinomial(count, weights / np.add.reduce(weights))
            return Tally(times, count, self.r, self.shape)
        return OneHot(draw_indices(weights, count, rng), self.r, self.shape)

    def k_best(self, g: Array, k: int) -> OneHot:
        g = self._check_direction(g).reshape(-1)
        return OneHot(
            ranked(g, min(count(k, "k"), self.dimension), np.negative), self.r, self.shape
        )

    def _lmo_face(self, x: Array, g: Array) -> OneHot:
        return self._lmo(restricted(g, x <= near(self, x)))

    def _max_step(self, x: Array, d: Array) -> float:
        return longest(x, -d) if balanced(d.sum(), d) else 0.0

    def _polyhedron(self) -> Polyhedron:
        total = Rows(np.ones((1, self.dimension)), np.array([self.r]))
        return self._described(0.0, np.inf, total)

    def _project(self, x: Array) -> Array:
        return above_level(x.reshape(-1), self.r).reshape(self.shape)
