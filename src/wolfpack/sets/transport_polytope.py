"""Transport polytopes: nonnegative matrices with given row and column sums."""

from __future__ import annotations

import importlib
import math
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment, linprog

from ..arrays import Array, as_float_array, check_finite
from ..atoms import Sparse
from ..problem import CapabilityError
from ..problem.checks import checked, choice
from ._marginals import Marginals

_SOLVERS = ("auto", "assignment", "network", "highs")


class TransportPolytope(Marginals):
    r"""Transport plans :math:`\{X \ge 0,\ X 1 = a,\ X^\top 1 = b\}`.

    Parameters
    ----------
    a, b : arrays, shapes (p,) and (q,)
        Sums of rows and of columns: finite, nonnegative, with one positive total.
    solver : str
        "assignment" (SciPy; only for square plans whose sums are all equal), "network" (the network
        simplex of POT, an optional dependency), "highs" (the dual simplex of HiGHS through SciPy),
        or "auto": the first of these that can be used.

    Notes
    -----
    Vertices have at most p + q - 1 positive entries. The oracle is one transport problem per
    direction; directions are scaled to a largest entry of 1 first. Whatever the solver's
    tolerance, `certify` proves its bound by dual potentials. R_K is bounded through
    X_ij <= min(a_i, b_j), exactly when all sums are equal and when a = b; `project` is a
    semismooth Newton method on the dual.

    Examples
    --------
    >>> K = TransportPolytope([1.0, 2.0], [2.0, 1.0])
    >>> np.asarray(K.lmo(np.array([[0.0, 1.0], [0.0, 3.0]])))
    array([[0., 1.],
           [2., 0.]])
    """

    summary = "{K.shape}, total={K.total:g}"

    @checked(solver=choice(*_SOLVERS))
    def __init__(self, a: ArrayLike, b: ArrayLike, solver: str = "auto") -> None:
        self.a, self.b = _marginal(a, "a"), _marginal(b, "b")
        total, other = float(self.a.sum()), float(self.b.sum())
        if not math.isclose(total, other, rel_tol=1e-9):
            raise ValueError(f"a and b must have one total, found {total:.12g} and {other:.12g}")
        self.b *= total / other
        self.shape = (self.a.size, self.b.size)
        self.total = total
        self.solver = self._resolve(solver)
        if self.solver == "network":
            importlib.import_module("ot")  # takes seconds, which no run shall have to wait for
        # ||X||^2 <= sum_ij X_ij min(a_i, b_j) <= sum_i a_i min(a_i, max b), and by columns
        by_rows = self.a @ np.minimum(self.a, self.b.max())
        by_columns = self.b @ np.minimum(self.b, self.a.max())
        self.radius = math.sqrt(min(by_rows, by_columns))
        # <X, Y> >= 0 for nonnegative matrices
        self.diameter = self.radius * math.sqrt(2.0) if min(self.shape) > 1 else 0.0

    def _resolve(self, solver: str) -> str:
        p, q = self.shape
        level = bool(p == q and np.ptp(self.a) == 0 and np.ptp(self.b) == 0)
        if solver == "assignment" and not level:
            raise ValueError("solver='assignment' needs as many rows as columns and equal sums")
        if solver == "network" and find_spec("ot") is None:
            raise CapabilityError(
                "solver='network' needs POT: pip install 'wolfpack[transport]', or solver='highs'"
            )
        if solver != "auto":
            return solver
        return "assignment" if level else "network" if find_spec("ot") else "highs"

    def _lmo(self, g: Array) -> Sparse:
        g = g.astype(np.float64, copy=False)
        plans = [self._plan(row) for row in g.reshape(-1, *self.shape)]
        indices = np.zeros((len(plans), sum(self.shape) - 1), dtype=np.intp)
        values = np.zeros(indices.shape)
        for i, plan in enumerate(plans):
            flat = plan.reshape(-1)
            kept = np.flatnonzero(flat > 0)
            indices[i, : kept.size], values[i, : kept.size] = kept, flat[kept]
        answers = Sparse(indices, values, self.shape)
        return answers.take(0) if g.ndim == 2 else answers

    def _plan(self, g: Array) -> Array:
        """Return an optimal vertex as a dense array."""
        exponent = int(np.frexp(abs(g).max())[1])
        g = np.ldexp(g, -exponent)
        if self.solver == "assignment":
            plan = np.zeros(self.shape)
            plan[linear_sum_assignment(g)] = self.total / self.shape[0]
            return plan
        # sums of about 1 each, for solvers whose tolerance is absolute
        unit = self.total / max(self.shape)
        a, b = self.a / unit, self.b / unit
        return unit * (_by_network if self.solver == "network" else _by_highs)(a, b, g)

    def start(self) -> Array:
        return np.multiply.outer(self.a, self.b / self.total)


def _marginal(sums: ArrayLike, name: str) -> Array:
    array = check_finite(as_float_array(sums, name), name).astype(np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a vector of sums, found shape {array.shape}")
    negative = int((array < 0).sum())
    if negative:
        raise ValueError(f"{name} has {negative} negative entries of {array.size}")
    if not array.any():
        raise ValueError(f"{name} must have a positive total, found only zeros")
    return array


def _by_network(a: Array, b: Array, g: Array) -> Array:
    ot = importlib.import_module("ot")
    plan, log = ot.emd(a, b, g, numItermax=10**8, log=True)
    if log["warning"]:
        raise ArithmeticError(f"POT's network simplex failed: {log['warning']}")
    return plan


@lru_cache(maxsize=4)
def _sums(p: int, q: int) -> sp.csc_array:
    rows = sp.kron(sp.eye_array(p), np.ones((1, q)))
    columns = sp.kron(np.ones((1, p)), sp.eye_array(q))
    return sp.vstack([rows, columns], format="csc")


def _by_highs(a: Array, b: Array, g: Array) -> Array:
    # presolve finds nothing to remove here and takes more time than the simplex method
    options = {
        "presolve": False,
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
    }
    sums, totals = _sums(*g.shape), np.concatenate([a, b])
    result = linprog(g.reshape(-1), A_eq=sums, b_eq=totals, method="highs-ds", options=options)
    if result.status != 0:
        raise ArithmeticError(f"HiGHS failed on a transport problem: {result.message}")
    return result.x.reshape(g.shape)
