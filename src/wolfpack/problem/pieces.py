"""Simple terms that are quadratic between kinks and bounds, one coordinate at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array


class Pieces(NamedTuple):
    r"""H as a sum over coordinates, :math:`\kappa_j |y_j| + \frac{\rho_j}{2} y_j^2` in a box.

    Attributes
    ----------
    ridge, kink : float or array
        The weights rho and kappa, which broadcast to y.
    low, high : array or None
        The bounds of all coordinates, None where there are none.
    """

    ridge: Any
    kink: Any = 0.0
    low: Array = None
    high: Array = None

    @property
    def smooth(self) -> bool:
        """Whether H is quadratic everywhere."""
        return self.low is None and not np.any(self.kink)

    def inside(self, y: Array) -> Array:
        """Tell which coordinates of ``y`` are neither at a kink nor at a bound."""
        inside = (y != 0.0) | (np.asarray(self.kink) == 0.0)
        return inside if self.low is None else inside & (y > self.low) & (y < self.high)

    def slopes(self, y: Array, gradient: Array) -> Array:
        """Return the least subgradient of G + H at ``y``, where ``gradient`` is that of G.

        It is 0 in the coordinates that no small move improves.
        """
        return least_slopes(gradient + self.ridge * y, y, self.kink, self.low, self.high)


def least_slopes(s: Array, y: Array, kink: Any, low: Array, high: Array) -> Array:
    """Return the least subgradient at ``y``, where ``s`` is the slope without kinks and bounds."""
    found: Any = s
    if np.any(kink):
        at_kink: Array = s - np.clip(s, -kink, kink)
        held: Array = (y == 0.0) & (np.asarray(kink) > 0.0)
        found = held * at_kink + ~held * (s + kink * np.sign(y))
    if low is not None:
        found = found * ~(((y <= low) & (found > 0.0)) | ((y >= high) & (found < 0.0)))
    return found
