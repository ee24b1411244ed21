"""Water filling: the level above which given masses hold a given total.

Projections onto simplices and l1 balls, in sums of nonnegative differences: the entries of a point
far away agree in their leading digits, and sums of the entries would keep nothing else.
"""

from __future__ import annotations

import numpy as np

from ._base import Array


def above_level(u: Array, weights: Array, total: float) -> Array:
    r"""Return max(u - t, 0) for the t with :math:`\sum_i w_i \max(u_i - t, 0) = s`.

    Parameters
    ----------
    u : array, shape (n,)
        Finite numbers.
    weights : array, shape (n,)
        The weights w > 0.
    total : float
        The number s > 0.

    Notes
    -----
    With u sorted downwards, the mass above u_k is :math:`F_k = \sum_{i<k} W_i (u_i - u_{i+1})`,
    :math:`W_i = w_1 + \dots + w_i`; for the last k with F_k < s the level is
    :math:`t = u_k - (s - F_k)/W_k`. The relative error is that of u, at any scale. O(n log n).
    """
    order = np.argsort(-u)
    sorted_u, mass = u[order], np.cumsum(weights[order])
    with np.errstate(over="ignore"):  # a mass of inf is above s, as it should
        above = np.cumsum(mass[:-1] * (sorted_u[:-1] - sorted_u[1:]))
        k = int(np.searchsorted(above, total))  # F_1 = 0 is left out
        depth = (total - (above[k - 1] if k else 0.0)) / mass[k]
        return np.maximum((u - sorted_u[k]) + depth, 0.0)
