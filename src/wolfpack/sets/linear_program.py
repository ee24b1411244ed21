"""Polytopes given by linear constraints."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..atoms import Dense
from ..problem import Polyhedron
from ._faces import near
from ._linear import BoundsLike, LinearSystem, Matrix, ProgramAnswer, ProgramSet


class LinearProgram(ProgramSet):
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
    The oracle is one linear program, by HiGHS's dual simplex method. The program stays open, and
    each call begins at the last optimal basis; an answer does not depend on the calls before all
    the same (decision 0022). `certify` does not trust the solver: it evaluates the dual function
    at the multipliers found. At construction one program tells whether there is a point; missing
    bounds are computed by further programs, and a set that is not bounded is an error. `radius` is
    that of the box of all bounds.

    Examples
    --------
    >>> K = LinearProgram(A_ub=[[1.0, 2.0]], b_ub=[2.0])
    >>> K.lmo(np.array([-1.0, -1.0])).to_dense()
    array([2., 0.])
    """

    batch_hint = 1
    summary = "{K.shape[0]} variables"
    price_names: ClassVar[dict[str, str]] = {"equations": "b_eq", "inequalities": "b_ub"}

    def __init__(
        self,
        A_ub: Matrix = None,
        b_ub: ArrayLike | None = None,
        A_eq: Matrix = None,
        b_eq: ArrayLike | None = None,
        bounds: BoundsLike = None,
    ) -> None:
        self.system = LinearSystem(A_ub, b_ub, A_eq, b_eq, bounds)
        self.shape = (self.system.n,)
        self.radius = self.system.bound_all()
        box = float(np.linalg.norm(self.system.high - self.system.low))
        self.diameter = min(2.0 * self.radius, box)

    def _minimise(self, c: Array) -> ProgramAnswer:
        return self.system.minimise(c)

    def _lmo_face(self, x: Array, g: Array) -> Dense:
        return Dense(self.system.minimise_on_face(x, g, near(self, x)), self.shape)

    def _max_step(self, x: Array, d: Array) -> float:
        return self.system.max_step(x, d)

    def _polyhedron(self) -> Polyhedron:
        return self.system.polyhedron()

    def violation(self, x: Array) -> float:
        return self.system.violation(x)
