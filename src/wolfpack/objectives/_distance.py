"""Half the squared distance of two points."""

from __future__ import annotations

import numpy as np
from scipy.sparse import eye_array, hstack

from ..arrays import Array, is_foreign, like
from .regression import LeastSquares


class HalfSquaredDistance(LeastSquares):
    """Half the squared distance of x and y, as a function of the vector that joins them.

    Parameters
    ----------
    n : int
        Entries of x, and of y.
    place : array, optional
        An array of the library and device to work on; NumPy by default, where A is sparse.
    """

    half_square = True

    def __init__(self, n: int, place: Array = None) -> None:
        unit = eye_array(n, format="csr")
        A, b = hstack([unit, -unit], format="csr"), np.zeros(n)
        if is_foreign(place):
            A, b = like(A.toarray(), place), like(b, place)
        super().__init__(A, b)
