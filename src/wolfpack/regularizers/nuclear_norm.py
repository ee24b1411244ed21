"""The nuclear norm plus a ridge."""

from __future__ import annotations

import numpy as np

from ._base import Array, Ridged, nonnegative


class NuclearNorm(Ridged):
    r"""Low rank, :math:`H(Y) = \gamma \|Y\|_* + \tfrac\mu2 \|Y\|_F^2` for matrices Y.

    Parameters
    ----------
    nuclear : float
        Weight gamma of the sum of the singular values, >= 0.
    mu : float
        Weight of the ridge, positive.

    Notes
    -----
    The minimisation step thresholds the singular values of -G at gamma: one full SVD, so for
    matrices of up to a few thousand rows. For larger ones see `wolfpack.sets.TraceNormBall`, whose
    oracle needs one singular pair.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearNorm(1.0, mu=2.0).argmin(np.diag([-5.0, 0.5])) + 0.0
    array([[2., 0.],
           [0., 0.]])
    """

    structured = True

    def __init__(self, nuclear: float, mu: float) -> None:
        super().__init__(mu)
        self.nuclear = nonnegative(nuclear, "nuclear")

    def rest(self, y: Array) -> float:
        return self.nuclear * float(np.linalg.svd(_matrix(y), compute_uv=False).sum())

    def solve(self, g: Array, c: float) -> Array:
        left, values, right = np.linalg.svd(-_matrix(g), full_matrices=False)
        rank = int(np.count_nonzero(values > self.nuclear))
        return (left[:, :rank] * ((values[:rank] - self.nuclear) / c)) @ right[:rank]

    def __repr__(self) -> str:
        return f"NuclearNorm(nuclear={self.nuclear:g}, mu={self.mu:g})"


def _matrix(y: Array) -> Array:
    if y.ndim != 2:
        raise ValueError(f"the nuclear norm needs y to be a matrix, found shape {tuple(y.shape)}")
    return y
