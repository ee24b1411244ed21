"""The fractional knapsack polytope."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import MAX_SIZE, Array, as_float_array, check_size, scaled_norm
from ..atoms import Dense
from ..problem.checks import as_array, checked, extent
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._select import in_chunks, ordering, pick, place


class Knapsack(Set):
    r"""The fractional knapsack polytope :math:`\{0 \le x \le u,\ \langle a, x\rangle \le b\}`.

    Parameters
    ----------
    weights : array
        The weights a >= 0; their shape is the shape of x.
    capacity : float
        The capacity b, positive.
    upper : float or array
        The bounds u >= 0, 1 by default; infinity is allowed where the weight is positive.

    Notes
    -----
    The oracle takes the items with negative g_i in the order of g_i/a_i until the capacity is used
    up (Dantzig's rule): one sort, O(n log n). As x_i^2 <= u_i x_i, the maximum of <u, x>, also by
    that rule, bounds the square of the radius. Points with nonnegative entries are at most
    sqrt(2) R apart, and at most ||u||.

    Examples
    --------
    >>> K = Knapsack([2.0, 3.0, 4.0], capacity=5.0)
    >>> np.asarray(K.lmo(np.array([-4.0, -3.0, -8.0]))).round(6)
    array([1.  , 0.  , 0.75])
    """

    unconditional = True
    polytope = True
    summary = "{K.sizes}, capacity={K.capacity:g}"
    _derived = ("_loads",)
    price_names: ClassVar[dict[str, str]] = {"inequalities": "capacity"}

    @checked(capacity=extent)
    def __init__(self, weights: ArrayLike, capacity: float, upper: ArrayLike = 1.0) -> None:
        a = as_array(weights, "weights")
        if a.ndim == 0 or a.size == 0:
            raise ValueError(f"weights must be a non-empty array, found shape {a.shape}")
        negative = int((a < 0).sum())
        if negative:
            raise ValueError(f"weights must be nonnegative, found {negative} that are not")
        self.shape = tuple(a.shape)
        self.weights, self.capacity = a.astype(np.float64), capacity
        self.upper = self._bounds(upper)
        self._loads = (self.weights * self.upper).reshape(-1)
        best = self._fill(-self.upper.reshape(1, -1))[0]
        # a little more, for the rounding of the sum
        self.radius = scaled_norm(np.sqrt(self.upper.reshape(-1) * best)) * (1.0 + 1e-14)
        self.diameter = min(math.sqrt(2.0) * self.radius, scaled_norm(self.upper))

    def _bounds(self, upper: ArrayLike) -> Array:
        """Return the bounds, none larger than the capacity allows."""
        u = as_float_array(upper, "upper")
        try:
            u = np.broadcast_to(u, self.shape).astype(np.float64)
        except ValueError:
            raise ValueError(
                f"upper must be a number or have shape {self.shape}, found {u.shape}"
            ) from None
        negative = int((~(u >= 0)).sum())  # NaN included
        if negative:
            raise ValueError(f"upper must be nonnegative, found {negative} that are not")
        free = self.weights == 0.0
        endless = int(((u > MAX_SIZE) & free).sum())
        if endless:
            raise ValueError(
                f"upper must be finite where weights is 0, found {endless} that are not: the set "
                "is not compact"
            )
        with np.errstate(over="ignore", divide="ignore"):
            u = np.minimum(u, np.where(free, np.inf, self.capacity / self.weights))
        return check_size(u, "upper")

    def _lmo(self, g: Array) -> Dense:
        rows = g.reshape(-1, self.dimension)
        return Dense(in_chunks(self._fill, rows).reshape(g.shape), self.shape)

    def _fill(self, rows: Array) -> Array:
        rows, a = rows.astype(np.float64, copy=False), self.weights.reshape(-1)
        wanted = rows < 0
        with np.errstate(over="ignore", divide="ignore"):
            ratio = np.divide(rows, a, out=np.zeros(rows.shape), where=wanted)
        order = ordering(ratio)
        loads = pick(np.where(wanted, self._loads, 0.0), order)
        room = self.capacity - (np.cumsum(loads, axis=1) - loads)
        part = np.divide(np.clip(room, 0.0, loads), loads, out=np.ones(rows.shape), where=loads > 0)
        return np.where(wanted, place(order, part) * self.upper.reshape(-1), 0.0)

    def violation(self, x: Array) -> float:
        outside = max(-float(x.min()), float((x - self.upper).max()))
        size = scaled_norm(self.weights)
        if size == 0.0 or outside > self.radius:
            return outside
        return max(outside, (float((self.weights * x).sum()) - self.capacity) / size)

    def start(self) -> Array:
        return (0.5 * min(1.0, self.capacity / (float(self._loads.sum()) or 1.0))) * self.upper

    def _polyhedron(self) -> Polyhedron:
        weights, high = self.weights.reshape(1, -1), self.upper.reshape(-1)

        def rounded(z: Array) -> Array:
            x = np.clip(z, 0.0, high)
            load = float(weights[0] @ x)
            return (x * min(1.0, self.capacity / load) if load > 0.0 else x).reshape(self.shape)

        rows = Rows(weights, np.array([self.capacity]))
        return Polyhedron(np.zeros(len(high)), high, rounded, inequalities=rows)
