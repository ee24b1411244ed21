"""The simplex with caps on the coordinates."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import (
    Array,
    amax,
    arange,
    as_float_array,
    choose,
    cumsum,
    fetch,
    foreign_dtype,
    like,
    namespace,
    reshape,
    sum_last,
    take,
    to_host,
)
from ..atoms import Atoms, Dense, Sparse
from ..problem.checks import Shape, as_shape, checked, extent
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._faces import balanced, longest, near, restricted
from ._level import clip_to_total
from ._select import in_chunks, largest, ordering, pick, place


class CappedSimplex(Set):
    r"""The capped simplex :math:`\{0 \le x \le c,\ \sum_i x_i = s\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    cap : float or array
        The caps c: one positive number for all coordinates or one per coordinate, zero and infinity
        allowed there.
    total : float
        The sum s, positive, at most the sum of the caps.

    Notes
    -----
    The oracle fills the coordinates of smallest g to their caps until the total is used up
    (fractional knapsack): O(n) by selection for a single cap, O(n log n) by sorting for several.
    The filling of the largest caps majorises every point of K, so its norm is the radius. Two
    points with nonnegative entries are at most sqrt(2) R apart; x -> c - x maps K onto the capped
    simplex of total sum(c) - s, and the smaller of the two bounds is the diameter given.

    Examples
    --------
    >>> import numpy as np
    >>> K = CappedSimplex(4, cap=0.4, total=1.0)
    >>> np.asarray(K.lmo(np.array([3.0, 1.0, 0.0, 2.0]))).round(12)
    array([0. , 0.4, 0.4, 0.2])
    """

    unconditional = True
    polytope = True
    summary = "{K.sizes}, cap={K._cap_text}, total={K.total:g}"
    stack_axes: ClassVar[dict[str, int]] = {"cap": 1, "total": 0}
    price_names: ClassVar[dict[str, str]] = {"equations": "total", "upper": "cap"}

    @checked(total=extent)
    def __init__(self, n: Shape, cap: ArrayLike, total: float = 1.0) -> None:
        self.shape = as_shape(n, "n")
        self.total = total
        caps = as_float_array(cap, "cap")
        try:
            caps = np.broadcast_to(caps, self.shape)
        except ValueError:
            raise ValueError(
                f"cap must be a number or have shape {self.shape}, found {caps.shape}"
            ) from None
        if not (caps >= 0).all():  # NaN included
            raise ValueError(
                f"cap must be nonnegative, found {int((~(caps >= 0)).sum())} that are not"
            )
        self.caps = np.minimum(caps, self.total).astype(np.float64)
        room = float(self.caps.sum())
        if room < self.total * (1 - 1e-12):
            raise ValueError(
                f"cap must sum to total = {self.total:g} or more, found {room:g}: the set is empty"
            )
        self._equal = np.ndim(cap) == 0
        self._cap_text = f"{self.caps.flat[0]:g}" if self._equal else "array"
        # the oracle with one cap: `_full` coordinates at the cap, `_part` in one more
        self._cap = float(self.caps.max())
        self._full = min(int(self.total / self._cap + 1e-12), self.dimension)
        part = self.total - self._full * self._cap
        self._part = part if part > 1e-12 * self.total else 0.0
        self.radius = _greedy_norm(self.caps, self.total)
        opposite = _greedy_norm(self.caps, max(room - self.total, 0.0))
        self.diameter = math.sqrt(2.0) * min(self.radius, opposite)

    def _lmo(self, g: Array) -> Atoms:
        rows = reshape(g, (-1, self.dimension))
        if not self._equal:
            return Dense(reshape(in_chunks(self._fill, rows), tuple(g.shape)), self.shape)
        answers = self._fill_equally(rows)
        return answers.take(0) if g.ndim == len(self.shape) else answers

    def _fill_equally(self, rows: Array) -> Sparse:
        dtype = foreign_dtype(rows)
        if self._part == 0.0:
            return Sparse(largest(rows, self._full, np.negative), self._cap, self.shape, dtype)
        indices = largest(rows, self._full + 1, np.negative)
        # the last of the largest g takes the part, as it would after sorting
        if dtype is not None:  # other libraries answer in the order of g
            part = 0 * indices + arange(self._full + 1, indices) == self._full
            return Sparse(indices, choose(part, self._part, self._cap, rows), self.shape, dtype)
        values = np.full(indices.shape, self._cap)
        last = self._full - pick(rows, indices)[:, ::-1].argmax(axis=1)
        values[np.arange(rows.shape[0]), last] = self._part
        return Sparse(indices, values, self.shape)

    def _fill(self, rows: Array) -> Array:
        order = ordering(rows)
        caps = take(reshape(self.caps, (-1,)), order)
        before = cumsum(caps, 1, caps.dtype) - caps
        return place(order, namespace(caps).clip(self.total - before, 0.0, caps))

    def violation(self, x: Array) -> float:
        over, under, total = fetch(amax(x - self.caps), amax(-x), sum_last(x, x.ndim))
        return max(under, over, abs(total - self.total))

    def start(self) -> Array:
        return self.caps * (self.total / float(sum_last(self.caps, len(self.shape))))

    def _lmo_face(self, x: Array, g: Array) -> Atoms:
        tol = near(self, x)
        return self._lmo(restricted(g, x <= tol, x >= self.caps - tol))

    def _max_step(self, x: Array, d: Array) -> float:
        inside = min(longest(x, -d), longest(self.caps - x, d))
        return inside if balanced(d.sum(), d) else 0.0

    def _polyhedron(self) -> Polyhedron:
        total = Rows(np.ones((1, self.dimension)), np.array([self.total], dtype=np.float64))
        return self._described(0.0, self.caps.reshape(-1), total)

    def _project(self, x: Array) -> Array:
        if self.original is None:
            return clip_to_total(x, self.caps, self.total)
        return like(self.original._project(to_host(x)), x)


def _greedy_norm(caps: Array, total: float) -> float:
    """Return the norm of the filling of the largest caps to ``total``."""
    ordered = np.sort(caps.reshape(-1))[::-1]
    filled = np.clip(total - (np.cumsum(ordered) - ordered), 0.0, ordered)
    return float(np.linalg.norm(filled))
