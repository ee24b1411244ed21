"""A smooth function that is known through random gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..arrays import Array
from ..problem import Evaluation
from ._base import Objective


class Stochastic(Objective):
    r"""A smooth convex function known through random gradients.

    Parameters
    ----------
    draw : callable
        ``(y, rng) -> g`` with :math:`E g = \nabla G(y)`; ``rng`` is a `numpy.random.Generator`, and
        all randomness must come from it.
    beta : float, optional
        Lipschitz constant of grad G.
    variance : float, optional
        A bound on :math:`E\|g - \nabla G(y)\|_*^2` for one draw; estimated when it is not given.
    shape : tuple of int, optional
        Shape of y.
    value : callable, optional
        ``y -> G(y)``, for the history. Without it the values of F are unknown (NaN). There is no
        certificate in either case.

    Examples
    --------
    >>> import numpy as np
    >>> G = Stochastic(lambda y, rng: y + rng.uniform(-1, 1, y.shape), beta=1.0, variance=2 / 3)
    >>> G.draw(np.ones(2), np.random.default_rng(0)).shape
    (2,)
    """

    def __init__(
        self,
        draw: Callable[[Array, np.random.Generator], Array],
        beta: float | None = None,
        variance: float | None = None,
        shape: tuple[int, ...] | None = None,
        value: Callable[[Array], float] | None = None,
    ) -> None:
        for name, argument in (("draw", draw), ("value", value)):
            if argument is not None and not callable(argument):
                raise TypeError(f"{name} must be callable, found {type(argument).__name__}")
        self.draw = draw
        self.L = self.beta = beta
        self.variance = variance
        self.shape = shape
        self.has_values = value is not None
        self._value = value

    def evaluate(self, x: Array) -> Evaluation:
        """Return the value, NaN when it is unknown; the exact gradient is not known."""
        return Evaluation(math.nan if self._value is None else float(self._value(x)), None, None)
