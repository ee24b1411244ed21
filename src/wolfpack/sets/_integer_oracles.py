"""Oracles of integer points within bounds that need no program, and blocks of oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..arrays import Array
from ._base import Set
from ._linear import ProgramAnswer
from ._marginals import potentials


class IntegerOracle(Protocol):
    """Minimises <c, x> over the integer points of one set, for flat c and bounds that change."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        """Return a minimiser within the bounds, and a proved lower bound.

        ``known`` is a point within the bounds, the answer of a solver that finds none in time.
        """
        ...

    def some_point(self, low: Array, high: Array) -> Array | None:
        """Return an integer point of the set within the bounds, None if there is none."""
        ...

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        """Return a level and prices r with <c, x> >= level + sum of r_j (x_j - end_j) for all x,
        where end_j is the lower bound if r_j > 0 and the upper one otherwise; None if unknown.
        """
        ...


class Separable:
    """Every entry by itself."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        x = np.where(c < 0, high, low)
        return ProgramAnswer(x, float(c @ x))

    def some_point(self, low: Array, high: Array) -> Array | None:
        return low.copy()

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        return float(np.minimum(c * low, c * high).sum()), c


class FixedTotal:
    """Entries with a whole sum: the cheapest are filled first."""

    def __init__(self, total: float) -> None:
        self.total = round(total)

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        order = np.argsort(c, kind="stable")
        room = (high - low)[order]
        left = self.total - low.sum()
        x = low.copy()
        x[order] += np.clip(left - (np.cumsum(room) - room), 0.0, room)
        return ProgramAnswer(x, float(c @ x))

    def some_point(self, low: Array, high: Array) -> Array | None:
        if low.sum() > self.total or high.sum() < self.total:
            return None
        return self.answer(np.zeros(len(low)), low, high, low).x

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        multiplier = self._multiplier(c, low, high)
        r = c - multiplier
        level = multiplier * self.total + float(np.minimum(r * low, r * high).sum())
        return level, r

    def _multiplier(self, c: Array, low: Array, high: Array) -> float:
        """Return the price of one more unit of the total: the cost of the last unit filled in."""
        filled = self.answer(c, low, high, low).x > low
        return float(c[filled].max()) if filled.any() else float(c.min())


class LargestTotal(FixedTotal):
    """Entries with a whole sum at most: of negative costs, the cheapest are filled first."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        return super().answer(c, low, np.where(c < 0, high, low), known)

    def some_point(self, low: Array, high: Array) -> Array | None:
        return low.copy() if low.sum() <= self.total else None

    def _multiplier(self, c: Array, low: Array, high: Array) -> float:
        used_up = self.answer(c, low, high, low).x.sum() >= self.total
        return super()._multiplier(c, low, high) if used_up else 0.0


class Assignment:
    """Permutation matrices with entries that are forbidden or demanded."""

    def __init__(self, n: int) -> None:
        self.n = n

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        x = self._assign(c, low, high)
        assert x is not None  # bounds without an assignment are empty
        error = 4.0 * np.finfo(np.float64).eps * self.n * float(abs(c).max(initial=0.0))
        return ProgramAnswer(x, float(c @ x) - self.n * error)

    def some_point(self, low: Array, high: Array) -> Array | None:
        return self._assign(np.zeros(self.n**2), low, high)

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        x = self._assign(c, low, high)
        if x is None:
            return None
        # any numbers for rows and columns give a bound; those of the best assignment are best
        size = float(abs(c).max())
        far = 2.0 * self.n * size  # forbidden entries cost so much, demanded ones bring so much
        costs = np.where(high < 0.5, far, np.where(low > 0.5, -far, c)).reshape(self.n, self.n)
        rows, columns = potentials(costs, x.reshape(self.n, self.n), size)[-1]
        r = c - (columns - rows[:, None]).reshape(-1)
        level = float(columns.sum() - rows.sum() + np.minimum(r * low, r * high).sum())
        return level, r

    def _assign(self, c: Array, low: Array, high: Array) -> Array | None:
        square = (self.n, self.n)
        costs, demanded = c.reshape(square).copy(), low.reshape(square) > 0.5
        costs[demanded.any(axis=1)] = np.inf
        costs[:, demanded.any(axis=0)] = np.inf
        costs[demanded] = c.reshape(square)[demanded]
        costs[high.reshape(square) < 0.5] = np.inf
        try:
            rows, columns = linear_sum_assignment(costs)
        except ValueError:  # no assignment without infinite costs
            return None
        x = np.zeros(square)
        x[rows, columns] = 1.0
        return x.reshape(-1) if x[demanded].all() else None  # two demands in one row exclude it


class Unbranched:
    """A set without integer entries, whose own oracle is asked: its bounds never change."""

    def __init__(self, K: Set) -> None:
        self.K = K

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        g = c.reshape(self.K.shape)
        vertex = self.K._lmo(g)
        x = np.asarray(vertex.to_dense(), dtype=np.float64).reshape(-1)
        return ProgramAnswer(x, self.K.certify(g, vertex))

    def some_point(self, low: Array, high: Array) -> Array | None:
        return np.asarray(self.K.start(), dtype=np.float64).reshape(-1)

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        return self.answer(c, low, high, low).bound, np.zeros(len(c))


class Blocks:
    """Consecutive parts of x, each with an oracle of its own."""

    def __init__(self, oracles: Sequence[IntegerOracle], sizes: Sequence[int]) -> None:
        ends = np.cumsum(sizes).tolist()
        places = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self.blocks = list(zip(oracles, places, strict=True))

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        found = [oracle.answer(c[b], low[b], high[b], known[b]) for oracle, b in self.blocks]
        return ProgramAnswer(
            np.concatenate([part.x for part in found]), sum(part.bound for part in found)
        )

    def some_point(self, low: Array, high: Array) -> Array | None:
        points: list[Array] = []
        for oracle, b in self.blocks:
            point = oracle.some_point(low[b], high[b])
            if point is None:
                return None
            points.append(point)
        return np.concatenate(points)

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        level, prices = 0.0, np.zeros(len(c))
        for oracle, b in self.blocks:
            found = oracle.prices(c[b], low[b], high[b])
            if found is None:
                return None
            level, prices[b] = level + found[0], found[1]
        return level, prices
