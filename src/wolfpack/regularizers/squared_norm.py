"""The squared Euclidean norm (ridge)."""

from __future__ import annotations

from ._base import Array, Ridged


class SquaredNorm(Ridged, anywhere=True):
    r"""The ridge, :math:`H(y) = \tfrac\mu2 \|y\|_2^2`.

    Parameters
    ----------
    mu : float
        Positive weight, which is also the strong convexity constant.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredNorm(2.0).argmin(np.array([4.0, -2.0]))
    array([-2.,  1.])
    """

    def rest(self, y: Array) -> float:
        return 0.0

    def solve(self, g: Array, c: float) -> Array:
        return g / -c

    def __repr__(self) -> str:
        return f"SquaredNorm(mu={self.mu:g})"
