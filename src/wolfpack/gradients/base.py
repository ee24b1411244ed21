r"""What Algorithm 1 asks of the smooth part G.

Assumption 1 of the paper: the gradient g of a round has :math:`E g = \nabla G(v)` and
:math:`E\|g - \nabla G(v)\|_*^2 \le \sigma^2`. It is exact (sigma = 0), a minibatch of a sum, the
next minibatches of a source, or the mean of calls of a user's function. All randomness of round k
is drawn from the stream (k, 0) of the seed, so that runs can be repeated, interrupted and resumed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import (
    Array,
    Streams,
    all_finite,
    as_float_array,
    dual_norm_squared,
    inner,
    like,
    norm_squared,
)
from ..objectives import Objective
from ..problem import NonFiniteError, spend_gradients
from .control_variates import ControlVariate

_PROBE = 2**33  # block of the streams that probe the curvature of G


class Gradient(NamedTuple):
    """The gradient of a round, which is the mean of the draws in ``sample``.

    ``dual`` is the dual point of the certificate and ``value`` that of G, where the gradient is
    exact; ``variate`` is the control variate of the next round.
    """

    mean: Array
    dual: Any = None
    variate: ControlVariate | None = None
    sample: Any = None
    value: Any = math.nan


class Gradients(ABC):
    """Gradients of G, addressed by the round.

    Attributes
    ----------
    batch : int or "exact"
        Draws averaged in a round, when the solver does not say.
    per_pass : int
        Draws that amount to one pass over the data; 1 when there are no data.
    max_draws : int
        More draws than this add nothing.
    exact : bool
        Whether the gradients are exact.
    reduction : str or None
        How their variance is reduced, if it is.
    """

    batch: int | str = 1
    per_pass: int = 1
    max_draws: int = 2**31
    exact: ClassVar[bool] = False
    reduction: str | None = None
    log: Any = None  # what the engine records, None without one

    def __init__(self, objective: Objective, seed: int = 0) -> None:
        self.objective: Any = objective
        self.streams = Streams(seed)

    @abstractmethod
    def draw(
        self, v: Array, m: Any, rng: np.random.Generator, variate: ControlVariate | None = None
    ) -> Array:
        """Return the mean of ``m`` draws at ``v``, with the random numbers of ``rng``."""

    def at(self, v: Array, k: int, m: Any, variate: ControlVariate | None = None) -> Gradient:
        """Return the mean of ``m`` draws at ``v`` in round ``k``."""
        return Gradient(checked(self.draw(v, m, self.streams.at(k), variate), v), None, variate)

    def variate(
        self, variate: ControlVariate | None, y: Array, k: int, m: Any
    ) -> ControlVariate | None:
        """Return the control variate of round ``k``, given that of the round before and y_k."""
        raise NotImplementedError

    def known(self, variate: Any) -> tuple[Array, Any]:
        """Return a gradient of G that a control variate knows, with its dual point."""
        raise NotImplementedError

    def largest_step(self) -> float | None:
        """Return the largest step of z that the noise of gradients allows, None for any."""
        return None

    @property
    def declared_smoothness(self) -> float | None:
        """The Lipschitz constant of the gradient that the objective declares, None for none."""
        return self.objective.L

    @property
    def independent(self) -> bool:
        """Whether the draws of different rounds are independent."""
        return True

    @property
    def in_blocks(self) -> bool:
        """Whether draws are a few fixed parts of the data."""
        return False

    def read(self, m: Any, renewed: bool) -> int:
        """Return how many observations a round of ``m`` draws reads.

        ``renewed`` tells whether the round has made a new control variate.
        """
        return m

    def along(self, sample: Any, v: Array, other: Array, norm: str) -> float:
        """Return <g(other) - g(v), other - v> / ||other - v||^2 for the draws of ``sample``."""
        raise NotImplementedError

    def variance(
        self,
        y: Array,
        m: Any,
        norm: str,
        draws: int = 32,
        k: int = 0,
        variate: ControlVariate | None = None,
    ) -> float:
        """Estimate E||g - grad G(y)||_*^2 for the mean of ``m`` draws, from repeated ones.

        ``norm`` is the primal norm, and the variance is measured in its dual. The random numbers
        come from the streams (k, 1), (k, 2), ..., which are not those of the gradient of round k.
        """
        if self.exact:
            return 0.0
        spend_gradients(draws)
        streams = self.streams
        sample = [checked(self.draw(y, m, streams.at(k, 1 + j), variate), y) for j in range(draws)]
        mean = sum(sample) / len(sample)
        return sum(dual_norm_squared(g - mean, norm) for g in sample) / (len(sample) - 1)

    def curvature(self, y: Array, other: Array, k: int, m: Any, norm: str) -> float:
        """Return ||g(y) - g(other)||_* / ||y - other|| for the same ``m`` draws of round ``k``."""
        distance = norm_squared(other - y, norm)
        if distance == 0.0:
            return 0.0
        change = self._probe(other, k, m) - self._probe(y, k, m)
        return math.sqrt(dual_norm_squared(change, norm) / distance)

    def smoothness(self, y: Array, m: Any, rounds: int = 30) -> float:
        """Estimate the smoothness of G near ``y`` by power iteration on differences of gradients.

        All of them come from the same ``m`` draws, so that their noise cancels. The constant is the
        Euclidean one, an upper bound on those of the other norms.
        """
        h = 1e-4 * (1.0 + math.sqrt(inner(y, y) / math.prod(y.shape)))
        u = like(self.streams.at(0, _PROBE).standard_normal(tuple(y.shape)), y)
        g, top = self._probe(y, 0, m), 0.0
        for _ in range(rounds):
            u = u * (1.0 / math.sqrt(inner(u, u)))
            u = (self._probe(y + h * u, 0, m) - g) / h
            size = math.sqrt(inner(u, u))
            if size <= top * (1 + 1e-3):
                break
            top = size
        return top

    def _probe(self, y: Array, k: int, m: Any) -> Array:
        """Return the gradient of draws that depend on the round alone, and count it."""
        spend_gradients()
        return checked(self.draw(y, m, self.streams.at(k, _PROBE)), y)


def checked(g: Any, v: Array) -> Array:
    """Return the gradient as an array of the shape of ``v``, refusing what is not finite."""
    if type(g) is not np.ndarray or g.dtype != np.float64:
        g = as_float_array(g, "the stochastic gradient of G")
    if g.shape != v.shape:
        raise ValueError(f"the gradient of G must have y's shape {v.shape}, found {g.shape}")
    if not all_finite(g):
        raise NonFiniteError("G returned a NaN or infinite gradient")
    return g
