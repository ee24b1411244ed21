"""Huber's robust regression."""

from __future__ import annotations

from ..arrays import Array, clip
from ..problem.checks import check_positive
from ._matrix import Matrix
from .finite_sum import RowLoss


class Huber(RowLoss):
    r"""Huber loss, :math:`f(x) = \frac1n \sum_i h(\langle a_i, x\rangle - b_i)`.

    :math:`h(r) = r^2/2` for :math:`|r| \le \delta` and :math:`\delta |r| - \delta^2/2` beyond.

    Parameters
    ----------
    features, reduction, batch
        As for `Logistic`.
    targets : array (n,)
        The numbers b_i.
    delta : float
        Where the loss turns linear, positive.

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
        features: Matrix,
        targets: Array,
        delta: float = 1.0,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.targets = self._targets(targets)
        check_positive("delta", delta)
        self.delta = float(delta)

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        residual = z - self._of(self.targets, rows)
        slopes = clip(residual, -self.delta, self.delta)
        return slopes * (residual - 0.5 * slopes), slopes

    def unit_conjugate(self, theta: Array) -> Array:
        theta = clip(theta, -self.delta, self.delta)
        return theta * (0.5 * theta + self.targets)
