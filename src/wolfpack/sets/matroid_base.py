"""Bases of a matroid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sized

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, as_float_array, as_plain, check_finite
from ..atoms import Sparse
from ..problem.checks import as_size
from ._base import Set
from ._batch import map_batch
from ._distance import separation_of_bases

Function = Callable[[tuple[int, ...]], int | bool]


class MatroidBase(Set):
    r"""The base polytope of a matroid on n elements.

    .. math:: \mathrm{conv}\{1_B : B \text{ a base}\} = \{x \ge 0,\ x(E) = \mathrm{rk}(E),\
        x(S) \le \mathrm{rk}(S) \text{ for all } S\}.

    Parameters
    ----------
    rank_or_independence : callable or array, shape (d, n)
        A callable takes a tuple of distinct elements (integers in 0..n-1) and returns either the
        rank of that set, an integer, or whether it is independent. What it returns for ``()`` tells
        which: 0 for a rank, True for independence. The elements of an array are its columns, with
        their linear independence (a vector matroid).
    n : int, optional
        Number of elements. Not needed with an array, or a callable that has a length.

    Notes
    -----
    The oracle is the greedy algorithm: go through the elements by ascending g, the first index
    first, and keep those that stay independent until the rank is reached; at most n calls of the
    function. A few orders of the elements at construction, and every answer, check that all bases
    are equally large. Independence of columns is NumPy's ``matrix_rank`` of them, scaled to length
    1. Prefer `SpanningTree` for trees, and a `Product` of `Hypersimplex` for "k of each group".

    Examples
    --------
    At most one of the elements 0 and 1, at most two of all (a partition matroid):

    >>> def independent(S):
    ...     return len(S) <= 2 and not {0, 1} <= set(S)
    >>> K = MatroidBase(independent, n=4)
    >>> np.asarray(K.lmo(np.array([-3.0, -2.0, 0.0, -1.0])))
    array([1., 0., 0., 1.])

    The heaviest independent columns of a matrix:

    >>> K = MatroidBase([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]])
    >>> np.asarray(K.lmo(-np.array([3.0, 5.0, 1.0])))
    array([0., 1., 1.])
    """

    polytope = True
    one_by_one = True
    summary = "{K.shape[0]} elements"

    def __init__(self, rank_or_independence: Function | ArrayLike, n: int | None = None) -> None:
        given = rank_or_independence
        self.fun: Function = given if callable(given) else _Columns(given)
        n = _element_count(self.fun, n)
        self.shape = (n,)
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
        self.radius = math.sqrt(self.rank)
        # two bases share rank - j elements, and j elements outside the first must exist
        self.diameter = math.sqrt(2.0 * min(self.rank, n - self.rank))

    def _lmo(self, g: Array) -> Sparse:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.shape[0])
        orders = np.argsort(rows, axis=1, kind="stable")
        bases = np.array(map_batch(self._base, orders), dtype=np.intp)
        return Sparse(bases[0] if g.ndim == 1 else bases, 1.0, self.shape)

    def violation(self, x: Array) -> float:
        return separation_of_bases(self, x, self.rank)

    def start(self) -> Array:
        n = self.shape[0]
        shifts = range(0, n, -(-n // 20))  # at most 20 bases, from different first elements
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
            value = self.fun((*base, i))
            if value == len(base) + 1 if self._is_rank else value:
                base.append(i)
        return base

    def _sorted(self, base: list[int]) -> list[int]:
        if len(base) != self.rank:
            raise ValueError(
                f"{self}: the bases of a matroid are equally large, found one of {self.rank} and "
                f"one of {len(base)} elements, {tuple(base[:10])}"
            )
        return sorted(base)


class _Columns:
    """The rank of sets of columns of a matrix."""

    def __init__(self, matrix: ArrayLike) -> None:
        name = "rank_or_independence"
        A = as_plain(matrix, name)
        if A.dtype.kind not in "iufb" or A.ndim != 2:
            found = f"an array of shape {A.shape}" if A.ndim else type(matrix).__name__
            raise TypeError(f"{name} must be callable or a matrix of numbers, found {found}")
        A = check_finite(as_float_array(A, name), name).astype(np.float64)
        largest = abs(A).max(axis=0, initial=0.0)
        A = A / np.where(largest > 0, largest, 1.0)
        length = np.linalg.norm(A, axis=0)
        self.columns = A / np.where(length > 0, length, 1.0)

    def __len__(self) -> int:
        return self.columns.shape[1]

    def __call__(self, subset: tuple[int, ...]) -> int:
        return int(np.linalg.matrix_rank(self.columns[:, list(subset)])) if subset else 0


def _element_count(fun: Function, n: int | None) -> int:
    """Return the number of elements: ``n``, or the length of ``fun``."""
    known = len(fun) if isinstance(fun, Sized) else n
    if known is None:
        raise ValueError(
            "n, the number of elements, must be given: rank_or_independence is neither a matrix "
            "nor a callable with a length"
        )
    count = as_size(known if n is None else n, "n")
    if as_size(known, "the length of rank_or_independence") != count:
        raise ValueError(f"n must be the length {known} of rank_or_independence, found {n!r}")
    return count
