"""Sets whose oracle selects the largest entries, where the arrays are."""

from __future__ import annotations

from typing import Any

from ...arrays import (
    arange,
    fetch,
    full,
    like,
    namespace,
    reshape,
    sum_last,
    take,
    take_along,
    topk,
)
from ...atoms import Atoms, Dense, Sparse
from .._base import Array
from ._base import Exact, Twin


class KSparseTwin(Exact, Twin, anywhere=True):
    """The k-sparse polytope."""

    def _lmo(self, g: Array) -> Sparse:
        K, rows = self.K, reshape(g, (-1, self.dimension))
        indices = topk(abs(rows), K.k)
        up, down = full((), K.r, g), full((), -K.r, g)
        values = namespace(g).where(take_along(rows, indices) < 0, up, down)
        answers = Sparse(indices, values, self.shape, g.dtype)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def violation(self, x: Array) -> float:
        largest, total = fetch(namespace(x).max(abs(x)), sum_last(abs(x), x.ndim))
        return max(largest - self.K.r, total - self.K.k * self.K.r)


class CappedTwin(Exact, Twin, anywhere=True):
    """The capped simplex and the hypersimplex."""

    def __init__(self, K: Any, x: Array) -> None:
        super().__init__(K, x)
        self.caps: Any = like(K.caps, x)

    def _lmo(self, g: Array) -> Atoms:
        rows = reshape(g, (-1, self.dimension))
        if not self.K._equal:
            return Dense(reshape(self._fill(rows), tuple(g.shape)), self.shape)
        answers = self._fill_equally(rows)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def _fill_equally(self, rows: Array) -> Sparse:
        K, cap = self.K, float(self.K.caps.flat[0])
        if K._part == 0.0:
            return Sparse(topk(-rows, K._full), cap, self.shape, rows.dtype)
        indices = topk(-rows, K._full + 1)
        # the last and largest takes the part
        last = arange(K._full + 1, indices) == K._full
        space = namespace(rows)
        values = space.where(last, full((), K._part, rows), full((), cap, rows))
        return Sparse(indices, space.broadcast_to(values, indices.shape), self.shape, rows.dtype)

    def _fill(self, rows: Array) -> Array:
        space = namespace(rows)
        order = space.argsort(rows, axis=1, stable=True)
        caps = take(reshape(self.caps, (-1,)), order)
        before = space.cumulative_sum(caps, axis=1) - caps
        room = space.maximum(self.K.total - before, full((), 0.0, rows))
        # the inverse of a permutation is its order
        return take_along(space.minimum(room, caps), space.argsort(order, axis=1))

    def violation(self, x: Array) -> float:
        space = namespace(x)
        over, least, total = fetch(space.max(x - self.caps), space.min(x), sum_last(x, x.ndim))
        return max(-least, over, abs(total - self.K.total))
