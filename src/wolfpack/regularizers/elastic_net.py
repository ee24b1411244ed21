"""The elastic net: l1 norm plus ridge."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_float_array, check_finite, clip
from ._base import Array, Ridged, nonnegative


class ElasticNet(Ridged):
    r"""The elastic net, :math:`H(y) = \ell_1 \|y\|_1 + \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    l1 : float or array
        Weight of the l1 norm, >= 0; an array that broadcasts to y has a weight for each entry.
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

    structured = True

    def __init__(self, l1: Any, mu: float) -> None:
        super().__init__(mu)
        if np.ndim(l1) == 0:
            self.l1: Any = nonnegative(l1, "l1")
        else:
            self.l1 = check_finite(as_float_array(l1, "l1"), "l1")
            nonnegative(self.l1.min(), "the smallest entry of l1")

    def rest(self, y: Array) -> float:
        return float((self.l1 * abs(y)).sum())

    def solve(self, g: Array, c: float) -> Array:
        # clip(g) - g is -sign(g) max(|g| - l1, 0), with a positive zero where g is small
        return (clip(g, -self.l1, self.l1) - g) / c

    def __repr__(self) -> str:
        l1 = f"{self.l1:g}" if np.ndim(self.l1) == 0 else f"{self.l1.size} weights"
        return f"ElasticNet(l1={l1}, mu={self.mu:g})"
