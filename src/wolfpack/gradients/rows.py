r"""Which rows of a finite sum a round sees.

Every sampling is unbiased: with the weights :math:`c_i` of the chosen rows B,
:math:`E \sum_{i \in B} c_i \nabla \ell_i = \sum_i \nabla \ell_i` (for "shuffle" and "turns",
each round by itself). One seed gives the same rows in round k, whatever was drawn before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from ..arrays import Array, Streams, is_foreign, like, take
from ..objectives._matrix import entries
from ..objectives.finite_sum import FiniteSum
from .sparse_rows import SparseRows

_PERMUTATIONS = 2**32  # block of the streams that order the rows
_MAX_SPARSE_ROWS = 128  # for so few rows SciPy's selection takes longer than their products


class RowBatch(NamedTuple):
    """The rows of a round: their numbers, and the matrix ``part`` of these rows of A.

    With the ``weights`` the mean of the weighted sum over the rows is the whole sum. ``places``
    tells where a table of the rows, in the order of `Uniform.order`, has them. ``slopes`` is the
    function from the entries of Ay for these rows to those of grad loss.
    """

    rows: Array
    weights: Any
    part: Any
    transposed: Any
    places: Any
    slopes: Callable[[Array], Array]


class Uniform:
    """All rows with the same probability, without replacement within a round of ``batch`` rows.

    Samplings with replacement have ``probabilities`` of the rows. ``independent`` tells whether
    rounds are independent of each other. Where a copy of the data is made, ``order`` lists the rows
    in the order in which the copy has them.
    """

    probabilities: Any = None
    order: Any = None
    independent: bool = True

    def __init__(self, objective: FiniteSum, batch: int, streams: Streams) -> None:
        self.objective, self.batch, self.streams = objective, batch, streams
        self.n = objective.n

    def of_round(self, k: int, m: int) -> RowBatch:
        """Return the ``m`` rows of round ``k``."""
        return self.draw(m, self.streams.at(k))

    def draw(self, m: int, rng: np.random.Generator) -> RowBatch:
        """Return ``m`` rows."""
        return self.choice(rng.choice(self.n, m, replace=False, shuffle=False), self.n / m)

    def choice(self, rows: Array, weights: Any) -> RowBatch:
        """Return the given rows, collected."""
        A, shape = self.objective.A, self.objective.shape or ()
        few = len(rows) <= _MAX_SPARSE_ROWS and len(shape) == 1 and issparse(A)
        part = SparseRows(A, rows) if few else _collected(self.objective, rows)
        return self._chosen(rows, weights, part)

    def _chosen(self, rows: Array, weights: Any, part: Any) -> RowBatch:
        slopes = self.objective.row_loss_gradient
        return RowBatch(rows, weights, part, part.T, rows, lambda z: slopes(z, rows))

    def noise(self, m: int) -> float:
        r"""Return a bound on the noise of a mean of ``m``, in units of smoothness.

        The variance of a round is at most this times the excess of F: :math:`\ell / m` with
        :math:`\ell` the smoothness of a single draw, and :math:`(n-m)/(n-1)` of that without
        replacement.
        """
        left = 1.0 if self.probabilities is not None else (self.n - m) / max(1, self.n - 1)
        return left * self.objective.row_smoothness(self.probabilities) / m


class Importance(Uniform):
    """With replacement, half of the probability uniform and half proportional to ||a_i||^2."""

    def __init__(self, objective: FiniteSum, batch: int, streams: Streams) -> None:
        super().__init__(objective, batch, streams)
        squares = objective.row_norms_squared
        n, total = self.n, float(squares.sum())
        even = np.full(n, 1.0 / n)
        self.probabilities = even if total == 0.0 else 0.5 * even + (0.5 / total) * squares
        self._cumulative = np.cumsum(self.probabilities)
        starts = np.arange(n) * (self._cumulative[-1] / n)
        self._guide = np.searchsorted(self._cumulative, starts, "right")

    def draw(self, m: int, rng: np.random.Generator) -> RowBatch:
        u = rng.random(m)
        rows = self._guide[(u * self.n).astype(np.intp)]
        u *= self._cumulative[-1]
        # Every row has probability 1/2n or more, so that at most three end in an interval of 1/n.
        for _ in range(3):
            rows = rows + (self._cumulative[rows] <= u)
        weights = 1.0 / (m * self.probabilities[rows])
        return self.choice(rows, weights if m > 1 else float(weights[0]))


class Shuffle(Uniform):
    """One pass after the other, each in a new random order.

    Rounds are not independent: their errors cancel over a pass, which no theorem of the paper uses.
    """

    independent = False
    _order: tuple[int, Any] = (-1, None)

    def of_round(self, k: int, m: int) -> RowBatch:
        turn, start = divmod(k * m, self.n)
        rows = self._permutation(turn)[start : start + m]
        if len(rows) == m:
            return self.choice(rows, self.n / m)
        # A row may come twice, so that each has a weight of its own.
        rows = np.concatenate([rows, self._permutation(turn + 1)[: m - len(rows)]])
        return self.choice(rows, np.full(m, self.n / m))

    def _permutation(self, turn: int) -> Array:
        if self._order[0] != turn:
            self._order = turn, _permutation(self.streams, self.n, turn)
        return self._order[1]


class Passes(Shuffle):
    """The rows of one random order of all of them after the other, a new order for each pass.

    A pass ends with a smaller batch if need be, so that no row comes twice in a round, and each one
    comes again within two passes.
    """

    def of_round(self, k: int, m: int) -> RowBatch:
        turn, place = divmod(k, -(-self.n // m))
        rows = self._permutation(turn)[place * m : (place + 1) * m]
        return self.choice(rows, self.n / len(rows))


class Blocks(Uniform):
    """One of fixed random blocks, of ``batch`` rows or less, that lie together in a copy."""

    def __init__(self, objective: FiniteSum, batch: int, streams: Streams) -> None:
        super().__init__(objective, batch, streams)
        count = -(-self.n // batch)
        self.order = _permutation(streams, self.n)
        copy, first, self._blocks = _collected(objective, self.order), 0, []
        for rows in np.array_split(self.order, count):
            part, places = _window(copy, first, len(rows)), slice(first, first + len(rows))
            slopes = objective.slopes_of(rows)
            self._blocks.append(RowBatch(rows, float(count), part, part.T, places, slopes))
            first += len(rows)

    def draw(self, m: int, rng: np.random.Generator) -> RowBatch:
        return self._blocks[rng.integers(len(self._blocks))]

    def noise(self, m: int) -> float:
        """Return the noise of a mean over the smallest block.

        Drawing without replacement does not help here, since the blocks are fixed.
        """
        size = min(m, min(len(block.rows) for block in self._blocks))
        return self.objective.row_smoothness() / size


class Turns(Blocks):
    """The same blocks, one pass after the other, each in a new random order.

    Rounds are not independent, as for `Shuffle`.
    """

    independent = False
    _turn: tuple[int, Any] = (-1, None)

    def of_round(self, k: int, m: int) -> RowBatch:
        turn, place = divmod(k, len(self._blocks))
        if self._turn[0] != turn:
            # The permutation of turn 0 has made the blocks.
            self._turn = turn, _permutation(self.streams, len(self._blocks), turn + 1)
        return self._blocks[self._turn[1][place]]


class Windows(Uniform):
    """``batch`` rows that follow each other in a copy whose rows are in a random, cyclic order."""

    def __init__(self, objective: FiniteSum, batch: int, streams: Streams) -> None:
        super().__init__(objective, batch, streams)
        order = _permutation(streams, self.n)
        self._order = np.concatenate([order, order[: batch - 1]])
        self._copy = _collected(objective, self._order)

    def draw(self, m: int, rng: np.random.Generator) -> RowBatch:
        if m > self.batch:
            return super().draw(m, rng)
        first = int(rng.integers(self.n))
        part = _window(self._copy, first, m)
        return self._chosen(self._order[first : first + m], self.n / m, part)


SAMPLINGS: dict[str, type[Uniform]] = {
    "uniform": Uniform,
    "importance": Importance,
    "shuffle": Shuffle,
    "blocks": Blocks,
    "turns": Turns,
    "windows": Windows,
}
FIXED = ("shuffle", "blocks", "turns", "windows")
"""Samplings that need a batch of the same size in all rounds."""


def _permutation(streams: Streams, n: int, turn: int = 0) -> Array:
    return streams.at(turn, _PERMUTATIONS).permutation(n)


def _window(A: Any, first: int, m: int) -> Any:
    """Return ``m`` rows from ``first`` on; those of sparse matrices are not copied."""
    if not issparse(A):
        return A[first : first + m]
    ends = A.indptr[first : first + m + 1]
    inside = slice(ends[0], ends[-1])
    return type(A)((A.data[inside], A.indices[inside], ends - ends[0]), (m, A.shape[1]))


def _collected(objective: FiniteSum, rows: Array) -> Any:
    A = entries(objective.A)
    return take(A, like(rows, A)) if is_foreign(A) else A[rows]
