"""The simplex with its interior: nonnegative vectors of bounded sum."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..atoms import OneHot
from ..noise import Gumbel
from ..problem.checks import Shape, as_shape, checked, count, extent
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._faces import longest, near, restricted
from ._laws import NoiseLike, need_scale, scale_of, smoothing_arguments
from ._level import above_level
from ._lifted import draw_indices, exponentials
from ._select import ranked

_GUMBEL = Gumbel()


class UnitSimplex(Set):
    r"""Nonnegative vectors of bounded sum, :math:`\{x \ge 0,\ \sum_i x_i \le r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The bound r.

    Notes
    -----
    Vertices are 0 and r e_i; the oracle is one argmin, O(n), and 0 where no entry is negative. With
    Gumbel noise the largest of y + alpha Delta is y' + alpha Delta' with a single Gumbel variable
    Delta' and y' = alpha log sum_i exp(y_i/alpha), and it is independent of where it is attained.
    So the smoothed argmax is r F p with p = softmax(y/alpha) and F = P(y' + alpha Delta' > 0), and
    s_alpha(y) = r E max(0, y' + alpha Delta').

    s_alpha is r/(2 alpha)-smooth. With u = exp(y'/alpha - gamma) and f = u exp(-u) its Hessian
    times alpha/r is H = F diag(p) - (F - f) p p', where F = 1 - exp(-u) >= f. If all F p_i <= 1/2
    it is at most I/2. Else F p_1 > 1/2 alone, and I/2 - H has no negative eigenvalue if and only if

        (F - f) p_1^2/(F p_1 - 1/2) >= 1 + (F - f) sum_{i>1} p_i^2/(1/2 - F p_i).

    The last sum is largest when one p_2 = 1 - p_1 carries it. With t = p_1 p_2 in [0, 1/4] that is
    (F - f)(1/2 - (1 + F) t) >= F/2 - 1/4 - F^2 t, which is linear in t. It holds at t = 0, as
    f <= 1/e < 1/2, and at t = 1/4, as (F - f)(1 - F)/4 >= 0 >= -(1 - F)^2/4.

    Examples
    --------
    >>> K = UnitSimplex(3, radius=2.0)
    >>> np.asarray(K.lmo(np.array([2.0, -1.0, 0.0])))
    array([0., 2., 0.])
    >>> np.asarray(K.lmo(np.array([2.0, 1.0, 3.0])))
    array([0., 0., 0.])
    """

    unconditional = True
    polytope = True
    default_noise = "gumbel"
    closed_forms = ("gumbel",)
    summary = "{K.sizes}, radius={K.r:g}"
    rational_data = True
    price_names: ClassVar[dict[str, str]] = {"inequalities": "radius"}

    @checked(radius=extent)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        self.shape = as_shape(n, "n")
        self.r = self.radius = radius
        n = self.dimension
        self.diameter = self.r * (math.sqrt(2.0) if n > 1 else 1.0)
        # of the facet that does not contain 0, about its centre; it is farther than 0 for n > 1
        self.centred_radius = self.r * (math.sqrt(1.0 - 1.0 / n) if n > 1 else 0.5)

    def _lmo(self, g: Array) -> OneHot:
        rows = g.reshape(-1, self.dimension)
        index = rows.argmin(axis=1)
        answers = self._at(index, rows[np.arange(len(rows)), index] < 0)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def _at(self, index: Array, filled: Array) -> OneHot:
        """Return the vertices r e_i where ``filled`` holds, 0 elsewhere."""
        return OneHot(np.where(filled, index, 0), np.where(filled, self.r, 0.0), self.shape)

    def violation(self, x: Array) -> float:
        return max(-float(x.min()), float(x.sum()) - self.r)

    def start(self) -> Array:
        return np.full(self.shape, self.r / (self.dimension + 1))

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        weights, top, alpha = self._weights(y, alpha, noise)
        return weights * (self.r * _above(top / alpha) / weights.sum())

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        _, top, alpha = self._weights(y, alpha, noise)
        level = min(max(top / alpha, -1e30), 1e30)
        rise = float(_GUMBEL.positive_part(np.array(level))) - max(level, 0.0)
        return self.r * (max(top, 0.0) + alpha * rise)

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gumbel")
        if scale is None:
            return None
        level = np.array(math.log(self.dimension))
        return self.r * scale * float(_GUMBEL.positive_part(level))

    def smoothness(self, noise: NoiseLike) -> float | None:
        scale = scale_of(noise, "gumbel")
        return None if scale is None else 0.5 * self.r / scale

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> OneHot:
        weights, top, alpha = self._weights(y, alpha, None)
        index = draw_indices(weights.reshape(-1), count, rng)
        return self._at(index, rng.random(count) < _above(top / alpha))

    def k_best(self, g: Array, k: int) -> OneHot:
        g = self._check_direction(g).reshape(-1)
        n = self.dimension
        index = ranked(np.append(g, 0.0), min(count(k, "k"), n + 1), np.negative)
        return self._at(index, index < n)

    def _lmo_face(self, x: Array, g: Array) -> OneHot:
        tol = near(self, x)
        held = restricted(g, x <= tol)
        if float(x.sum()) < self.r - tol:
            return self._lmo(held)
        return OneHot(held.argmin(), self.r, self.shape)

    def _max_step(self, x: Array, d: Array) -> float:
        return min(longest(x, -d), longest(self.r - x.sum(keepdims=True), d.sum(keepdims=True)))

    def _polyhedron(self) -> Polyhedron:
        total = Rows(np.ones((1, self.dimension)), np.array([self.r]))
        return self._described(0.0, np.inf, inequalities=total)

    def _project(self, x: Array) -> Array:
        kept = np.maximum(x, 0.0)
        if float(kept.sum()) <= self.r:
            return kept
        return above_level(x.reshape(-1), self.r).reshape(self.shape)

    def _weights(self, y: Array, alpha: float, noise: NoiseLike) -> tuple[Array, float, float]:
        """Return exp((y - max y)/alpha), alpha log sum exp(y/alpha), and the scaled alpha."""
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gumbel")
        weights, largest = exponentials(y, alpha)
        return weights, largest + alpha * math.log(weights.sum()), alpha


def _above(level: float) -> float:
    """Return P(level + Z > 0) for a centred Gumbel variable Z."""
    return -math.expm1(-math.exp(min(level - np.euler_gamma, 700.0)))
