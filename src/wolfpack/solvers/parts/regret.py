r"""What random gradients prove in expectation, and with a probability.

A run moves by :math:`x_{k+1} = (1-\gamma_k) x_k + \gamma_k u_k` and draws g_{k+1} at x_{k+1} after
u_k is chosen. With the averages

.. math:: \bar g_{k+1} = (1-\gamma_k) \bar g_k + \gamma_k g_{k+1}, \qquad
    \psi_{k+1} = (1-\gamma_k) \psi_k + \gamma_k \langle g_{k+1}, u_k\rangle

the number :math:`R_k = \psi_k - \min_{v\in K}\langle\bar g_k, v\rangle` bounds f(x_k) - min f in
expectation, whatever has chosen the u_k; so does :math:`R_k` plus a multiple of
:math:`D\sigma\sqrt{q_k}` with a probability (Proposition N4 of docs/theory/stochastic.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...arrays import Array, mix


class Regret(NamedTuple):
    """The averages so far: ``slope`` of g, ``product`` of <g, u>, ``spread`` the q_k above.

    The spread is the sum of the squares of the weights.
    """

    slope: Array
    product: float
    spread: float

    @classmethod
    def first(cls, g: Array, product: float) -> Regret:
        """Return the averages of one gradient, given with its product with the point."""
        return cls(g, product, 1.0)

    def plus(self, gamma: float, g: Array, product: float) -> Regret:
        """Return the averages with one more gradient, of weight gamma."""
        mean = (1.0 - gamma) * self.product + gamma * product
        spread = (1.0 - gamma) ** 2 * self.spread + gamma**2
        return Regret(mix(self.slope, g, gamma), mean, spread)

    def gap(self, least: float) -> float:
        """Return R_k, given the least <slope, v> over K."""
        return max(0.0, self.product - least)

    def deviation(self, diameter: float, variance: float, confidence: float) -> float:
        r"""Return how much more f(x_k) - min f may be than R_k, with the given probability.

        .. math:: D \sigma \sqrt{q_k (1-\delta)/\delta}, \qquad 1 - \delta = \text{confidence}

        This is Cantelli's inequality for a sum of martingale differences: it needs no more than a
        bound on the variance.
        """
        odds = confidence / (1.0 - confidence)
        return diameter * math.sqrt(max(0.0, variance) * self.spread * odds)
