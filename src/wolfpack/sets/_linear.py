"""Systems of linear constraints: what linear and mixed-integer programs share."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import Bounds

from ..arrays import Array, as_float_array, check_finite, check_sparse
from ..atoms import Atoms, Bounded
from ..problem.checks import shown
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._batch import map_batch
from ._faces import balanced, longest
from ._highs import COST, Limits, Program, Solution
from ._repair import repaired

_INFINITE = 1e20
_LARGEST_ENTRY = 1e15
_EPS = float(np.finfo(np.float64).eps)
_ONE_BY_ONE_UP_TO = 128
"""If more bounds are missing, those of variables with one bound are computed all at once."""

Matrix: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix | None
BoundsLike: TypeAlias = Bounds | Sequence[object] | None
"""None, a pair, a sequence of pairs or scipy.optimize.Bounds."""


class ProgramAnswer(NamedTuple):
    """A minimiser of <c, x> and a lower bound on the minimum."""

    x: Array
    bound: float


class ProgramSet(Set):
    """A set whose oracle solves one program per direction, which also proves a lower bound."""

    polytope = True
    one_by_one = True

    @abstractmethod
    def _minimise(self, c: Array) -> ProgramAnswer:
        """Solve the program of one direction."""

    def _lmo(self, g: Array) -> Atoms:
        g = np.asarray(g, dtype=np.float64)
        rows = g.reshape(-1, self.shape[0])
        answers = map_batch(self._minimise, rows, self.releases_gil)
        if g.ndim == 1:
            return Bounded(answers[0].x, self.shape, answers[0].bound, g.copy())
        x, bounds = (np.array(column) for column in zip(*answers, strict=True))
        return Bounded(x, self.shape, bounds, g.copy())

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return the bound that came with the answer to ``g``; solve again for other vertices."""
        bound = vertex.bound_for(g) if isinstance(vertex, Bounded) else None
        return self._minimise(np.asarray(g, dtype=np.float64)).bound if bound is None else bound


class LinearSystem:
    r"""The polyhedron :math:`\{A_{ub} x \le b_{ub},\ A_{eq} x = b_{eq},\ \ell \le x \le u\}`.

    The arguments are those of `scipy.optimize.linprog`. It is an error if they do not fit together,
    or if there is no solution. ``low`` and ``high`` are finite once `bound_all` has been called;
    ``bounds`` are those that were given.
    """

    _derived = ("low", "high")

    def __init__(
        self,
        A_ub: Matrix,
        b_ub: ArrayLike | None,
        A_eq: Matrix,
        b_eq: ArrayLike | None,
        bounds: BoundsLike,
    ) -> None:
        self.A_ub, self.b_ub = _constraint(A_ub, b_ub, "ub")
        self.A_eq, self.b_eq = _constraint(A_eq, b_eq, "eq")
        sizes = {A.shape[1] for A in (self.A_ub, self.A_eq) if A is not None}
        if len(sizes) > 1:
            found = f"{self.A_ub.shape[1]} and {self.A_eq.shape[1]}"
            raise ValueError(f"A_ub and A_eq must have as many columns, found {found}")
        self.low, self.high = _bounds(bounds, sizes.pop() if sizes else None)
        self.bounds = self.low.copy(), self.high.copy()
        self.n = len(self.low)  # number of variables
        wrong = int((self.low > self.high).sum())
        if wrong:
            raise ValueError(
                f"bounds must have lower <= upper, found {wrong} of {self.n} pairs that have not"
            )
        limits = np.concatenate([self.low, self.high])
        for name, numbers in (("bounds", limits), ("b_ub", self.b_ub), ("b_eq", self.b_eq)):
            if numbers is not None:
                _check_size(numbers, name)
        if self.program().solve_anew(np.zeros(self.n)).status == "Infeasible":
            raise ValueError(
                "A_ub, b_ub, A_eq, b_eq and bounds must have a common solution, found none: "
                "the set is empty"
            )

    def bound_all(self) -> float:
        """Make all bounds finite, and return a number that no solution's norm exceeds.

        It is an error if a variable is not bounded.
        """
        program = self.program()
        free = np.isinf(self.low) & np.isinf(self.high)
        missing = int(np.isinf(self.low).sum() + np.isinf(self.high).sum())
        at_once = missing > _ONE_BY_ONE_UP_TO
        for j in np.flatnonzero(free if at_once else np.isinf(self.low) | np.isinf(self.high)):
            for sign, side in ((1.0, self.low), (-1.0, self.high)):
                if np.isinf(side[j]):
                    side[j] = sign * _least(program, sign * np.eye(self.n)[j], f"variable {j}")
        above, below = np.isinf(self.high), np.isinf(self.low)
        if not (above | below).any():
            return float(np.linalg.norm(np.maximum(abs(self.low), abs(self.high))))
        # the distance of a variable to its one bound is at most the largest sum of all of them
        direction = below.astype(float) - above
        ends = np.where(above, self.low, np.where(below, self.high, 0.0))
        reach = direction @ ends - _least(program, direction, "the sum of the variables")
        kept = np.where(above | below, abs(ends), np.maximum(abs(self.low), abs(self.high)))
        self.high[above], self.low[below] = ends[above] + reach, ends[below] - reach
        return float(np.linalg.norm(kept)) + reach

    def minimise(self, c: Array) -> ProgramAnswer:
        """Return a minimiser of <c, x>, and a bound that the dual solution proves.

        For any multipliers y_ub <= 0 and y_eq, with the rest r = c - A_ub' y_ub - A_eq' y_eq,

            min <c, x> >= <b_ub, y_ub> + <b_eq, y_eq> + sum_j min(r_j low_j, r_j high_j).

        The solver's tolerances can only make the multipliers worse. Rounding is subtracted.
        """
        largest = float(abs(c).max())
        unit = c / (largest or 1.0)
        found = self._program.solve(COST * unit) if largest else self._program.solve_anew(c)
        return self._proved(found, unit, largest, self.low, self.high)

    def minimise_within(self, c: Array, low: Array, high: Array) -> ProgramAnswer:
        """Return the same with other bounds on the variables, by a search from nothing."""
        largest = float(abs(c).max())
        unit = c / (largest or 1.0)
        return self._proved(self.solve_within(COST * unit, low, high), unit, largest, low, high)

    def _proved(
        self, found: Solution, unit: Array, largest: float, low: Array, high: Array
    ) -> ProgramAnswer:
        """Return a solution of costs ``largest * unit`` with the bound that its duals prove."""
        if found.status != "Optimal":
            raise RuntimeError(f"HiGHS found no minimiser: {found.status}")
        x = np.clip(found.x, low, high)
        if largest == 0.0:
            return ProgramAnswer(x, 0.0)
        rest, size, value, error = unit, abs(unit), 0.0, 0.0
        for A, b, y in self.with_multipliers(found._replace(duals=found.duals / COST)):
            if A is not None and b is not None:
                rest, size = rest - A.T @ y, size + abs(A).T @ abs(y)
                value, error = value + b @ y, error + abs(b) @ abs(y)
        value += np.minimum(rest * low, rest * high).sum()
        error += size @ np.maximum(abs(low), abs(high))
        rounding = _EPS * (self.n + len(found.duals) + 8) * error
        return ProgramAnswer(x, largest * float(value - rounding))

    def minimise_on_face(self, x: Array, c: Array, tol: float) -> Array:
        """Return a minimiser of <c, v> over the minimal face of ``x``.

        What is within ``tol`` of its limit at x is held there: bounds and inequalities.
        """
        cost = c * (COST / (float(abs(c).max()) or 1.0))
        found = Program(self._program.matrix, self._face(x, tol)).solve_anew(cost)
        if found.status != "Optimal":
            # x is near to limits that no point meets together: it keeps its own distances to them
            found = Program(self._program.matrix, self._face(x, tol, exact=False)).solve_anew(cost)
        if found.status != "Optimal":
            raise RuntimeError(
                f"HiGHS found no minimiser on the face of x, which has to be a point of the set: "
                f"{found.status}"
            )
        return self._inside(found)

    def _face(self, x: Array, tol: float, exact: bool = True) -> Limits:
        """Return the limits that hold x where it is within ``tol`` of its own.

        Without ``exact`` a variable or row may be as far from its limit as it is at x, so that x
        itself meets the new limits.
        """
        at_low, at_high = x <= self.low + tol, x >= self.high - tol
        least, most = (self.low, self.high) if exact else (x.clip(self.low), x.clip(max=self.high))
        low, high = np.where(at_high, most, self.low), np.where(at_low, least, self.high)
        limits = self._program.limits._replace(low=low, high=np.maximum(low, high))
        if self.A_ub is None:
            return limits
        image, size = self.A_ub @ x, np.asarray(abs(self.A_ub).sum(axis=1)).reshape(-1)
        tight = np.flatnonzero(self.b_ub - image <= tol * np.maximum(1.0, size))
        row_low = limits.row_low.copy()
        row_low[tight] = (self.b_ub if exact else np.minimum(image, self.b_ub))[tight]
        return limits._replace(row_low=row_low)

    def max_step(self, x: Array, d: Array) -> float:
        """Return the largest t with x + t d in the polyhedron."""
        step = min(longest(x - self.low, -d), longest(self.high - x, d))
        if self.A_ub is not None:
            step = min(step, longest(self.b_ub - self.A_ub @ x, self.A_ub @ d))
        if self.A_eq is not None and not balanced(self.A_eq @ d, abs(self.A_eq) @ abs(d)):
            return 0.0
        return step

    def violation(self, x: Array) -> float:
        """Return the largest violation of a constraint at ``x``."""
        worst = [np.max(self.low - x), np.max(x - self.high)]
        if self.A_ub is not None:
            worst.append(np.max(self.A_ub @ x - self.b_ub))
        if self.A_eq is not None:
            worst.append(np.max(abs(self.A_eq @ x - self.b_eq)))
        return float(np.max(worst))

    def polyhedron(self) -> Polyhedron:
        """Return the constraints as they were given, with a rule that makes points feasible."""
        low, high = self.bounds
        equations = None if self.A_eq is None else Rows(self.A_eq, self.b_eq)
        inequalities = None if self.A_ub is None else Rows(self.A_ub, self.b_ub)

        def rounded(z: Array) -> Array:
            return repaired(z, equations, inequalities, low, high)

        return Polyhedron(low, high, rounded, equations, inequalities)

    def complete(self, x: Array, fixed: Array, c: Array) -> Array | None:
        """Return a minimiser of <c, x> with the entries ``fixed`` of ``x``, None if none exists."""
        low, high = np.where(fixed, x, self.low), np.where(fixed, x, self.high)
        found = self.solve_within(c * (COST / (abs(c).max() or 1.0)), low, high)
        return np.clip(found.x, low, high) if found.status == "Optimal" else None

    def solve_within(self, c: Array, low: Array, high: Array) -> Solution:
        """Solve the program of costs c from scratch, with other bounds on the variables."""
        return self._program.solve_anew(c, (low, high))

    def with_multipliers(self, found: Solution) -> list[tuple[Array, Array, Array]]:
        """Return both kinds of constraints, A and b, with multipliers of the right sign."""
        above = 0 if self.b_ub is None else len(self.b_ub)
        y_ub, y_eq = np.minimum(found.duals[:above], 0.0), found.duals[above:]
        return [(self.A_ub, self.b_ub, y_ub), (self.A_eq, self.b_eq, y_eq)]

    def within(self, low: Array, high: Array) -> LinearSystem:
        """Return the system with other bounds on the variables."""
        other = copy.copy(self)
        vars(other).pop("_program", None)  # which has the bounds of this one
        other.low, other.high = low, high
        return other

    @cached_property
    def _program(self) -> Program:
        """The program whose oracle this is, once all bounds are known."""
        return self.program()

    def program(self, integer: Array | None = None, **options: float) -> Program:
        """Return the program of these constraints, with other costs each time that it is solved."""
        none = sparse.csr_array((0, self.n))
        rows = [none, *(A for A in (self.A_ub, self.A_eq) if A is not None)]
        above, equal = (np.zeros(0) if b is None else b for b in (self.b_ub, self.b_eq))
        row_low = np.concatenate([np.full(len(above), -np.inf), equal])
        limits = Limits(row_low, np.concatenate([above, equal]), self.low, self.high)
        return Program(sparse.vstack(rows), limits, integer, **options)

    def _inside(self, found: Solution) -> Array:
        return np.clip(found.x, self.low, self.high)


def _least(program: Program, c: Array, name: str) -> float:
    """Return a little less than min <c, x>, before all bounds are finite."""
    found = program.solve_anew(c)
    if found.status != "Optimal":
        raise ValueError(f"the constraints do not bound {name}: the set is not compact")
    least = float(c @ found.x)
    return least - 1e-6 * (1.0 + abs(least))


def _check_size(numbers: Array, name: str) -> None:
    """Raise if there are finite numbers that HiGHS would take as infinite."""
    count = int((np.isfinite(numbers) & (abs(numbers) >= _INFINITE)).sum())
    if count:
        raise ValueError(
            f"{name} has {count} finite numbers of {_INFINITE:g} or more, which HiGHS takes as "
            "infinite: measure x in a larger unit (wolfpack.sets.Scale)"
        )


def _constraint(A: Matrix, b: ArrayLike | None, kind: str) -> tuple[Array, Array]:
    """Return the matrix and the right-hand side as checked arrays, or (None, None)."""
    if A is None or b is None:
        if A is not None or b is not None:
            given, absent = ("A", "b") if b is None else ("b", "A")
            raise ValueError(f"{given}_{kind} needs {absent}_{kind}, found None")
        return None, None
    if sparse.issparse(A):
        check_sparse(A, f"A_{kind}")
        matrix: Array = sparse.csr_array(A)
        data = check_finite(as_float_array(matrix.data, f"A_{kind}"), f"A_{kind}")
        matrix = matrix.astype(data.dtype).astype(np.float64)
    else:
        matrix = check_finite(as_float_array(A, f"A_{kind}"), f"A_{kind}").astype(np.float64)
    right = check_finite(as_float_array(b, f"b_{kind}"), f"b_{kind}").astype(np.float64)
    if matrix.ndim != 2 or right.shape != matrix.shape[:1] or matrix.shape[1] == 0:
        raise ValueError(
            f"A_{kind} must be a matrix with one row per entry of b_{kind}, found shapes "
            f"{matrix.shape} and {right.shape}"
        )
    entries = matrix.data if sparse.issparse(matrix) else matrix
    largest = float(abs(entries).max(initial=0.0))
    if largest >= _LARGEST_ENTRY:
        raise ValueError(
            f"A_{kind} must have entries below {_LARGEST_ENTRY:g} for HiGHS, found {largest:g}: "
            "divide its rows, and the right-hand sides, by large numbers"
        )
    return matrix, right


def _bounds(bounds: BoundsLike, n: int | None) -> tuple[Array, Array]:
    """Return lower and upper bounds of all variables, infinite where there are none."""
    sides = _sides((0.0, None) if bounds is None else bounds)
    given = max(side.size for side in sides)
    if n is None and all(side.ndim == 0 for side in sides):
        raise ValueError("bounds must be one pair per variable where there are no constraints")
    shape = (given if n is None else n,)
    try:
        low, high = (np.broadcast_to(side, shape).astype(np.float64) for side in sides)
    except ValueError:
        raise ValueError(
            f"bounds must be one pair, or one for each of {shape[0]} variables, found {given}"
        ) from None
    if np.isnan([low, high]).any() or (low == np.inf).any() or (high == -np.inf).any():
        raise ValueError(
            f"bounds must be numbers, or None where there is none, found {shown(bounds)}"
        )
    return low, high


def _sides(bounds: Any) -> tuple[Array, Array]:
    """Return the columns of pairs (low, high) in which None stands for no bound."""
    if isinstance(bounds, Bounds):
        return np.asarray(bounds.lb), np.asarray(bounds.ub)
    wanted = f"bounds must be pairs (low, high), found {shown(bounds)}"
    try:
        table = np.array(bounds, dtype=object)
        absent = np.vectorize(lambda end: end is None, otypes=[bool])(table)
        if table.ndim not in (1, 2) or table.shape[-1] != 2:
            raise ValueError(wanted)
        table = np.where(absent, np.array([-np.inf, np.inf]), table).astype(np.float64)
    except Exception:  # of objects' own ``__array__`` too
        raise ValueError(wanted) from None
    return table[..., 0], table[..., 1]
