"""Schatten balls: matrices whose singular values lie in an l_p ball."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..arrays import Array
from ..atoms import Atoms, Dense
from ..problem.checks import as_matrix_shape, at_least, checked, extent
from ._ball import Ball
from ._laws import NoiseLike
from ._spectral import decomposed, singular_values
from ._spectral_bounds import schatten_ceiling
from .l2_ball import L2Ball
from .simplex import Simplex


class SchattenBall(Ball):
    r"""Matrices with :math:`(\sum_i \sigma_i^p)^{1/p} \le r`, the sum over singular values.

    Parameters
    ----------
    shape : tuple (p, q)
        Shape of the matrices.
    order : float
        The exponent, from 1 to infinity (included).
    radius : float
        The bound r.

    Notes
    -----
    With g = U diag(s) V' and s* the conjugate exponent of the order, the oracle is
    -r U diag(w) V', w_i = (s_i/||s||_{s*})^(s* - 1), and the support function is r ||s||_{s*}: one
    SVD, O(pq min(p, q)), vectorised over a batch; order 2 (the Frobenius ball) needs none.
    `certify` proves its bound from the residual of the SVD. For orders 1 and infinity use
    `TraceNormBall` and `OperatorNormBall`. The projection exists for orders 1, 2 and infinity.

    Examples
    --------
    >>> SchattenBall((2, 2), order=2).support(np.array([[3.0, 0.0], [0.0, 4.0]]))
    5.0
    """

    summary = "{K.shape}, order={K.order:g}, radius={K.r:g}"

    proof_calls = 1

    @checked(order=at_least(1), radius=extent)
    def __init__(self, shape: tuple[int, int], order: float, radius: float = 1.0) -> None:
        super().__init__(as_matrix_shape(shape, "shape"), radius)
        self.order = order
        self.strictly_convex = 1.0 < order < math.inf
        self._conjugate = 1.0 if self.order == math.inf else math.inf
        if 1.0 < self.order < math.inf:
            self._conjugate = self.order / (self.order - 1.0)
        self.radius = self.r * min(self.shape) ** max(0.0, 0.5 - 1.0 / self.order)

    def _lmo(self, g: Array) -> Dense:
        if self.order == 2:
            return L2Ball(self.shape, self.r)._lmo(g)
        U, s, Vt = decomposed(
            partial(np.linalg.svd, full_matrices=False), g.astype(np.float64, copy=False)
        )
        return Dense(-self.r * (U * self._weights(s)[..., None, :]) @ Vt, self.shape)

    def _weights(self, s: Array) -> Array:
        """Return the w >= 0 with ||w||_order = 1 that maximises <w, s>."""
        if self.order == math.inf:
            return np.ones_like(s)
        if self.order == 1:
            return np.where(np.arange(s.shape[-1]) == 0, 1.0, np.zeros_like(s))
        # dividing by the largest singular value keeps the powers in range
        top = s[..., :1]
        w = (s / np.where(top > 0, top, 1.0)) ** (self._conjugate - 1.0)
        length = (w**self.order).sum(axis=-1, keepdims=True) ** (1.0 / self.order)
        return w / np.where(length > 0, length, 1.0)

    def certify(self, g: Array, vertex: Atoms) -> float:
        if self.order == 2:
            return super().certify(g, vertex)
        return -self.r * schatten_ceiling(g, self._conjugate)

    def violation(self, x: Array) -> float:
        return self._norm(singular_values(x)) - self.r

    def _norm(self, s: Array) -> float:
        """Return the norm of singular values; powers are of s divided by the largest."""
        top = float(s[0])
        return top * float(np.linalg.norm(s / top, self.order)) if top > 0 else top

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        return L2Ball(self.shape, self.r).smoothed_at_zero(noise) if self.order == 2 else None

    def has(self, capability: str) -> bool:
        projects = self.order in (1.0, 2.0, math.inf)
        return super().has(capability) and (projects or capability != "project")

    def _reason(self, capability: str) -> str:
        return " (orders 1, 2 and inf have)" if capability == "project" else ""

    def _project(self, x: Array) -> Array:
        if self.order == 2:
            return L2Ball(self.shape, self.r)._project(x)
        U, s, Vt = np.linalg.svd(x, full_matrices=False)
        if self._norm(s) <= self.r:
            return x + 0.0
        kept = Simplex(s.size, self.r)._project(s) if self.order == 1 else np.minimum(s, self.r)
        return (U * kept) @ Vt
