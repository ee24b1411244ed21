"""The elastic net: l1 norm plus ridge."""

from __future__ import annotations

import numpy as np

from ._base import Array, Ridged, nonnegative


class ElasticNet(Ridged):
    r"""The elastic net, :math:`H(y) = \ell_1 \|y\|_1 + \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    l1 : float
        Weight of the l1 norm, >= 0.
    mu : float
        Weight of the ridge, positive.

    Notes
    -----
    Its minimisation step is soft thresholding: entries of g below l1 in size give zeros.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(1.0, mu=2.0).argmin(np.array([4.0, -0.5]))
    array([-1.5,  0. ])
    """

    def __init__(self, l1: float, mu: float) -> None:
        super().__init__(mu)
        self.l1 = nonnegative(l1, "l1")

    def rest(self, y: Array) -> float:
        return self.l1 * float(abs(y).sum())

    def solve(self, g: Array, c: float) -> Array:
        # clip(g) - g is -sign(g) max(|g| - l1, 0), with a positive zero where g is small
        return (np.clip(g, -self.l1, self.l1) - g) / c

    def __repr__(self) -> str:
        return f"ElasticNet(l1={self.l1:g}, mu={self.mu:g})"
