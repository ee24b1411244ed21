r"""Tables of slopes: the gradient of a sum, as each of its rows has last seen it.

A sum :math:`f(x) = \sum_i \ell_i(\langle a_i, x\rangle)` has the gradient :math:`A'\theta` with the
slopes :math:`\theta_i = \ell_i'(\langle a_i, x\rangle)`. A round renews those of its own rows. For
any table :math:`\theta`, however old its entries are,
:math:`f(x) \ge \langle A'\theta, x\rangle - \sum_i \ell_i^*(\theta_i)`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Array, inner, like, take, zeros
from .control_variates import SlopeTable
from .rows import RowBatch


class Slopes(NamedTuple):
    r"""The slopes of all rows, with what averages of tables over the rounds need.

    For weights whose sum up to round k is :math:`N_k`, the average of the tables is
    :math:`\theta - c / N_k`, where c adds up :math:`N_j` times the change of round j. So an average
    over all rounds costs no more than the rows that a round has changed.

    Attributes
    ----------
    current : SlopeTable
        The slopes theta, zero for rows that no round has seen.
    gradient : array
        A' theta.
    changes : SlopeTable
        The sum c.
    change : array
        A' c.
    """

    current: SlopeTable
    gradient: Array
    changes: SlopeTable
    change: Array

    @classmethod
    def none_seen(cls, shape: tuple[int, ...], x: Array) -> Slopes:
        """Return the table before the first round, of the shape of A x, for points like ``x``."""
        first, other = (SlopeTable(zeros(shape, x)) for _ in range(2))
        return cls(first, 0.0 * x, other, 0.0 * x)

    def renewed(self, batch: RowBatch, slopes: Array, weight: float) -> Slopes:
        """Return the table with new slopes of the rows of a round, before which N_k = weight."""
        places = batch.places
        change = slopes - take(self.current.values, places)
        moved = batch.transposed @ change
        past = take(self.changes.values, places) + weight * change
        return Slopes(
            self.current.replaced(places, slopes),
            self.gradient + moved,
            self.changes.replaced(places, past),
            self.change + weight * moved,
        )

    def spread(self, batch: RowBatch, slopes: Array) -> float:
        r"""Return a measure of the variance of the gradient that `renewed` would make unbiased.

        It is :math:`\|\frac nm \sum_{i\in B} \pm (\theta_i' - \theta_i) a_i\|^2` with signs that
        alternate, for the m rows B of the round: as large as
        :math:`\frac{n^2}{m^2} \sum_{i\in B} (\theta_i' - \theta_i)^2 \|a_i\|^2` in the mean.
        """
        change = slopes - take(self.current.values, batch.places)
        signs = np.ones((len(batch.rows), *(1,) * (change.ndim - 1)))
        signs[1::2] = -1.0
        found = batch.weights * (batch.transposed @ (like(signs, change) * change))
        return inner(found, found)

    def average(self, weight: float) -> tuple[Array, Array]:
        """Return the average table of the rounds so far, N_k = weight, and A' of it."""
        theta = self.current.values - (1.0 / weight) * self.changes.values
        return theta, self.gradient - (1.0 / weight) * self.change
