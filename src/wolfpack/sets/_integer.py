"""The integer points of a set: what branch and bound asks of K."""

from __future__ import annotations

import copy
import math
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from ..arrays import Array
from ..atoms import Atoms, Bounded
from ..problem import CapabilityError
from ..problem.polyhedron import Matrix, Rows
from ._base import Set
from ._batch import map_batch
from ._highs import COST
from ._linear import ProgramAnswer
from .birkhoff import Birkhoff
from .box import Box
from .capped_simplex import CappedSimplex
from .matching import Matching
from .mixed_integer import MixedInteger
from .simplex import Simplex
from .unit_hypersimplex import UnitHypersimplex
from .unit_simplex import UnitSimplex

_NEAR = 1e-9
"""How far a bound may be from an integer and still count as one."""


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


class IntegerHull(Set):
    r"""The hull of the points of K whose marked entries are integers, within bounds.

    Parameters
    ----------
    K : Set
        `MixedInteger`, or a set with linear constraints (`Set.polyhedron`).
    integer : array of bool
        Which entries are integers, flat.

    Notes
    -----
    Boxes, simplices with whole caps and totals, and the Birkhoff polytope keep integer vertices
    when bounds change, and their oracles need no program. All other sets become a mixed-integer
    program.
    """

    polytope = True
    one_by_one = True
    batch_hint = 1
    releases_gil = True

    def __init__(self, K: Set, integer: Array) -> None:
        self.K, self.integer = K, integer
        self.shape, self.radius, self.diameter = K.shape, K.radius, K.diameter
        self.oracle, low, high = _oracle_of(K, integer)
        self.low, self.high = _whole(low, high, integer)
        known = self._some_point()
        if known is None:
            raise ValueError(f"K = {K!r} has no point whose marked entries are integers")
        self._known = known

    def within(self, low: Array, high: Array, known: Array | None = None) -> IntegerHull | None:
        """Return the hull of the points with marked entries in [low, high], None if empty.

        ``known`` is one of these points, flat, if one is known.
        """
        part = copy.copy(self)
        part.low, part.high = self.low.copy(), self.high.copy()
        part.low[self.integer] = np.maximum(low, self.low[self.integer])
        part.high[self.integer] = np.minimum(high, self.high[self.integer])
        known = part._some_point() if known is None else known
        if known is None:
            return None
        part._known = known
        return part

    def prices(self, g: Array) -> tuple[float, Array] | None:
        """Return the level and the prices of the linear bound on <g, x> within the bounds."""
        return self.oracle.prices(g.reshape(-1).astype(np.float64), self.low, self.high)

    def violation(self, x: Array) -> float:
        flat = x.reshape(-1)
        worst = max(float((self.low - flat).max()), float((flat - self.high).max()))
        if isinstance(self.K, MixedInteger):
            return max(worst, self.K.system.violation(flat))
        return max(worst, float(self.K.violation(x)))

    def start(self) -> Array:
        return self._known.reshape(self.shape).copy()

    def _lmo(self, g: Array) -> Atoms:
        g = np.asarray(g, dtype=np.float64)
        rows = g.reshape(-1, self.dimension)
        answers = map_batch(self._answer_one, rows)
        x = np.array([found.x for found in answers]).reshape(g.shape)
        bounds = np.array([found.bound for found in answers])
        return Bounded(x, self.shape, bounds if g.ndim > len(self.shape) else bounds[0], g.copy())

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return the bound that came with the answer to ``g``; ask again for other vertices."""
        bound = vertex.bound_for(g) if isinstance(vertex, Bounded) else None
        if bound is None:
            c = np.asarray(g, dtype=np.float64).reshape(-1)
            bound = self._answer_one(c).bound
        return bound

    def _answer_one(self, c: Array) -> ProgramAnswer:
        return self.oracle.answer(c, self.low, self.high, self._known)

    def _some_point(self) -> Array | None:
        if (self.low > self.high).any():
            return None
        return self.oracle.some_point(self.low, self.high)

    def __repr__(self) -> str:
        return f"integer points of {self.K!r}"


class _Separable:
    """Every entry by itself."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        x = np.where(c < 0, high, low)
        return ProgramAnswer(x, float(c @ x))

    def some_point(self, low: Array, high: Array) -> Array | None:
        return low.copy()

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        return float(np.minimum(c * low, c * high).sum()), c


class _FixedTotal:
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


class _LargestTotal(_FixedTotal):
    """Entries with a whole sum at most: of negative costs, the cheapest are filled first."""

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        return super().answer(c, low, np.where(c < 0, high, low), known)

    def some_point(self, low: Array, high: Array) -> Array | None:
        return low.copy() if low.sum() <= self.total else None

    def _multiplier(self, c: Array, low: Array, high: Array) -> float:
        used_up = self.answer(c, low, high, low).x.sum() >= self.total
        return super()._multiplier(c, low, high) if used_up else 0.0


class _Assignment:
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
        return None

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


class _Program:
    """A mixed-integer program, solved by HiGHS."""

    def __init__(self, program: MixedInteger) -> None:
        self.program = program

    def answer(self, c: Array, low: Array, high: Array, known: Array) -> ProgramAnswer:
        inside = self._within(low, high)
        inside._known = known
        return inside._minimise(c)

    def some_point(self, low: Array, high: Array) -> Array | None:
        found = self.program.system.solve_within(np.zeros(len(low)), low, high)
        if found.status == "Infeasible":
            return None  # already without integrality, which is found out faster
        try:
            return self._within(low, high)._some_point()
        except ValueError:
            return None

    def prices(self, c: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        system, largest = self.program.system, float(abs(c).max()) or 1.0
        found = system.solve_within(c * (COST / largest), low, high)
        if found.status != "Optimal":
            return None
        r, level = c.copy(), 0.0
        for A, b, y in system.with_multipliers(found):
            if A is not None and b is not None:
                price = y * (largest / COST)
                r, level = r - A.T @ price, level + float(b @ price)
        return level + float(np.minimum(r * low, r * high).sum()), r

    def _within(self, low: Array, high: Array) -> MixedInteger:
        """Return the program with other bounds."""
        program = self.program
        inside = copy.copy(program)
        inside.system = program.system.within(low, high)
        inside._program = inside.system.program(program.integer, **program._program.options)
        return inside


def _oracle_of(K: Set, integer: Array) -> tuple[IntegerOracle, Array, Array]:
    """Return the oracle of the integer points of K, and the bounds of K."""
    n, every = K.dimension, bool(integer.all())
    if isinstance(K, MixedInteger):
        program = K if (integer == K.integer).all() else _marked(K, integer | K.integer)
        return _Program(program), program.system.low, program.system.high
    if isinstance(K, Box):
        return _Separable(), K.lower.reshape(-1), K.upper.reshape(-1)
    if isinstance(K, Simplex) and every and _is_whole(K.r):
        return _FixedTotal(K.r), np.zeros(n), np.full(n, K.r)
    if isinstance(K, CappedSimplex) and every and _is_whole(K.total):
        return _FixedTotal(K.total), np.zeros(n), K.caps.reshape(-1)
    if isinstance(K, UnitSimplex) and every and _is_whole(K.r):
        return _LargestTotal(K.r), np.zeros(n), np.full(n, K.r)
    if isinstance(K, UnitHypersimplex) and every:
        return _LargestTotal(K.k), np.zeros(n), np.ones(n)
    if isinstance(K, Matching) and K.program is not None:
        return _oracle_of(K.program, integer)
    if isinstance(K, Birkhoff) and every:
        return _Assignment(K.shape[0]), np.zeros(n), np.ones(n)
    if not K.has("polyhedron"):
        raise CapabilityError(_no_bounds(K))
    described = K.polyhedron()
    if not _is_identity(described.lift) or np.any(described.offset):
        raise CapabilityError(_no_bounds(K))
    equations, inequalities = described.equations, described.inequalities
    program = MixedInteger(
        *_rows(inequalities),
        *_rows(equations),
        bounds=list(zip(described.low, described.high, strict=True)),
        integrality=integer.astype(float),
    )
    return _Program(program), program.system.low, program.system.high


def _rows(rows: Rows | None) -> tuple[Matrix, Array | None]:
    """Return a system as `MixedInteger` takes it; one without rows is None."""
    return (None, None) if rows is None or not len(rows.right) else (rows.matrix, rows.right)


def _is_identity(lift: Matrix) -> bool:
    """Tell whether a map leaves every entry where it is."""
    if lift is None:
        return True
    n, d = lift.shape[1], lift.shape[0]
    return n == d and abs(sparse.csr_array(lift) - sparse.eye_array(n)).sum() == 0


def _marked(K: MixedInteger, integer: Array) -> MixedInteger:
    """Return the set with more integer entries."""
    system = K.system
    low, high = system.bounds
    return MixedInteger(
        system.A_ub,
        system.b_ub,
        system.A_eq,
        system.b_eq,
        list(zip(low, high, strict=True)),
        integer.astype(float),
        time_limit=K.time_limit,
        mip_gap=K.mip_gap,
    )


def _no_bounds(K: Set) -> str:
    return (
        f"minimize_integer needs a set whose oracle takes bounds on single entries: MixedInteger, "
        f"or a set with linear constraints in x itself; found K = {K!r}"
    )


def _whole(low: Array, high: Array, integer: Array) -> tuple[Array, Array]:
    """Return the bounds, those of integers rounded inwards."""
    low, high = low.astype(np.float64), high.astype(np.float64)
    low[integer] = np.ceil(low[integer] - _NEAR) + 0.0  # + 0.0 turns -0.0 into 0.0
    high[integer] = np.floor(high[integer] + _NEAR) + 0.0
    return low, high


def _is_whole(number: float) -> bool:
    return math.isfinite(number) and abs(number - round(number)) <= _NEAR
