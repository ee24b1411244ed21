"""Polytopes given by linear constraints."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..atoms import Bounded
from ._base import Array, Set
from ._batch import map_batch
from ._linear import LinearSystem, bounded, proved


class LinearProgram(Set):
    r"""The polytope :math:`\{A_{ub} x \le b_{ub},\ A_{eq} x = b_{eq},\ \ell \le x \le u\}`.

    Parameters
    ----------
    A_ub, b_ub : array or sparse matrix, array
        The inequalities.
    A_eq, b_eq : array or sparse matrix, array
        The equations.
    bounds : pair or sequence of pairs (low, high), or scipy.optimize.Bounds
        Bounds on the variables, None for no bound. As in `scipy.optimize.linprog` the default is
        x >= 0.

    Notes
    -----
    The oracle is one linear program, by HiGHS's dual simplex method. `certify` does not trust the
    solver: it evaluates the dual function at the multipliers found. At construction one program
    tells whether there is a point; missing bounds are computed by further programs, and a set that
    is not bounded is an error. `radius` is that of the box of all bounds.

    Examples
    --------
    >>> import numpy as np
    >>> K = LinearProgram(A_ub=[[1.0, 2.0]], b_ub=[2.0])
    >>> K.lmo(np.array([-1.0, -1.0])).to_dense()
    array([2., 0.])
    """

    polytope: ClassVar[bool] = True
    one_by_one: ClassVar[bool] = True
    batch_hint: ClassVar[int | None] = 1

    def __init__(
        self,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = None,
    ) -> None:
        self.system = LinearSystem(A_ub, b_ub, A_eq, b_eq, bounds)
        self.shape = (self.system.n,)
        self._radius = self.system.bound_all()

    @property
    def radius(self) -> float:
        return self._radius

    @property
    def diameter(self) -> float:
        return min(2.0 * self.radius, float(np.linalg.norm(self.system.high - self.system.low)))

    def _lmo(self, g: Array) -> Bounded:
        g = np.asarray(g, dtype=np.float64)
        rows = g.reshape(-1, self.shape[0])
        return bounded(map_batch(self.system.minimise, rows), g, self.shape)

    def certify(self, g: Array, vertex: Any) -> float:
        return proved(self, g, vertex)

    def violation(self, x: Array) -> float:
        return self.system.violation(x)

    def __repr__(self) -> str:
        return f"LinearProgram({self.shape[0]} variables)"
