"""Convex hulls of the feasible points of mixed-integer linear programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, as_float_array
from ..problem.checks import checked, flag, nonnegative, optional, positive
from ._distance import separation
from ._highs import COST, Solution
from ._linear import BoundsLike, LinearSystem, Matrix, ProgramAnswer, ProgramSet

_ABSOLUTE_GAP = 2e-6
"""HiGHS drops branches that gain less than 1e-6 and stops at a gap of 1e-6, in spite of options."""

_LATE = "Time limit reached"


class MixedInteger(ProgramSet):
    r"""The hull :math:`\mathrm{conv}\{A_{ub} x \le b_{ub},\ A_{eq} x = b_{eq},\ \ell \le x \le u,\
    x_j \in \mathbb{Z}\ (j \in J)\}`.

    Parameters
    ----------
    A_ub, b_ub, A_eq, b_eq, bounds
        As for `LinearProgram`; x >= 0 by default.
    integrality : 0/1 or array of 0/1
        Which variables are integers; all of them by default.
    time_limit : float, optional
        Seconds that one oracle call may take. The best point found by then is the answer.
    mip_gap : float
        Relative gap at which a call may end.
    warm_start : bool
        Whether each call begins at the answer to the one before. It is faster, but which of several
        equally good points is the answer may then depend on the calls before: an engine or a
        resumed run need not give the same bits. The certificates are as good.

    Notes
    -----
    This set is a hull: it contains the feasible points and all mixtures of them. The answer of
    `wolfpack.minimize` is therefore a mixture of feasible points as a rule, and its integer entries
    are fractional. `wolfpack.minimize_integer` finds the best feasible point itself.

    The oracle is one mixed-integer program, by HiGHS; a batch runs in threads. `certify` is the
    solver's own lower bound, so a certificate stays right when a gap or a time limit makes an
    answer inexact. `violation` checks the constraints, then searches a direction that separates x
    from the hull by Wolfe's algorithm, one program per round. Costs are scaled to 2**20, so that
    the solver's absolute gap of 2e-6, which its bound is lowered by, is 2e-12 of the largest cost.

    Examples
    --------
    >>> K = MixedInteger([[2.0, 3.0]], [4.0], bounds=(0, 1))
    >>> K.lmo(np.array([-3.0, -4.0])).to_dense()
    array([0., 1.])
    """

    cheap_violation = False
    batch_hint = 1
    releases_gil = True
    _derived = ("warm_start",)

    @checked(time_limit=optional(positive), mip_gap=nonnegative, warm_start=flag)
    def __init__(
        self,
        A_ub: Matrix = None,
        b_ub: ArrayLike | None = None,
        A_eq: Matrix = None,
        b_eq: ArrayLike | None = None,
        bounds: BoundsLike = None,
        integrality: ArrayLike = 1,
        *,
        time_limit: float | None = None,
        mip_gap: float = 0.0,
        warm_start: bool = False,
    ) -> None:
        self.system = LinearSystem(A_ub, b_ub, A_eq, b_eq, bounds)
        self.shape = (self.system.n,)
        self.integer = _flags(integrality, self.system.n)
        self.time_limit, self.mip_gap, self.warm_start = time_limit, mip_gap, warm_start
        self._latest: Array | None = None  # the last answer
        self.system.bound_all()
        low, high = self.system.low, self.system.high
        # + 0.0 turns -0.0, which answers would inherit, into 0.0
        low[self.integer] = np.ceil(low[self.integer] - 1e-9) + 0.0
        high[self.integer] = np.floor(high[self.integer] + 1e-9) + 0.0
        self.radius = float(np.linalg.norm(np.maximum(abs(low), abs(high))))
        self.diameter = min(2.0 * self.radius, float(np.linalg.norm(high - low)))
        limit = {} if time_limit is None else {"time_limit": float(time_limit)}
        self._program = self.system.program(self.integer, mip_rel_gap=float(mip_gap), **limit)
        self._known = self._some_point()

    def _some_point(self) -> Array:
        nothing = np.zeros(self.system.n)
        empty = "constraints and integrality have no common solution: the set is empty"
        if (self.system.low > self.system.high).any():
            raise ValueError(empty)
        found = self._solve(nothing)
        if found.x is None and found.status == _LATE:
            raise ValueError(f"no point was found within time_limit={self.time_limit} seconds")
        point = None if found.x is None else self._feasible(found.x, nothing)
        if point is None:
            raise ValueError(empty)
        return point

    def violation(self, x: Array) -> float:
        outside = self.system.violation(x)
        if not outside <= 1e-9 * max(1.0, self.radius):
            return outside
        return max(outside, separation(self, x, rounds=200))

    def remark(self, x: Array) -> str:
        """Say that an answer is a mixture, if its integer entries are fractional."""
        parts = np.asarray(x)[self.integer]
        count = int((abs(parts - np.round(parts)) > 1e-6).sum())
        if not count:
            return ""
        return (
            f" The answer is a mixture of feasible points: {count} of {len(parts)} integer entries "
            "are fractional. wolfpack.minimize_integer finds the best feasible point."
        )

    def start(self) -> Array:
        return self._known.copy()

    def _minimise(self, c: Array) -> ProgramAnswer:
        largest = float(abs(c).max())
        if largest == 0.0:
            return ProgramAnswer(self._known.copy(), 0.0)
        if not self.integer.any():
            return self.system.minimise(c)
        unit = c / largest
        solved = self._solve(COST * unit)
        found = None if solved.x is None else self._feasible(solved.x, unit)
        x = self._known.copy() if found is None else found
        self._latest = x if self.warm_start else None
        ends = np.minimum(unit * self.system.low, unit * self.system.high)
        bound = float(ends.sum()) - 1e-12 * float(abs(ends).sum())
        proved = (solved.bound - _ABSOLUTE_GAP * (1.0 + abs(unit @ x))) / COST
        return ProgramAnswer(x, largest * min(max(bound, float(proved)), float(unit @ x)))

    def _solve(self, c: Array) -> Solution:
        found = self._program.solve_integer(c, self._latest)
        if found.status not in ("Optimal", "Infeasible", _LATE):
            raise RuntimeError(f"{self}: HiGHS failed: {found.status}")
        return found

    def _feasible(self, x: Array, c: Array) -> Array | None:
        """Return ``x`` with integers rounded and the other variables adapted, if possible."""
        whole = np.round(x) + 0.0  # no -0.0
        x = np.clip(np.where(self.integer, whole, x), self.system.low, self.system.high)
        if self.system.violation(x) <= 1e-10 * max(1.0, self.radius):
            return x
        return self.system.complete(x, self.integer, c)

    def __repr__(self) -> str:
        integers = int(self.integer.sum())
        return f"MixedInteger({self.shape[0]} variables, {integers} integers)"


def _flags(integrality: ArrayLike, n: int) -> Array:
    """Return which variables are integers."""
    flags = as_float_array(integrality, "integrality")
    if flags.shape not in ((), (n,)) or not np.isin(flags, (0.0, 1.0)).all():
        raise ValueError(
            f"integrality must be 0 or 1, or an array of them of length {n}, found {integrality!r}"
        )
    return np.broadcast_to(flags == 1.0, (n,)).copy()
