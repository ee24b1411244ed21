"""Batches of simplices, boxes and balls of vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array, arange, clip, epsilon, namespace, sum_last, take_along
from ...noise import LAWS, Gaussian, Gumbel, Noise
from ..box import Box
from ..capped_simplex import CappedSimplex
from ..k_sparse import KSparse
from ..product import Product
from ..simplex import Simplex
from ..weighted_l1_ball import WeightedL1Ball
from ._base import (
    BatchedSet,
    along,
    column,
    diagonal,
    moved_along,
    ones_where,
    row_sums,
    zero_errors,
)
from .levels import above_level, clip_to_total


class Simplices(BatchedSet):
    """x >= 0 with the sum r."""

    unconditional = True
    recordable = True
    varying = ("r",)

    def __init__(self, parts: list[Simplex], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.r = self.numbers([K.r for K in parts])

    def project(self, X: Array) -> Array:
        return above_level(X, self.r)

    def jacobian(self, Z: Array, X: Array) -> Array:
        return along(ones_where(X > 0, X), namespace(X).ones_like(X))

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        return moved_along(ones_where(X > 0, X), namespace(X).ones_like(X), U)

    def vertices(self, Y: Array) -> Array:
        return _one_hot(namespace(Y).argmin(Y, axis=1), self.r, Y)

    def closes(self, law: Noise | None) -> bool:
        return law is None or (isinstance(law, Gumbel) and isinstance(law.scale, float))

    def smoothed(self, U: Array, alpha: Array, law: Noise | None) -> tuple[Array, Array]:
        alpha = alpha if law is None else alpha * law.scale
        weights, total, top = _exponentials([U], alpha)
        answers = column(self.r / total, U) * weights[0]
        return answers, self.r * (top + alpha * namespace(U).log(total))

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        least = self.r * namespace(Y).min(Y, axis=1)
        return least, zero_errors(least)

    def violation(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.maximum(-xp.min(X, axis=1), abs(row_sums(X) - self.r))

    def start(self) -> Array:
        return (self.r / self.dimension)[:, None] * self._row()

    def bounds(self) -> tuple[Array, Array, bool]:
        return 0.0 * self._row(), np.inf * self._row(), True


class CappedSimplices(BatchedSet):
    """0 <= x <= c with the sum s."""

    unconditional = True
    recordable = True
    varying = ("caps", "total")

    def __init__(self, parts: list[CappedSimplex], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.caps = self.numbers([K.caps.reshape(-1) for K in parts])
        self.total = self.numbers([K.total for K in parts])

    def project(self, X: Array) -> Array:
        found = clip_to_total(X, self.caps, self.total)
        return self.mended(X, found, _unmet(found, self.total))

    def jacobian(self, Z: Array, X: Array) -> Array:
        return along(ones_where((X > 0) & (self.caps > X), X), namespace(X).ones_like(X))

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        free = ones_where((X > 0) & (self.caps > X), X)
        return moved_along(free, namespace(X).ones_like(X), U)

    def vertices(self, Y: Array) -> Array:
        return _filled(Y, self.caps, self.total)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        least = sum_last(Y * self.vertices(Y), 1)
        return least, zero_errors(least)

    def violation(self, X: Array) -> Array:
        xp = namespace(X)
        outside = xp.maximum(xp.max(X - self.caps, axis=1), -xp.min(X, axis=1))
        return xp.maximum(outside, abs(row_sums(X) - self.total))

    def start(self) -> Array:
        return self.caps * column(self.total / sum_last(self.caps, 1), self.caps)

    def bounds(self) -> tuple[Array, Array, bool]:
        return 0.0 * self._row(), self.caps, True


class Boxes(BatchedSet):
    """Bounds l <= x <= u."""

    recordable = True
    varying = ("lower", "upper")

    def __init__(self, parts: list[Box], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.lower = self.numbers([K.lower.reshape(-1) for K in parts])
        self.upper = self.numbers([K.upper.reshape(-1) for K in parts])

    def project(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.minimum(xp.maximum(X, self.lower), self.upper)

    def jacobian(self, Z: Array, X: Array) -> Array:
        return diagonal(ones_where((self.lower < Z) & (self.upper > Z), X))

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        return ones_where((self.lower < Z) & (self.upper > Z), X) * U

    def vertices(self, Y: Array) -> Array:
        return namespace(Y).where(Y < 0, self.upper, self.lower)

    def closes(self, law: Noise | None) -> bool:
        return law is None or type(law) in LAWS.values()

    def smoothed(self, U: Array, alpha: Array, law: Noise | None) -> tuple[Array, Array]:
        law, width = law or Gaussian(), self.upper - self.lower
        quotients = U / column(alpha, U)
        answers = self.lower + width * (1.0 - law.cdf(-quotients))
        rise = column(alpha, U) * law.positive_part(quotients)
        return answers, sum_last(self.lower * U + width * rise, 1)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        least = sum_last(Y * self.vertices(Y), 1)
        return least, zero_errors(least)

    def violation(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.max(xp.maximum(self.lower - X, X - self.upper), axis=1)

    def start(self) -> Array:
        return 0.5 * self.lower + 0.5 * self.upper

    def absolute_support(self, C: Array) -> Array:
        xp = namespace(C)
        return sum_last(C * xp.maximum(abs(self.lower), abs(self.upper)), 1)

    def bounds(self) -> tuple[Array, Array, bool]:
        return self.lower, self.upper, False


class L1Balls(BatchedSet):
    """sum |x_i| / reach_i <= 1."""

    unconditional = True
    recordable = True
    varying = ("reach",)

    def __init__(self, parts: list[WeightedL1Ball], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        n = self.dimension
        self.reach = self.numbers([np.broadcast_to(K.reach, K.shape).reshape(n) for K in parts])
        self.even = all(np.ndim(K.reach) == 0 for K in parts)

    def project(self, X: Array) -> Array:
        xp, sizes = namespace(X), abs(X)
        if self.even:
            shrunk = above_level(sizes, self.reach[:, 0])
        else:
            # sum_i w_i^2 max(|x_i|/w_i - t, 0) = r, the largest w being 1
            r = xp.min(self.reach, axis=1)
            w = r[:, None] / self.reach
            shrunk = w * above_level(sizes / w, r, w * w)
        inside = row_sums(sizes / self.reach) <= 1.0
        return xp.where(inside[:, None], X, xp.copysign(shrunk, X))

    def jacobian(self, Z: Array, X: Array) -> Array:
        xp = namespace(X)
        inside = (row_sums(abs(Z) / self.reach) <= 1.0)[:, None, None]
        face = along(ones_where(X != 0, X), xp.sign(X) / self.reach)
        return xp.where(inside, diagonal(xp.ones_like(X)), face)

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        xp = namespace(X)
        inside = (row_sums(abs(Z) / self.reach) <= 1.0)[:, None]
        return xp.where(inside, U, moved_along(ones_where(X != 0, X), xp.sign(X) / self.reach, U))

    def vertices(self, Y: Array) -> Array:
        largest = _one_hot(namespace(Y).argmax(abs(Y) * self.reach, axis=1), None, Y)
        return namespace(Y).where(Y > 0, -self.reach, self.reach) * largest

    def closes(self, law: Noise | None) -> bool:
        return law is None  # noise on the scores of the vertices

    def smoothed(self, U: Array, alpha: Array, law: Noise | None) -> tuple[Array, Array]:
        scores = U * self.reach
        (up, down), total, top = _exponentials([scores, -scores], alpha)
        answers = self.reach * (up - down) / column(total, U)
        return answers, top + alpha * namespace(U).log(total)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        least = -namespace(Y).max(abs(Y) * self.reach, axis=1)
        return least, abs(least) * epsilon(Y)

    def violation(self, X: Array) -> Array:
        return self.radius * (row_sums(abs(X) / self.reach) - 1.0)


class L2Balls(BatchedSet):
    """||x|| <= r; the radius of the set is r."""

    unconditional = True
    recordable = True

    def project(self, X: Array) -> Array:
        length = _lengths(X)
        factor = self.radius / namespace(X).maximum(length, self.radius)
        return X * column(factor, X)

    def jacobian(self, Z: Array, X: Array) -> Array:
        xp, length = namespace(X), _lengths(Z)
        one = diagonal(xp.ones_like(X))
        inside = (length <= self.radius)[:, None, None]
        n = Z / column(xp.maximum(length, self.radius), Z)
        factor = column(self.radius / xp.maximum(length, self.radius), X)[:, :, None]
        return xp.where(inside, one, factor * (one - n[:, :, None] * n[:, None, :]))

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        xp, length = namespace(X), _lengths(Z)
        outer = xp.maximum(length, self.radius)
        n = Z / column(outer, Z)
        turned = U - n * xp.sum(n * U, axis=1, keepdims=True)
        inside = (length <= self.radius)[:, None]
        return xp.where(inside, U, column(self.radius / outer, X) * turned)

    def vertices(self, Y: Array) -> Array:
        length = _lengths(Y)
        xp = namespace(Y)
        return -column(self.radius / xp.where(length > 0, length, xp.ones_like(length)), Y) * Y

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        least = -self.radius * _lengths(Y)
        return least, zero_errors(least)  # the rounding of a sum of products is counted outside

    def violation(self, X: Array) -> Array:
        return _lengths(X) - self.radius


class KSparses(BatchedSet):
    """||x||_inf <= r and ||x||_1 <= k r."""

    unconditional = True
    recordable = True
    varying = ("r",)

    def __init__(self, parts: list[KSparse], place: Array, count: int) -> None:
        super().__init__([*parts], place, count)
        self.r, self.k = self.numbers([K.r for K in parts]), parts[0].k

    def project(self, X: Array) -> Array:
        xp, r = namespace(X), column(self.r, X)
        sizes = xp.minimum(abs(X), r)
        clipped = clip_to_total(abs(X), r, self.k * self.r)
        inside = row_sums(sizes) <= self.k * self.r
        found = xp.copysign(xp.where(inside[:, None], sizes, clipped), X)
        return self.mended(X, found, _unmet(clipped, self.k * self.r))

    def jacobian(self, Z: Array, X: Array) -> Array:
        xp, r = namespace(X), column(self.r, X)
        inside = row_sums(xp.minimum(abs(Z), r)) <= self.k * self.r
        face = along(ones_where((X != 0) & (abs(X) < r), X), xp.sign(X))
        return xp.where(inside[:, None, None], diagonal(ones_where(abs(Z) < r, X)), face)

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        xp, r = namespace(X), column(self.r, X)
        inside = row_sums(xp.minimum(abs(Z), r)) <= self.k * self.r
        face = moved_along(ones_where((X != 0) & (abs(X) < r), X), xp.sign(X), U)
        return xp.where(inside[:, None], ones_where(abs(Z) < r, X) * U, face)

    def vertices(self, Y: Array) -> Array:
        xp, sizes = namespace(Y), abs(Y)
        order = xp.argsort(-sizes, axis=1, stable=True)
        ranks = xp.argsort(order, axis=1, stable=True)
        return ones_where(ranks < self.k, Y) * xp.copysign(column(self.r, Y) + 0.0 * Y, -Y)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        falling = -namespace(Y).sort(-abs(Y), axis=1)
        least = -self.r * row_sums(falling[:, : self.k])
        return least, zero_errors(least)

    def violation(self, X: Array) -> Array:
        xp, size = namespace(X), abs(X)
        return xp.maximum(xp.max(size, axis=1) - self.r, row_sums(size) - self.k * self.r)


class Products(BatchedSet):
    """Products of batches: the entries of a point are those of the parts, joined."""

    def __init__(
        self, parts: list[Product], place: Array, count: int, blocks: list[BatchedSet]
    ) -> None:
        super().__init__([*parts], place, count)
        ends = np.cumsum([0, *(block.dimension for block in blocks)]).tolist()
        self.blocks = blocks
        self.recordable = all(block.recordable for block in blocks)
        self.slices = [slice(a, b) for a, b in pairwise(ends)]

    def take(self, index: np.ndarray) -> Any:
        other = super().take(index)
        other.blocks = [block.take(index) for block in self.blocks]
        return other

    def project(self, X: Array) -> Array:
        return self._joined([K.project(X[:, part]) for K, part in self._pairs()])

    def jacobian(self, Z: Array, X: Array) -> Array:
        xp, rows = namespace(X), []
        for K, part in self._pairs():
            block = K.jacobian(Z[:, part], X[:, part])
            before = xp.zeros_like(X[:, : part.start])[:, None, :]
            after = xp.zeros_like(X[:, part.stop :])[:, None, :]
            size = (block.shape[0], block.shape[1])
            sides = (xp.broadcast_to(side, (*size, side.shape[2])) for side in (before, after))
            left, right = sides
            rows.append(xp.concat([left, block, right], axis=2))
        return xp.concat(rows, axis=1)

    def derivative(self, Z: Array, X: Array, U: Array) -> Array:
        found = [K.derivative(Z[:, p], X[:, p], U[:, p]) for K, p in self._pairs()]
        return self._joined(found)

    def vertices(self, Y: Array) -> Array:
        return self._joined([K.vertices(Y[:, part]) for K, part in self._pairs()])

    def closes(self, law: Noise | None) -> bool:
        return all(block.closes(law) for block in self.blocks)

    def smoothed(self, U: Array, alpha: Array, law: Noise | None) -> tuple[Array, Array]:
        found = [K.smoothed(U[:, part], alpha, law) for K, part in self._pairs()]
        return self._joined([answers for answers, _ in found]), sum(values for _, values in found)

    def lowest(self, Y: Array, X: Array) -> tuple[Array, Array]:
        found = [K.lowest(Y[:, part], X[:, part]) for K, part in self._pairs()]
        return sum(least for least, _ in found), sum(error for _, error in found)

    def violation(self, X: Array) -> Array:
        xp = namespace(X)
        found = [K.violation(X[:, part]) for K, part in self._pairs()]
        return xp.max(xp.stack(found), axis=0)

    def start(self) -> Array:
        return self._joined([block.start() for block in self.blocks])

    def absolute_support(self, C: Array) -> Array:
        return sum(K.absolute_support(C[:, part]) for K, part in self._pairs())

    def _pairs(self) -> Any:
        return zip(self.blocks, self.slices, strict=True)

    @staticmethod
    def _joined(blocks: list[Array]) -> Array:
        return namespace(blocks[0]).concat(blocks, axis=1)


def _one_hot(index: Array, value: Array | None, Y: Array) -> Array:
    """Return rows like those of Y that are 0 but for one entry, which is 1 or the value given."""
    places = arange(Y.shape[1], Y)[None, :]
    ones = ones_where(places == index[:, None], Y)
    return ones if value is None else column(value, Y) * ones


def _exponentials(scores: list[Array], alpha: Array) -> tuple[list[Array], Array, Array]:
    """Return exp((scores - top)/alpha) for each matrix, the sums of the rows, and the tops."""
    xp = namespace(alpha)
    tops = [xp.max(part, axis=1) for part in scores]
    top = tops[0] if len(tops) == 1 else xp.maximum(*tops)
    weights = [xp.exp((part - column(top, part)) / column(alpha, part)) for part in scores]
    return weights, sum(row_sums(part) for part in weights), top


def _unmet(X: Array, total: Array) -> np.ndarray:
    """Return which rows miss their sums by more than rounding, as those of huge numbers may do.

    Devices are not waited for: their rounds are recorded, and all rows are taken to be right.
    """
    if type(X) is not np.ndarray:
        return np.zeros(len(X), dtype=bool)
    with np.errstate(invalid="ignore"):
        return abs(row_sums(X) - total) > 64.0 * X.shape[1] * epsilon(X) * total


def _filled(Y: Array, caps: Array, total: Array) -> Array:
    """Return the vertex that fills the smallest entries of each row to their caps."""
    xp = namespace(Y)
    order = xp.argsort(Y, axis=1, stable=True)
    C = take_along(xp.broadcast_to(caps, Y.shape), order)
    before = xp.astype(xp.cumulative_sum(C, axis=1), C.dtype) - C
    values = xp.minimum(clip(column(total, C) - before, 0.0, None), C)
    return take_along(values, xp.argsort(order, axis=1, stable=True))


def _lengths(X: Array) -> Array:
    """Return the norm of each row, also where squares would overflow."""
    xp = namespace(X)
    top = xp.max(abs(X), axis=1, keepdims=True)
    safe = xp.where(top > 0, top, xp.ones_like(top))
    scaled = X / safe
    return safe[:, 0] * xp.sqrt(row_sums(scaled * scaled))


def of_product(parts: list[Product], place: Array, count: int, make: Any) -> BatchedSet | None:
    """Return a batch of products, None where a part has no batched form."""
    columns = zip(*(K.parts for K in parts), strict=True)
    blocks = [make([*part], place, count) for part in columns]
    return None if None in blocks else Products(parts, place, count, blocks)
