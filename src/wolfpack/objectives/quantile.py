"""Smoothed quantile regression."""

from __future__ import annotations

from ..arrays import Array, clip
from ..problem.checks import check_positive
from ._matrix import Matrix
from .finite_sum import RowLoss


class Quantile(RowLoss):
    r"""Smoothed pinball loss, :math:`f(x) = \frac1n \sum_i \rho(b_i - \langle a_i, x\rangle)`.

    :math:`\rho(r) = \max_{q-1 \le u \le q} u r - \tfrac\delta2 u^2` is within
    :math:`\tfrac\delta2 \max(q, 1-q)^2` below the pinball loss :math:`\max(q r, (q-1) r)`.

    Parameters
    ----------
    features, reduction, batch
        As for `Logistic`.
    targets : array (n,)
        The numbers b_i.
    q : float
        The quantile, between 0 and 1.
    delta : float
        Width of the smoothing, positive, in units of the targets.

    Notes
    -----
    :math:`L = \|A\|_2^2 / (n \delta)`.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(np.eye(2), [1.0, -1.0], q=0.9, delta=1e-6).gradient(np.zeros(2))
    array([-0.45,  0.05])
    """

    def __init__(
        self,
        features: Matrix,
        targets: Array,
        q: float = 0.5,
        delta: float = 0.1,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.targets = self._targets(targets)
        if not 0 < q < 1:
            raise ValueError(f"q must satisfy 0 < q < 1, found {q!r}")
        check_positive("delta", delta)
        self.q, self.delta = float(q), float(delta)
        self.unit_smoothness = 1.0 / self.delta

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        residual = self._of(self.targets, rows) - z
        u = clip(residual / self.delta, self.q - 1.0, self.q)
        return u * (residual - 0.5 * self.delta * u), -u

    def unit_conjugate(self, theta: Array) -> Array:
        theta = clip(theta, -self.q, 1.0 - self.q)
        return theta * (self.targets + 0.5 * self.delta * theta)
