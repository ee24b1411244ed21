r"""What Algorithm 1 asks of the smooth part G.

Assumption 1 of the paper: the gradient g of a round has :math:`E g = \nabla G(v)` and
:math:`E\|g - \nabla G(v)\|_*^2 \le \sigma^2`. Here it is exact (sigma = 0), a uniform minibatch of
a sum, or the mean of calls of a user's function. All randomness of round k is drawn from the stream
(k, 0) of the seed, so that runs can be repeated, interrupted and resumed.
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
    norm_squared,
)
from ..problem import NonFiniteError

_PROBE = 2**33  # block of the streams that probe the curvature of G


class Gradient(NamedTuple):
    """The gradient of a round.

    Attributes
    ----------
    mean : array
        The gradient.
    dual : float, array or None
        The dual point of the certificate, where the gradient is exact.
    anchor : optional
        The control variate of the next round, None to keep the one in use.
    """

    mean: Array
    dual: Any
    anchor: Any = None


class Gradients(ABC):
    """Gradients of G, addressed by the round.

    Attributes
    ----------
    batch : int or "exact"
        Draws averaged in a round, when the solver does not say.
    per_pass : int
        Draws that amount to one pass over the data; 1 when there are no data.
    most : int
        More draws than this add nothing.
    """

    batch: Any = 1
    per_pass: int = 1
    most: int = 2**31
    exact: ClassVar[bool] = False

    def __init__(self, objective: Any, seed: int = 0) -> None:
        self.objective = objective
        self.streams = Streams(seed)

    @abstractmethod
    def _draw(self, v: Array, m: Any, rng: np.random.Generator, anchor: Any = None) -> Array:
        """Return the mean of ``m`` draws of the gradient at ``v``, all randomness from ``rng``."""

    def at(self, v: Array, k: int, m: Any, anchor: Any = None) -> Gradient:
        """Return the mean of ``m`` draws at ``v`` in round ``k``."""
        return Gradient(checked(self._draw(v, m, self.streams.at(k), anchor), v), None)

    def anchor(self, anchor: Any, y: Array, k: int, m: Any) -> Any:
        """Return where round ``k`` takes its control variate, given the last place and y_k."""
        return None

    def table(self, anchor: Any) -> Any:
        """Return what a control variate knows of the gradient of the loss, one entry per row."""
        raise NotImplementedError

    def read(self, m: Any, renewed: bool) -> int:
        """Return how many observations a round of ``m`` draws reads."""
        return m

    def variance(
        self, y: Array, m: Any, norm: str, draws: int = 32, k: int = 0, anchor: Any = None
    ) -> float:
        """Estimate E||g - grad G(y)||_*^2 for the mean of ``m`` draws, from repeated ones.

        Parameters
        ----------
        y : array
            Where.
        m : int
            Draws in a round.
        norm : "l2", "l1", or "l" and an exponent between
            The primal norm; the variance is measured in its dual.
        draws : int
            Repetitions.
        k : int
            Round that asks; the streams (k, 1), (k, 2), ... are not those of its gradient.
        anchor : optional
            The control variate in use.
        """
        streams = self.streams
        sample = [checked(self._draw(y, m, streams.at(k, 1 + j), anchor), y) for j in range(draws)]
        return spread(sample, norm)

    def curvature(self, y: Array, other: Array, k: int, m: Any, norm: str) -> float:
        """Return ||g(y) - g(other)||_* / ||y - other|| for the same ``m`` draws of round ``k``."""
        distance = norm_squared(other - y, norm)
        if distance == 0.0:
            return 0.0
        change = self._same(other, k, m) - self._same(y, k, m)
        return math.sqrt(dual_norm_squared(change, norm) / distance)

    def smoothness(self, y: Array, m: Any, norm: str, rounds: int = 30) -> float:
        """Estimate the smoothness of G near ``y`` by power iteration on differences of gradients.

        All of them come from the same ``m`` draws, so that their noise cancels; in other norms than
        l2 the Euclidean constant is an upper bound.
        """
        h = 1e-4 * (1.0 + math.sqrt(inner(y, y) / y.size))
        u = self.streams.at(0, _PROBE).standard_normal(y.shape)
        g, top = self._same(y, 0, m), 0.0
        for _ in range(rounds):
            u = u * (1.0 / math.sqrt(inner(u, u)))
            u = (self._same(y + h * u, 0, m) - g) / h
            size = math.sqrt(inner(u, u))
            if size <= top * (1 + 1e-3):
                break
            top = size
        return top

    def _same(self, y: Array, k: int, m: Any) -> Array:
        """Return the gradient of draws that depend on the round alone."""
        return checked(self._draw(y, m, self.streams.at(k, _PROBE)), y)


def spread(sample: list[Array], norm: str) -> float:
    """Return the variance of a sample of gradients, in the dual norm."""
    mean = sum(sample) / len(sample)
    return sum(dual_norm_squared(g - mean, norm) for g in sample) / (len(sample) - 1)


def checked(g: Any, v: Array) -> Array:
    """Return the gradient as an array of the shape of ``v``, refusing what is not finite."""
    g = as_float_array(g, "the stochastic gradient of G")
    if g.shape != v.shape:
        raise ValueError(f"the gradient of G must have y's shape {v.shape}, found {g.shape}")
    if not all_finite(g):
        raise NonFiniteError("G returned a NaN or infinite gradient")
    return g
