"""The squared hinge loss of support vector machines."""

from __future__ import annotations

from typing import Any

from ..arrays import clip
from ._base import Array
from ._rowwise import RowLoss


class SquaredHinge(RowLoss):
    r"""Squared hinge, :math:`f(x) = \frac1{2n} \sum_i \max(0, 1 - b_i \langle a_i, x\rangle)^2`.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    labels : array (n,) or (n, q)
        Classes, as -1/+1 or as 0/1; with (n, q), x is a (d, q) matrix and q losses are added up.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
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

    def __init__(
        self, features: Any, labels: Any, reduction: str = "mean", batch: int | None = None
    ) -> None:
        super().__init__(features, reduction, batch)
        self.labels = self._signs(labels)
        self.shape = (self.A.shape[1], *self.labels.shape[1:])

    def unit(self, z: Array, rows: Any) -> tuple[Array, Array]:
        labels = self._of(self.labels, rows)
        short = clip(1.0 - labels * z, 0.0, None)
        return 0.5 * short * short, -labels * short

    def unit_conjugate(self, theta: Array) -> Array:
        u = clip(self.labels * theta, None, 0.0)
        return u * (1.0 + 0.5 * u)
