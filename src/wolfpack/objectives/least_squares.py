"""Least squares, for vectors and matrices."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, inner, inners, lazy_inner
from ._matrix import Matrix
from .finite_sum import FiniteSum, reduction_weight


class LeastSquares(FiniteSum):
    r"""Half the squared residual, :math:`f(x) = \tfrac12 \|A x - b\|^2`.

    Parameters
    ----------
    A : array (n, d), sparse matrix or linear operator
        Data matrix.
    b : array (n,) or (n, q)
        Right-hand side; with (n, q), x is a (d, q) matrix and the norm is Frobenius'.
    batch : int, optional
        Rows in the random minibatch that `minimize_composite` uses for its gradients; `minimize`
        uses the whole sum.
    reduction : {"sum", "mean"}
        "mean" divides by the number of rows.

    Notes
    -----
    Writable NumPy data are copied, here as in all objectives, so that changing them later changes
    nothing; pass read-only arrays (``A.flags.writeable = False``) or memory-mapped files where a
    copy would take too much memory.

    The gradient is A'(Ax - b), :math:`L = \|A'A\|_2` (spectral norm), and
    :math:`f^*(A'\theta) \le \tfrac12\|\theta\|^2 + \langle b, \theta\rangle`.

    Examples
    --------
    >>> import numpy as np
    >>> f = LeastSquares(np.eye(2), np.array([1.0, 0.0]))
    >>> f.value_and_gradient(np.array([0.0, 2.0]))
    (2.5, array([-1.,  2.]))
    """

    def __init__(
        self, A: Matrix, b: Array, batch: int | None = None, reduction: str = "sum"
    ) -> None:
        super().__init__(A, batch=batch)
        self.weight = reduction_weight(reduction, self.n)
        self.b = self._data(b, "b")
        if self.b.ndim not in (1, 2) or self.b.shape[0] != self.n:
            raise ValueError(
                f"b must have shape ({self.n},) or ({self.n}, q) to match A of shape "
                f"{tuple(self.A.shape)}, found {tuple(self.b.shape)}"
            )
        self.shape = (self.A.shape[1], *self.b.shape[1:])

    @property
    def loss_smoothness(self) -> float:
        return self.weight

    def loss(self, z: Array) -> tuple[float, Array]:
        residual = z - self.b
        value = 0.5 * self.weight * lazy_inner(residual, residual)
        return value, residual if self.weight == 1.0 else self.weight * residual

    def loss_conjugate(self, theta: Array) -> float:
        if type(theta) is np.ndarray:
            return 0.5 / self.weight * inner(theta, theta) + inner(self.b, theta)
        square, product = inners((theta, theta), (self.b, theta))
        return 0.5 / self.weight * square + product

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.weight * (z - self._of(self.b, rows))

    def curvature(self, x: Array, d: Array) -> float:
        image = self.A @ d
        return self.weight * inner(image, image)

    def hessian_product(self, x: Array, d: Array) -> Array:
        return self.weight * (self._At @ (self.A @ d))
