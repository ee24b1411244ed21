"""The integer points of a set: what branch and bound asks of K."""

from __future__ import annotations

import copy
import math

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..atoms import Atoms, Bounded
from ..problem import CapabilityError
from ..problem.polyhedron import Matrix, Rows
from ._base import Set
from ._batch import map_batch
from ._integer_oracles import (
    Assignment,
    Blocks,
    FixedTotal,
    IntegerOracle,
    LargestTotal,
    Separable,
    Unbranched,
)
from ._integer_programs import Branching, Network, is_network
from ._linear import ProgramAnswer
from .birkhoff import Birkhoff
from .box import Box
from .capped_simplex import CappedSimplex
from .matching import Matching
from .mixed_integer import MixedInteger
from .product import Product
from .simplex import Simplex
from .unit_hypersimplex import UnitHypersimplex
from .unit_simplex import UnitSimplex

_NEAR = 1e-9
"""How far a bound may be from an integer and still count as one."""


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
    when bounds change, and their oracles need no program. Transport plans, flows and other networks
    with whole data need a linear program. The factors of a product have oracles of their own; one
    without marked entries keeps its own. All other sets become a mixed-integer program.
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


def _oracle_of(K: Set, integer: Array) -> tuple[IntegerOracle, Array, Array]:
    """Return the oracle of the integer points of K, and the bounds of K."""
    n, every = K.dimension, bool(integer.all())
    if isinstance(K, MixedInteger):
        program = K if (integer == K.integer).all() else _marked(K, integer | K.integer)
        return _program_oracle(program)
    if isinstance(K, Product):
        return _blocks(K, integer)
    if not integer.any() and not K.has("polyhedron"):
        radius = np.full(n, K.radius)
        return Unbranched(K), -radius, radius
    if isinstance(K, Box):
        return Separable(), K.lower.reshape(-1), K.upper.reshape(-1)
    if isinstance(K, Simplex) and every and _is_whole(K.r):
        return FixedTotal(K.r), np.zeros(n), np.full(n, K.r)
    if isinstance(K, CappedSimplex) and every and _is_whole(K.total):
        return FixedTotal(K.total), np.zeros(n), K.caps.reshape(-1)
    if isinstance(K, UnitSimplex) and every and _is_whole(K.r):
        return LargestTotal(K.r), np.zeros(n), np.full(n, K.r)
    if isinstance(K, UnitHypersimplex) and every:
        return LargestTotal(K.k), np.zeros(n), np.ones(n)
    if isinstance(K, Matching) and K.program is not None:
        return _oracle_of(K.program, integer)
    if isinstance(K, Birkhoff) and every:
        return Assignment(K.shape[0]), np.zeros(n), np.ones(n)
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
    return _program_oracle(program)


def _blocks(K: Product, integer: Array) -> tuple[IntegerOracle, Array, Array]:
    """Return the oracle of a product, which asks each factor by itself, and the bounds."""
    sizes = [part.dimension for part in K.parts]
    flags = np.split(integer, np.cumsum(sizes)[:-1])
    found = [_oracle_of(part, own) for part, own in zip(K.parts, flags, strict=True)]
    oracles, low, high = zip(*found, strict=True)
    return Blocks(oracles, sizes), np.concatenate(low), np.concatenate(high)


def _program_oracle(program: MixedInteger) -> tuple[IntegerOracle, Array, Array]:
    system = program.system
    kind = Network if is_network(system) else Branching
    return kind(program), system.low, system.high


def own_integer(K: Set, otherwise: bool) -> Array:
    """Return which entries a set itself says to be integers, flat.

    A `MixedInteger` says it of each entry; those of other sets are what ``otherwise`` says.
    """
    if isinstance(K, MixedInteger):
        return K.integer
    if isinstance(K, Product):
        return np.concatenate([own_integer(part, otherwise) for part in K.parts])
    return np.full(K.dimension, otherwise)


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
