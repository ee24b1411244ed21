"""Convex hulls of given points where the arrays are."""

from __future__ import annotations

from typing import Any

from ...arrays import like, logsumexp, namespace, reshape, softmax, topk
from ...atoms import Rows
from .._base import Array
from .._laws import need_lifted, smoothing_arguments
from .._select import as_count
from ._base import Exact, Twin
from .simplices import _draw


class HullTwin(Exact, Twin, anywhere=True):
    """The convex hull of given points; of points whose scores tie any may be answered."""

    def __init__(self, K: Any, x: Array) -> None:
        super().__init__(K, x)
        self.table: Any = like(K.table, x)

    def _lmo(self, g: Array) -> Rows:
        single = g.ndim == len(self.shape)
        rows = reshape(g, (-1, self.table.shape[1]))
        index = namespace(g).argmin(rows @ self.table.T, axis=1)
        return Rows(self.table, index[0] if single else index, self.shape)

    def smoothed(self, y: Array, alpha: float, noise: Any = None) -> Array:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return reshape(softmax(self._scores(y) / alpha) @ self.table, self.shape)

    def smoothed_support(self, y: Array, alpha: float, noise: Any = None) -> float:
        need_lifted(self, noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        return alpha * float(logsumexp(self._scores(y) / alpha))

    def draw(self, y: Array, alpha: float, count: int, rng: Any) -> Rows:
        return Rows(self.table, _draw(softmax(self._scores(y) / alpha), count, rng), self.shape)

    def k_best(self, g: Array, k: int) -> Rows:
        scores = self._scores(self._check_direction(g))
        return Rows(self.table, topk(-scores, min(as_count(k), scores.shape[0])), self.shape)

    def _scores(self, y: Array) -> Array:
        return self.table @ reshape(y, (-1,))
