"""The hypersimplex: the convex hull of 0-1 vectors with k ones."""

from __future__ import annotations

import math

from ..problem.checks import Shape, as_shape, checked, count
from .capped_simplex import CappedSimplex


class Hypersimplex(CappedSimplex):
    r"""The convex hull of the 0-1 vectors with k ones, :math:`\{0 \le x \le 1,\ \sum_i x_i = k\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    k : int
        Number of ones, 1 <= k <= n.

    Notes
    -----
    The oracle selects the k smallest entries of g, O(n). The radius is sqrt(k), the diameter
    sqrt(2 min(k, n - k)).

    Examples
    --------
    >>> import numpy as np
    >>> np.asarray(Hypersimplex(4, 2).lmo(np.array([3.0, 1.0, 0.0, 2.0])))
    array([0., 1., 1., 0.])
    """

    summary = "{K.sizes}, k={K.k}"

    @checked(k=count)
    def __init__(self, n: Shape, k: int) -> None:
        shape = as_shape(n, "n")
        self.k = k
        if self.k > math.prod(shape):
            raise ValueError(f"k must be at most n = {math.prod(shape)}, found {k!r}")
        super().__init__(shape, 1.0, self.k)
