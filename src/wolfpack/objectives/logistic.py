"""Logistic regression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Array, clip, expit, softplus, xlogy
from .finite_sum import SignLoss


class Logistic(SignLoss):
    r"""Logistic loss, :math:`f(x) = \frac1n \sum_i \log(1 + e^{-b_i \langle a_i, x\rangle})`.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    labels : array (n,) or (n, q)
        Classes, as -1/+1 or as 0/1; with (n, q), x is a (d, q) matrix and q losses are added up.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
        Size of the random minibatch that `minimize_composite` uses for its gradients; `minimize`
        uses the whole sum.

    Notes
    -----
    :math:`L = \|A\|_2^2 / (4n)`. The conjugate of the loss is the negative binary entropy, and
    its domain is the range of the gradients of the loss.
    """

    unit_smoothness = 0.25

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        labels = self._of(self.labels, rows)
        margins = labels * z
        if type(margins) is not np.ndarray:
            return softplus(-margins), -labels * expit(-margins)
        small = np.exp(-abs(margins))  # one exponential for value and slope
        slopes = -labels * np.where(margins < 0.0, 1.0, small) / (1.0 + small)
        return _values(margins, small), slopes

    def unit_value(self, z: Array) -> Array:
        margins = self.labels * z
        if type(margins) is not np.ndarray:
            return softplus(-margins)
        return _values(margins, np.exp(-abs(margins)))

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.slopes_of(rows)(z)

    def slopes_of(self, rows: Array) -> Callable[[Array], Array]:
        against = -self._of(self.labels, rows)
        scaled = self.weight * against
        return lambda z: scaled * expit(against * z)

    def unit_conjugate(self, theta: Array) -> Array:
        # theta_i = -b_i p with p in [0, 1]: the conjugate is p log p + (1-p) log(1-p)
        p = clip(-self.labels * theta, 0.0, 1.0)
        return xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)


def _values(margins: Array, small: Array) -> Array:
    """Return log(1 + e^-t) for the margins t, without overflow, from e^-|t|."""
    return np.log1p(small) - np.minimum(0.0, margins)
