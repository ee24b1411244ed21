"""Simplices, l1 balls and convex hulls of given points on the device of the arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...arrays import (
    arange,
    clip,
    concat,
    cumsum,
    fetch,
    full,
    like,
    logsumexp,
    logsumexp_rows,
    namespace,
    reshape,
    searchsorted,
    softmax,
    sum_last,
    take,
    take_along,
    topk,
)
from ...atoms import OneHot, Rows
from ...problem.checks import count
from .._base import Array
from .._laws import NoiseLike, need_lifted, need_scale, smoothing_arguments
from ..convex_hull import ConvexHull
from ..weighted_l1_ball import WeightedL1Ball
from ._base import Exact, Twin


class SimplexTwin(Exact, Twin, anywhere=True):
    """The simplex."""

    traceable = True

    def _lmo(self, g: Array) -> OneHot:
        rows = reshape(g, (-1,) if g.ndim == len(self.shape) else (g.shape[0], -1))
        return OneHot(namespace(g).argmin(rows, axis=-1), self.K.r, self.shape, g.dtype)

    def violation(self, x: Array) -> float:
        smallest, total = fetch(namespace(x).min(x), sum_last(x, x.ndim))
        return max(-smallest, abs(total - self.K.r))

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = smoothing_arguments(self, y, alpha)
        return self.K.r * softmax(y / (alpha * need_scale(self, noise, "gumbel")))

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = smoothing_arguments(self, y, alpha)
        alpha *= need_scale(self, noise, "gumbel")
        return self.K.r * alpha * float(logsumexp(y / alpha))

    def smoothed_supports(
        self, points: Sequence[Array], alpha: float, noise: NoiseLike = None
    ) -> list:
        alpha *= need_scale(self, noise, "gumbel")
        return _log_sums(points, alpha, self.K.r * abs(alpha))

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> OneHot:
        index = _draw(reshape(softmax(y / alpha), (-1,)), count, rng)
        return OneHot(index, self.K.r, self.K.shape, y.dtype)

    def k_best(self, g: Array, k: int) -> OneHot:
        flat = reshape(self._check_direction(g), (-1,))
        index = topk(-flat, min(count(k, "k"), self.dimension))
        return OneHot(index, self.K.r, self.shape, g.dtype)

    def _project(self, x: Array) -> Array:
        return reshape(above_level(reshape(x, (-1,)), self.K.r), self.shape)


class L1Twin(Exact, Twin, anywhere=True):
    """The l1 ball, with or without weights."""

    traceable = True

    def __init__(self, K: WeightedL1Ball, x: Array) -> None:
        super().__init__(K, x)
        reach = K.reach
        self.reach = reach if isinstance(reach, float) else like(reach, x)

    def _lmo(self, g: Array) -> OneHot:
        single = g.ndim == len(self.shape)
        rows = reshape(g, (1 if single else g.shape[0], -1))
        index = namespace(g).argmax(abs(rows) * self._flat_reach, axis=1)
        answers = self._vertices(take_along(rows, index[:, None])[:, 0], index)
        return answers.take(0) if single else answers

    def violation(self, x: Array) -> float:
        return self.K.radius * (float(sum_last(abs(x) / self.reach, x.ndim)) - 1.0)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        weights = softmax(self._scores(y, alpha))
        n = self.dimension
        return self.reach * reshape(weights[:n] - weights[n:], self.shape)

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return alpha * float(logsumexp(self._scores(y, alpha)))

    def smoothed_supports(
        self, points: Sequence[Array], alpha: float, noise: NoiseLike = None
    ) -> list:
        need_lifted(self, noise)
        scores = [self._scores(y, alpha) for y in points]
        return _log_sums(scores, 1.0, abs(alpha))

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> OneHot:
        drawn = _draw(softmax(self._scores(y, alpha)), count, rng)
        n, space = self.dimension, namespace(y)
        below = drawn >= n
        index = space.where(below, drawn - n, drawn)
        reach = self._reach_at(index)
        return OneHot(index, space.where(below, -reach, reach), self.shape, y.dtype)

    def k_best(self, g: Array, k: int) -> OneHot:
        flat = reshape(self._check_direction(g), (-1,))
        n, k = self.dimension, min(count(k, "k"), 2 * self.dimension)
        sizes = abs(flat) * self._flat_reach
        index = topk(sizes, min(k, n))
        best = self._vertices(take(flat, index), index)
        if k <= n:
            return best
        rest = topk(-sizes, k - n)  # the opposite vertices follow, in the reverse order
        other = self._vertices(-take(flat, rest), rest)
        values = concat([best.value, other.value])
        return OneHot(concat([index, rest]), values, self.shape, g.dtype)

    def _project(self, x: Array) -> Array:
        if self.violation(x) <= 0:
            return x + 0.0
        if not isinstance(self.reach, float):
            return super()._project(x)
        shrunk = above_level(abs(reshape(x, (-1,))), self.K.r)
        return namespace(x).sign(x) * reshape(shrunk, self.shape)

    @property
    def _flat_reach(self) -> Array:
        return self.reach if isinstance(self.reach, float) else reshape(self.reach, (-1,))

    def _reach_at(self, index: Array) -> Array:
        if isinstance(self.reach, float):
            return full((), self.reach, self.like)
        return take(self._flat_reach, index)

    def _vertices(self, g: Array, index: Array) -> OneHot:
        """Return the vertices at ``index`` against the entries ``g``; 0 counts as positive."""
        reach, space = self._reach_at(index), namespace(g)
        return OneHot(index, space.where(g < 0, reach, -reach), self.shape, g.dtype)

    def _scores(self, y: Array, alpha: float) -> Array:
        """Return the scores of the vertices up and down each axis, over alpha."""
        score = reshape(self.reach * y, (-1,)) / alpha
        return concat([score, -score])


class HullTwin(Exact, Twin, anywhere=True):
    """The convex hull of given points; of points whose scores tie any may be answered."""

    def __init__(self, K: ConvexHull, x: Array) -> None:
        super().__init__(K, x)
        self.table = like(K.table, x)

    def _lmo(self, g: Array) -> Rows:
        single = g.ndim == len(self.shape)
        rows = reshape(g, (-1, self.table.shape[1]))
        index = namespace(g).argmin(rows @ self.table.T, axis=1)
        return Rows(self.table, index[0] if single else index, self.shape)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return reshape(softmax(self._scores(y) / alpha) @ self.table, self.shape)

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return alpha * float(logsumexp(self._scores(y) / alpha))

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Rows:
        return Rows(self.table, _draw(softmax(self._scores(y) / alpha), count, rng), self.shape)

    def k_best(self, g: Array, k: int) -> Rows:
        scores = self._scores(self._check_direction(g))
        return Rows(self.table, topk(-scores, min(count(k, "k"), scores.shape[0])), self.shape)

    def _scores(self, y: Array) -> Array:
        return self.table @ reshape(y, (-1,))


def _log_sums(points: Sequence[Array], alpha: float, factor: float) -> list:
    """Return factor log(sum(exp(y/alpha))) for several y, as arrays of shape ()."""
    space = namespace(points[0])
    rows = space.stack([reshape(y, (-1,)) for y in points]) / alpha
    sums = factor * logsumexp_rows(rows)[:, 0]
    return [sums[i] for i in range(len(points))]


def _draw(weights: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw positions with the probabilities ``weights``: only uniform numbers leave the host."""
    running = cumsum(weights)
    space = namespace(running)
    uniform = space.astype(like(rng.random(count), running), running.dtype)
    found = searchsorted(running, uniform * running[-1])
    # a product rounded up to the total would fall past the last entry
    return space.clip(found, max=weights.shape[0] - 1)


def above_level(u: Array, total: float) -> Array:
    """Return max(u - t, 0) for the t at which its sum is ``total``."""
    space = namespace(u)
    falling = space.sort(u - space.max(u), descending=True)
    ranks = space.astype(arange(u.shape[0], u) + 1, u.dtype)
    levels = (space.astype(cumsum(falling), u.dtype) - total) / ranks
    # the level t is the largest of these: each is the level if the first entries are what is left
    return clip(u - space.max(u) - space.max(levels), 0.0, None)
