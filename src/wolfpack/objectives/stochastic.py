r"""Stochastic gradients: what Algorithm 1 asks of the smooth part G.

Assumption 1 of the paper: the gradient g of a round has :math:`E g = \nabla G(v)` and
:math:`E\|g - \nabla G(v)\|_*^2 \le \sigma^2`. Here it is exact (sigma = 0), a uniform minibatch of
a sum, or the mean of calls of a user's function. All randomness of round k is drawn from the stream
(k, 0) of the seed, so that runs can be repeated, interrupted and resumed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Streams, all_finite, as_float_array, inner, own, to_host
from ..problem import Evaluation, NonFiniteError
from ._base import Array, Objective

_PROBE = 2**33  # block of the streams that probe the curvature of G


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
        ``y -> G(y)``, for the history. Without it the values of F are not known (NaN), and there is
        no certificate in either case.

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
        self.beta = beta
        self.variance = variance
        self.shape = shape
        self._value = value

    @property
    def L(self) -> float | None:
        return self.beta

    def evaluate(self, x: Array) -> Evaluation:
        """Return the value, NaN when it is not known; there is no gradient to certify with."""
        return Evaluation(
            float("nan") if self._value is None else float(self._value(x)), None, None
        )

    @property
    def has_values(self) -> bool:
        """Whether G(y) can be evaluated."""
        return self._value is not None


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
    def _draw(self, v: Array, m: Any, rng: np.random.Generator, anchor: Any = None) -> Array: ...

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


class ExactGradients(Gradients):
    """grad G itself."""

    batch = "exact"
    exact = True

    def __init__(self, objective: Any, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.per_pass = getattr(objective, "n", 1)

    def _draw(self, v: Array, m: Any, rng: np.random.Generator, anchor: Any = None) -> Array:
        return self.objective.gradient(v)

    def read(self, m: Any, renewed: bool) -> int:
        return self.per_pass

    def at(self, v: Array, k: int, m: Any, anchor: Any = None) -> Gradient:
        at = self.objective.evaluate(v)
        return Gradient(checked(at.gradient, v), at.dual)

    def variance(
        self, y: Array, m: Any, norm: str, draws: int = 32, k: int = 0, anchor: Any = None
    ) -> float:
        return 0.0


class Draws(Gradients):
    """Means of a user's random gradients."""

    def __init__(self, objective: Stochastic, batch: int = 1, seed: int = 0) -> None:
        super().__init__(objective, seed)
        self.batch = batch

    def _draw(self, v: Array, m: int, rng: np.random.Generator, anchor: Any = None) -> Array:
        # copies: a user's function may write into its argument, or return it
        draws = (self.objective.draw(own(v, v), rng) for _ in range(m))
        return next(draws) if m == 1 else sum(draws) / m


def spread(sample: list[Array], norm: str) -> float:
    """Return the variance of a sample of gradients, in the dual norm."""
    mean = sum(sample) / len(sample)
    return sum(dual_norm_squared(g - mean, norm) for g in sample) / (len(sample) - 1)


def dual_norm_squared(g: Array, norm: str) -> float:
    """Return ||g||_*^2, the squared dual norm: of "l2" it is l2, of "l1" l_inf."""
    if norm == "l2":
        return inner(g, g)
    g = to_host(g)
    top, p = float(abs(g).max()), norm_order(norm)
    if p == 1.0 or top == 0.0:
        return top**2
    return (top * float(((abs(g) / top) ** (p / (p - 1))).sum()) ** (1 - 1 / p)) ** 2


def norm_squared(y: Array, norm: str) -> float:
    """Return ||y||^2 in the norm "l2", "l1", or "l" and an exponent between."""
    if norm == "l2":
        return inner(y, y)
    p = norm_order(norm)
    return float((abs(to_host(y)) ** p).sum()) ** (2 / p)


def norm_order(norm: str) -> float:
    """Return the exponent p of a norm's name: 2 for "l2", 1.5 for "l1.5"."""
    return float(norm[1:])


def checked(g: Any, v: Array) -> Array:
    """Return the gradient as an array of the shape of ``v``, refusing what is not finite."""
    g = as_float_array(g, "the stochastic gradient of G")
    if g.shape != v.shape:
        raise ValueError(f"the gradient of G must have y's shape {v.shape}, found {g.shape}")
    if not all_finite(g):
        raise NonFiniteError("G returned a NaN or infinite gradient")
    return g
