"""Growth-optimal portfolios: the logarithm of what a mixture of assets returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array, device_sum, fetch, matmul, namespace, norm, to_host
from ..problem import Evaluation, unit_of
from ..problem.rounding import MODEL
from ._base import LinearModel
from ._matrix import Matrix, Sizes

if TYPE_CHECKING:
    from ..sets import Set


class LogUtility(LinearModel):
    r"""Logarithmic utility, :math:`f(x) = -\frac1T \sum_t \log \langle r_t, x\rangle`.

    Its minimiser over the simplex is the growth-optimal portfolio (Kelly's, Cover's): what is held
    of asset i is the share x_i of the wealth, which is multiplied by :math:`\langle r_t, x\rangle`
    in period t.

    Parameters
    ----------
    returns : array (T, n), sparse matrix or linear operator
        Gross returns: entry (t, i) is what one unit of asset i becomes in period t, 1.02 for a gain
        of two per cent.

    Notes
    -----
    f is infinite where some :math:`\langle r_t, x\rangle \le 0`; it has no smoothness constant L.
    It is self-concordant, and its certificates use
    :math:`f^*(R'\theta) \le -1 - \frac1T\sum_t \log(-T\theta_t)`.

    Examples
    --------
    Cash, and a bet that triples the stake or loses it: a quarter is staked.

    >>> import numpy as np, wolfpack as wp
    >>> f = LogUtility([[1.0, 3.0], [1.0, 0.0]])
    >>> wp.minimize(f, wp.sets.Simplex(2)).x.round(2), f.value(np.array([0.0, 1.0]))
    (array([0.75, 0.25]), inf)

    References
    ----------
    T. Cover, An algorithm for maximizing expected log investment return, IEEE Transactions on
    Information Theory 30, 1984.
    """

    barrier = True

    def __init__(self, returns: Matrix) -> None:
        super().__init__(returns, "returns")
        if self.error:
            raise TypeError("returns must be float32 or float64, found half precision")
        self.n = self.A.shape[0]
        self.shape = (self.A.shape[1],)

    def loss(self, z: Array) -> tuple[float, Array]:
        if type(z) is np.ndarray:
            if not z.min() > 0.0:
                return math.inf, np.full_like(z, math.nan)
            return -float(np.log(z).sum(dtype=np.float64)) / self.n, -1.0 / (self.n * z)
        space = namespace(z)
        inside = z > 0.0
        safe = space.where(inside, z, 1.0 + 0.0 * z)
        beyond = math.inf + 0.0 * z
        values = space.where(inside, -space.log(safe), beyond)
        slopes = space.where(inside, -1.0 / (self.n * safe), beyond)
        return device_sum(values) / self.n, slopes

    def conjugate_bound(self, dual: Array) -> float:
        logarithms = namespace(dual).log(-self.n * dual)
        if type(dual) is np.ndarray:
            return -1.0 - float(logarithms.sum(dtype=np.float64)) / self.n
        return -1.0 - fetch(device_sum(logarithms))[0] / self.n

    def conjugate_and_error(self, dual: Array, length: float, sizes: Sizes) -> tuple[float, float]:
        return self.conjugate_bound(dual), 4.0 * sizes.terms * (1.0 + self._mean_size(dual))

    def value_error(self, x: Array, at: Evaluation, K: Set) -> float:
        r"""Return a bound on the error of f(x): that of a `LinearModel`, and what is its own.

        The logarithms may cancel. Beside the first order :math:`\|\theta\|\,\gamma\sigma` of an
        error in R x there is the second one, at most :math:`T (\|\theta\|\,\gamma\sigma)^2`.
        """
        error = super().value_error(x, at, K)
        sizes = None if self.in_double is not None else self._sizes(at.dual, K)
        if sizes is None:
            return error + MODEL * unit_of(x) * self._mean_size(at.dual)
        second = self.n * (sizes.product * norm(at.dual)) ** 2
        return error + second + sizes.terms * self._mean_size(at.dual)

    def _mean_size(self, dual: Array) -> float:
        """Return the mean of |log <r_t, x>|, which theta_t = -1/(T <r_t, x>) tells."""
        logarithms = abs(namespace(dual).log(-self.n * dual))
        return fetch(device_sum(logarithms))[0] / self.n

    def hessian_product(self, x: Array, d: Array) -> Array:
        z = matmul(self.A, x)
        return matmul(self._At, matmul(self.A, d) / (self.n * z * z))

    def image_metric(self, x: Array) -> Callable[[Sequence[Array]], np.ndarray]:
        z = to_host(matmul(self.A, x))

        def products(images: Sequence[Array]) -> np.ndarray:
            columns = np.stack([to_host(image) for image in images], axis=1) / z[:, None]
            return columns.T @ columns / self.n

        return products
