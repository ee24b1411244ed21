"""Huber's robust regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import clip
from ._base import Array
from ._rowwise import RowLoss


class Huber(RowLoss):
    r"""Huber loss, :math:`f(x) = \frac1n \sum_i h(\langle a_i, x\rangle - b_i)`: squares that grow
    linearly from delta on.

    :math:`h(r) = r^2/2` for :math:`|r| \le \delta` and :math:`\delta |r| - \delta^2/2` beyond.

    Parameters
    ----------
    features : array (n, d), sparse matrix or linear operator
        One row a_i per observation.
    targets : array (n,)
        The numbers b_i.
    delta : float
        Where the loss turns linear, positive.
    reduction : {"mean", "sum"}
        Divide by n or not.
    batch : int, optional
        As for `Logistic`.

    Notes
    -----
    :math:`L = \|A\|_2^2 / n`, and :math:`h^*(t) = t^2/2` for :math:`|t| \le \delta`. Gradients of
    single rows are bounded by :math:`\delta \|a_i\|`, so that their variance is bounded, unlike
    that of least squares.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(np.eye(2), [0.5, 3.0], delta=1.0, reduction="sum").value(np.zeros(2))
    2.625
    """

    unit_smoothness = 1.0

    def __init__(
        self,
        features: Any,
        targets: Any,
        delta: float = 1.0,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.targets = self._targets(targets)
        if not (np.isfinite(delta) and delta > 0):
            raise ValueError(f"delta must be a positive number, found {delta!r}")
        self.delta = float(delta)

    def unit(self, z: Array, rows: Any) -> tuple[Array, Array]:
        residual = z - self._of(self.targets, rows)
        slopes = clip(residual, -self.delta, self.delta)
        return slopes * (residual - 0.5 * slopes), slopes

    def unit_conjugate(self, theta: Array) -> Array:
        theta = clip(theta, -self.delta, self.delta)
        return theta * (0.5 * theta + self.targets)
