"""The operator-norm (spectral-norm) ball of matrices."""

from __future__ import annotations

import math

from ..problem.checks import checked, extent
from .schatten_ball import SchattenBall


class OperatorNormBall(SchattenBall):
    r"""Matrices whose singular values are at most r, :math:`\{\|X\|_2 \le r\}`.

    Parameters
    ----------
    shape : tuple (p, q)
        Shape of the matrices.
    radius : float
        The bound r.

    Notes
    -----
    The oracle is -r U V' for the SVD g = U diag(s) V', the orthogonal factor of g's polar
    decomposition; the support function is r times the trace norm of g. One SVD,
    O(pq min(p, q)), vectorised over a batch. R_K is r sqrt(min(p, q)).

    Examples
    --------
    >>> import numpy as np
    >>> OperatorNormBall((2, 2)).support(np.array([[3.0, 0.0], [0.0, 4.0]]))
    7.0
    """

    summary = "{K.shape}, radius={K.r:g}"

    @checked(radius=extent)
    def __init__(self, shape: tuple[int, int], radius: float = 1.0) -> None:
        super().__init__(shape, math.inf, radius)
