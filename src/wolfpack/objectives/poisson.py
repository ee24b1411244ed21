"""Poisson regression of counts."""

from __future__ import annotations

import math

from ..arrays import Array, clip, namespace, xlogy
from ._matrix import Matrix
from .finite_sum import RowLoss


class Poisson(RowLoss):
    r"""Poisson loss with a log link, :math:`f(x) = \frac1n \sum_i \bigl(E(\langle a_i, x\rangle) -
    b_i \langle a_i, x\rangle\bigr)`.

    E is the exponential up to ``cap`` and its parabola of second order from there on: the
    exponential itself has no Lipschitz gradient. An x with :math:`\langle a_i, x\rangle \le` cap
    for all i (see `within_cap`) that is optimal here is optimal for the exponential too.

    Parameters
    ----------
    features, reduction, batch
        As for `Logistic`.
    counts : array (n,)
        The numbers b_i >= 0.
    cap : float, optional
        Largest log of a mean at which E is the exponential; by default log(max b) + 1.

    Notes
    -----
    :math:`L = e^{\mathrm{cap}} \|A\|_2^2 / n`, and :math:`E^*(s) = s \log s - s` for
    :math:`0 \le s \le e^{\mathrm{cap}}`.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson(np.eye(2), [0, 3]).gradient(np.zeros(2))
    array([ 0.5, -1. ])
    """

    def __init__(
        self,
        features: Matrix,
        counts: Array,
        cap: float | None = None,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.counts = self._targets(counts, "counts")
        xp = namespace(self.counts)
        smallest, largest = float(xp.min(self.counts)), float(xp.max(self.counts))
        if smallest < 0:
            raise ValueError(f"counts must be at least 0, found {smallest:g}")
        self.cap = math.log(max(largest, 1.0)) + 1.0 if cap is None else float(cap)
        if not -700 < self.cap < 700:
            raise ValueError(f"cap must be the log of a mean, between -700 and 700, found {cap!r}")
        self.top = math.exp(self.cap)
        self.unit_smoothness = self.top

    def within_cap(self, x: Array) -> bool:
        """Tell whether <a_i, x> <= cap for all rows, where the loss is the exponential's."""
        z = self.A @ x
        return float(namespace(z).max(z)) <= self.cap

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        counts = self._of(self.counts, rows)
        low = namespace(z).exp(clip(z, None, self.cap))
        over = clip(z - self.cap, 0.0, None)
        slopes = low * (1.0 + over)
        return low * (1.0 + over * (1.0 + 0.5 * over)) - counts * z, slopes - counts

    def unit_conjugate(self, theta: Array) -> Array:
        s = clip(theta + self.counts, 0.0, None)
        low, over = clip(s, None, self.top), clip(s / self.top - 1.0, 0.0, None)
        # beyond the cap z = cap + over, and E*(s) = s z - E(z)
        beyond = s * (self.cap + over) - self.top * (1.0 + over * (1.0 + 0.5 * over))
        return namespace(over).where(over > 0.0, beyond, xlogy(low, low) - low)
