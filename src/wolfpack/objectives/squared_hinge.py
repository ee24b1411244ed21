"""The squared hinge loss of support vector machines."""

from __future__ import annotations

from ..arrays import Array, clip
from .finite_sum import SignLoss


class SquaredHinge(SignLoss):
    r"""Squared hinge, :math:`f(x) = \frac1{2n} \sum_i \max(0, 1 - b_i \langle a_i, x\rangle)^2`.

    Parameters
    ----------
    features, labels, reduction, batch
        As for `Logistic`.

    Notes
    -----
    :math:`L = \|A\|_2^2 / n`. In terms of the margin the conjugate is :math:`u + u^2/2`, u <= 0.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(np.eye(2), [1, 0]).value(np.zeros(2))
    0.5
    """

    unit_smoothness = 1.0

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        labels = self._of(self.labels, rows)
        short = clip(1.0 - labels * z, 0.0, None)
        return 0.5 * short * short, -labels * short

    def unit_conjugate(self, theta: Array) -> Array:
        u = clip(self.labels * theta, None, 0.0)
        return u * (1.0 + 0.5 * u)
