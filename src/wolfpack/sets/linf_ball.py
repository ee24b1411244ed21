"""The l_infinity ball."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..arrays import Array
from ..problem.checks import Shape, as_shape, checked, extent
from ._prices import Prices
from .box import Box


class LinfBall(Box):
    r"""The ball of the largest entry, :math:`\{\|x\|_\infty \le r\}`.

    Parameters
    ----------
    n : int or tuple of int
        Dimension, or shape of x.
    radius : float
        The bound r.

    Notes
    -----
    The box [-r, r]^n: the oracle is -r sign(g) with sign(0) = 1, O(n), and its smoothing is
    separable. With Gaussian noise the smoothed argmax is r (2 Phi(y/alpha) - 1), with logistic
    noise r tanh(y / (2 alpha)).

    Examples
    --------
    >>> import numpy as np
    >>> LinfBall(2, radius=3.0).support(np.array([1.0, -2.0]))
    9.0
    """

    unconditional = True
    summary = "{K.sizes}, radius={K.r:g}"
    stack_axes: ClassVar[dict[str, int]] = {"radius": 0}

    @checked(radius=extent)
    def __init__(self, n: Shape, radius: float = 1.0) -> None:
        shape = as_shape(n, "n")
        self.r = radius
        super().__init__(np.full(shape, -self.r), np.full(shape, self.r))

    def _prices(self, g: Array) -> Prices:
        return {"radius": -float(abs(g).sum())}
