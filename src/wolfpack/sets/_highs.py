"""A linear or mixed-integer program that stays open in HiGHS while its costs change.

Each linear program begins at the optimal basis of the last one. An answer must not depend on what
was asked before, so that it has the same bits in any worker. A program may have several optimal
bases though, and which of them the simplex method reaches depends on where it began.

Therefore two models are open. In the *generic* one all limits are widened, and all costs changed,
by small random numbers that are always the same. Its optimal basis is unique, unless it fails the
test below, and so does not depend on the basis that the search began with. The *true* model then
takes this basis. If it is optimal there, too, without a single iteration, then the answer follows
from the basis alone. Otherwise the true model is solved from scratch.

The test of uniqueness is strict complementarity: each variable and each row is either strictly
between its limits, or has a reduced cost that is not 0. Both hold by a margin of ten times the
solver's tolerance.
"""

from __future__ import annotations

import math
from collections import deque
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import Array, Streams
from ..problem import tick, time_left

COST = 2.0**20
"""Largest cost handed to the solver. Its tolerances are absolute: larger costs are more exact."""

_PRIMAL, _DUAL = 1e-10, 1e-7
"""The solver's tolerances on limits and on reduced costs."""
_MARGIN = 10.0
_WIDER = 1e-7  # by which limits are widened, relative to 1 + |limit|
_TILT = 1e-10  # by which costs are changed, relative to COST


class Limits(NamedTuple):
    """The limits of the rows A x and of the variables x, infinite where there are none."""

    row_low: Array
    row_high: Array
    low: Array
    high: Array


class Solution(NamedTuple):
    """What the solver found.

    Attributes
    ----------
    status : str
        "Optimal", "Infeasible", "Unbounded", "Time limit reached", or another word of HiGHS's.
    x : array or None
        The point, None where there is none.
    duals : array
        Multipliers of the rows; empty with integers.
    bound : float
        The lower bound on the minimum that branching has proved.
    """

    status: str
    x: Any
    duals: Array
    bound: float


class Program:
    """min <c, x> over the x with limits on A x and on x, for one c after another.

    Threads may share a program: each call takes an idle solver, or opens another one. Copies and
    unpickled programs open their own.

    Parameters
    ----------
    matrix : sparse matrix
        The matrix A.
    limits : Limits
        What A x and x must stay between.
    integer : array of bool, optional
        Which variables are integers.
    options : dict
        Options of HiGHS.
    """

    def __init__(
        self, matrix: Any, limits: Limits, integer: Array | None = None, **options: float
    ) -> None:
        self.matrix, self.limits = sparse.csc_array(matrix), limits
        self.integer, self.options = integer, options
        self._idle = _Idle()

    def solve(self, c: Array) -> Solution:
        """Solve the linear program of costs c, the largest of which is `COST`."""
        solver = self._take()
        found = solver.warm(c) or solver.cold(c)
        self._idle.append(solver)
        return found

    def solve_anew(self, c: Array, bounds: tuple[Array, Array] | None = None) -> Solution:
        """Solve the program of any costs from scratch, perhaps with other bounds on x."""
        solver = self._take()
        if bounds is not None:
            solver.bound(*bounds)
        found = solver.cold(c)
        if bounds is not None:
            solver.bound(self.limits.low, self.limits.high)
        self._idle.append(solver)
        return found

    def solve_integer(self, c: Array, begin: Array | None = None) -> Solution:
        """Solve the mixed-integer program of costs c; ``begin`` is a point to improve."""
        solver = self._take()
        found = solver.branch(c, begin)
        self._idle.append(solver)
        return found

    def _take(self) -> _Solver:
        # pop is atomic. A solver that failed is not returned, and a new one takes its place.
        try:
            return self._idle.pop()
        except IndexError:
            return _Solver(self.matrix, self.limits, self.integer, self.options)


class _Idle(deque["_Solver"]):
    """Solvers that wait for a question; none of them in a copy."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _Idle, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Idle)  # they hold nothing that an answer depends on

    __hash__ = None


class _Solver:
    """One thread's models of a program."""

    def __init__(
        self, matrix: Any, limits: Limits, integer: Array | None, options: dict[str, float]
    ) -> None:
        self.matrix, self.limits = matrix, limits
        self.columns = np.arange(matrix.shape[1], dtype=np.int32)
        self.exact = {"presolve": "off", "primal_feasibility_tolerance": _PRIMAL, **options}
        self.true = _model(matrix, limits, self.exact if integer is None else options, integer)

    @cached_property
    def generic(self) -> Any:
        return _model(self.matrix, self.widened, self.exact)

    @cached_property
    def widened(self) -> Limits:
        rng = Streams(0).at(0)

        def by(limits: Array) -> Array:
            size = 1.0 + np.where(np.isfinite(limits), abs(limits), 0.0)
            return _WIDER * size * rng.uniform(1.0, 2.0, len(limits))

        row_low, row_high, low, high = self.limits
        return Limits(
            row_low - by(row_low), row_high + by(row_high), low - by(low), high + by(high)
        )

    @cached_property
    def tilt(self) -> Array:
        return _TILT * COST * Streams(0).at(1).uniform(-1.0, 1.0, len(self.columns))

    def warm(self, c: Array) -> Solution | None:
        """Return the answer by the basis that is the only optimal one, None if it is not found."""
        generic, true = self.generic, self.true
        generic.changeColsCost(len(c), self.columns, c + self.tilt)
        self._run(generic)
        if _status(generic) != "Optimal" or not self._is_unique(generic.getSolution()):
            generic.clearSolver()
            return None
        true.changeColsCost(len(c), self.columns, c)
        true.setBasis(generic.getBasis())
        self._run(true)
        unmoved = true.getInfo().simplex_iteration_count == 0
        return _solution(true) if unmoved and _status(true) == "Optimal" else None

    def _is_unique(self, solution: Any) -> bool:
        """Tell whether the basis of an optimal solution of the generic model is the only one."""
        row_low, row_high, low, high = self.widened
        at = np.array(solution.row_value + solution.col_value)
        cost = abs(np.array(solution.row_dual + solution.col_dual))
        room = np.minimum(
            at - np.concatenate([row_low, low]), np.concatenate([row_high, high]) - at
        )
        return bool(((room > _MARGIN * _PRIMAL) ^ (cost > _MARGIN * _DUAL)).all())

    def cold(self, c: Array) -> Solution:
        """Return the answer by a search that begins from nothing."""
        true = self.true
        true.clearSolver()
        true.changeColsCost(len(c), self.columns, c)
        self._run(true)
        if _status(true) not in ("Optimal", "Infeasible", "Unbounded"):
            # perhaps tolerances that cannot be met
            true = _model(self.matrix, self.limits, {})
            true.changeColsCost(len(c), self.columns, c)
            self._run(true)
        return _solution(true)

    def bound(self, low: Array, high: Array) -> None:
        self.true.changeColsBounds(len(low), self.columns, low, high)

    def branch(self, c: Array, begin: Array | None) -> Solution:
        """Return the answer of a mixed-integer program."""
        true = self.true
        true.clearSolver()
        true.changeColsCost(len(c), self.columns, c)
        if begin is not None:
            true.setSolution(len(begin), self.columns, begin)
        self._run(true, branches=True)
        return _solution(true)

    def _run(self, model: Any, branches: bool = False) -> None:
        """Run a model, and raise `LimitReached` where the time of the run is over before it ends.

        HiGHS counts the seconds of linear programs from the model's first run on.
        """
        left = time_left()
        if left == math.inf:
            model.run()
            return
        tick()
        own = self.exact.get("time_limit", math.inf)
        most = left if branches else model.getRunTime() + left
        model.setOptionValue("time_limit", float(min(own, most)))
        model.run()
        model.setOptionValue("time_limit", float(own))
        tick()


def _model(
    matrix: Any, limits: Limits, options: dict[str, Any], integer: Array | None = None
) -> Any:
    """Return an instance of HiGHS that holds a program."""
    highspy = import_module("highspy")
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.row_lower_, lp.row_upper_, lp.col_lower_, lp.col_upper_ = limits
    lp.col_cost_ = np.zeros(matrix.shape[1])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    kinds = highspy.HighsVarType
    if integer is not None:
        lp.integrality_ = [kinds.kInteger if flag else kinds.kContinuous for flag in integer]
    model = highspy.Highs()
    for name, value in ({"output_flag": False, "parallel": "off"} | options).items():
        model.setOptionValue(name, value)
    model.passModel(lp)
    return model


def _status(model: Any) -> str:
    return model.modelStatusToString(model.getModelStatus())


def _solution(model: Any) -> Solution:
    info, found = model.getInfo(), model.getSolution()
    # 2 is "feasible"; a linear program that is optimal is that, too
    x = np.array(found.col_value) if info.primal_solution_status == 2 else None
    return Solution(_status(model), x, np.array(found.row_dual), float(info.mip_dual_bound))
