"""Bases of a matroid."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..atoms import Sparse
from ._base import Array, Set, as_shape
from ._batch import map_batch
from ._distance import separation


class MatroidBase(Set):
    r"""The base polytope of a matroid on n elements.

    .. math:: \mathrm{conv}\{1_B : B \text{ a base}\} = \{x \ge 0,\ x(E) = \mathrm{rk}(E),\
        x(S) \le \mathrm{rk}(S) \text{ for all } S\}.

    Parameters
    ----------
    rank_or_independence : callable
        Takes a tuple of distinct elements (integers in 0..n-1) and returns either the rank of that
        set, an integer, or whether it is independent. What it returns for ``()`` tells which: 0 for
        a rank, True for independence.
    n : int
        Number of elements.

    Notes
    -----
    The oracle is the greedy algorithm: go through the elements by ascending g, the first index
    first, and keep those that stay independent until the rank is reached; at most n calls of the
    function. That all bases are equally large is checked at construction for a few orders of the
    elements, and by every answer.

    Examples
    --------
    At most one of the elements 0 and 1, at most two of all (a partition matroid):

    >>> import numpy as np
    >>> def independent(S):
    ...     return len(S) <= 2 and not {0, 1} <= set(S)
    >>> K = MatroidBase(independent, n=4)
    >>> np.asarray(K.lmo(np.array([-3.0, -2.0, 0.0, -1.0])))
    array([1., 0., 0., 1.])
    """

    polytope: ClassVar[bool] = True
    one_by_one: ClassVar[bool] = True

    def __init__(self, rank_or_independence: Callable[[tuple[int, ...]], Any], n: int) -> None:
        if not callable(rank_or_independence):
            found = type(rank_or_independence).__name__
            raise TypeError(f"rank_or_independence must be callable, found {found}")
        self.fun = rank_or_independence
        self.shape = as_shape(n)
        if len(self.shape) != 1:
            raise ValueError(f"n must be a positive integer, found {n!r}")
        empty = self.fun(())
        if isinstance(empty, bool | np.bool_) and not empty:
            raise ValueError("rank_or_independence must call the empty set () independent")
        if empty not in (0, 1):
            raise ValueError(
                "rank_or_independence(()) must be 0 (a rank) or True (independent), "
                f"found {empty!r}"
            )
        self._is_rank = bool(empty == 0)
        forward = np.arange(n)
        self.rank = len(self._greedy(forward, n))
        if self.rank == 0:
            raise ValueError("rank_or_independence: no single element is independent")
        shuffle = np.random.default_rng(0)
        for order in (forward[::-1], *(shuffle.permutation(n) for _ in range(3))):
            self._sorted(self._greedy(order, n))

    @property
    def radius(self) -> float:
        return math.sqrt(self.rank)

    @property
    def diameter(self) -> float:
        # two bases share rank - j elements, and j elements outside the first must exist
        return math.sqrt(2.0 * min(self.rank, self.shape[0] - self.rank))

    def _lmo(self, g: Array) -> Sparse:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.shape[0])
        orders = np.argsort(rows, axis=1, kind="stable")
        bases = np.array(map_batch(self._base, orders), dtype=np.intp)
        return Sparse(bases[0] if g.ndim == 1 else bases, 1.0, self.shape)

    def violation(self, x: Array) -> float:
        outside = np.maximum(-x.min(), abs(x.sum() - self.rank))
        return max(float(outside), separation(self, x)) if outside <= 1e-6 else float(outside)

    def start(self) -> Array:
        n = self.shape[0]
        shifts = range(0, n, -(-n // 20))  # at most 20 bases, begun at different elements
        bases = np.array([self._base(np.roll(np.arange(n), -i)) for i in shifts])
        return Sparse(bases, 1.0, self.shape).mean()

    def _base(self, order: Array) -> list[int]:
        return self._sorted(self._greedy(order, self.rank))

    def _greedy(self, order: Array, most: int) -> list[int]:
        """Return the elements that stay independent when they come in this order."""
        base: list[int] = []
        for i in order.tolist():
            if len(base) == most:
                break
            if self._independent((*base, i)):
                base.append(i)
        return base

    def _sorted(self, base: list[int]) -> list[int]:
        if len(base) != self.rank:
            raise ValueError(
                f"{self}: the bases of a matroid are equally large, found one of {self.rank} and "
                f"one of {len(base)} elements, {tuple(base[:10])}"
            )
        return sorted(base)

    def _independent(self, subset: tuple[int, ...]) -> bool:
        value = self.fun(subset)
        return value == len(subset) if self._is_rank else bool(value)

    def __repr__(self) -> str:
        return f"MatroidBase({self.shape[0]} elements)"
