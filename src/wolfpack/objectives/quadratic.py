"""General convex quadratics, with the matrix as an array or as a linear operator."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from ..arrays import as_float_array, check_finite, inner
from ..problem import Evaluation
from ._base import Array, Objective
from ._spectrum import largest_eigenvalue


class Quadratic(Objective):
    r"""A convex quadratic, :math:`f(x) = \tfrac12 \langle x, Q x\rangle + \langle c, x\rangle + r`.

    Parameters
    ----------
    Q : array (d, d), sparse matrix, linear operator, or positive number
        Symmetric positive semidefinite. A number stands for that multiple of the identity, for x
        of any shape; ``Quadratic(1.0, -t, 0.5 * (t @ t))`` is the projection onto K of t.
    c : array (d,) or any shape with a number for Q
        Linear term.
    r : float
        Constant term.

    Notes
    -----
    The certificate carries the twin point u with y = Q u + c, that is the average of the
    iterates, and f*(Q u + c) = <u, Q u>/2 - r.
    """

    def __init__(self, Q: Any, c: Any, r: float = 0.0) -> None:
        self.c = check_finite(as_float_array(c, "c"), "c")
        self.r = float(r)
        self.shape = tuple(self.c.shape)
        self.Q = self._check_matrix(Q)
        if not isinstance(self.Q, float | LinearOperator) and self.shape[0] <= 500:
            _ = self.L  # finds a negative eigenvalue while it is cheap to look

    def _check_matrix(self, Q: Any) -> Any:
        if isinstance(Q, int | float | np.number):
            if not (np.isfinite(Q) and Q > 0):
                raise ValueError(f"Q must be a positive number or a matrix, found {Q}")
            return float(Q)
        if self.c.ndim != 1:
            raise ValueError(f"with a matrix Q, c must be a vector, found shape {self.shape}")
        if isinstance(Q, LinearOperator):
            matrix = Q
        elif issparse(Q):
            matrix = Q.tocsr()
            check_finite(matrix.data, "Q")
        else:
            matrix = check_finite(as_float_array(Q, "Q"), "Q")
        n = self.c.shape[0]
        if tuple(matrix.shape) != (n, n):
            raise ValueError(f"Q must have shape {(n, n)} to match c, found {tuple(matrix.shape)}")
        if not isinstance(matrix, LinearOperator):
            scale = abs(matrix).max() if matrix.shape[0] else 0.0
            if abs(matrix - matrix.T).max() > 1e-10 * max(scale, 1e-300):
                raise ValueError("Q must be symmetric: use (Q + Q.T) / 2")
        return matrix

    def _apply(self, x: Array) -> Array:
        return self.Q * x if isinstance(self.Q, float) else self.Q @ x

    @cached_property
    def L(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.Q if isinstance(self.Q, float) else largest_eigenvalue(self.Q)

    def evaluate(self, x: Array) -> Evaluation:
        Qx = self._apply(x)
        value = 0.5 * inner(x, Qx) + inner(self.c, x) + self.r
        return Evaluation(value, Qx + self.c, x)

    def conjugate_bound(self, dual: Array) -> float:
        return 0.5 * inner(dual, self._apply(dual)) - self.r

    def curvature(self, x: Array, d: Array) -> float:
        return inner(d, self._apply(d))

    def hessian_product(self, x: Array, d: Array) -> Array:
        return self._apply(d)
