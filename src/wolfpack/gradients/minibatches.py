r"""Minibatches of a finite sum: which rows a round sees, and how their variance is reduced.

With rows drawn with probabilities :math:`p_i` and weights :math:`1/(m p_i)` the mean of the
minibatch gradient is :math:`\nabla G(v)`. So is that of

.. math:: g = \frac1m \sum_{i \in B} \frac{1}{p_i} \bigl(\nabla \ell_i(v) -
    \nabla \ell_i(y_i)\bigr) + \sum_i \nabla \ell_i(y_i)

for any points :math:`y_i` that were chosen before the rows: where each row was last seen
("saga": A. Defazio, F. Bach, S. Lacoste-Julien, SAGA, NIPS 2014), or one anchor for all of them,
moved now and then ("svrg": R. Johnson, T. Zhang, Accelerating stochastic gradient descent using
predictive variance reduction, NIPS 2013). The variance vanishes with the distances of v and the
:math:`y_i` from the minimum: Theorem 1 holds with a sigma that shrinks along the run. For
:math:`\ell_i(\langle a_i, y\rangle)` one number per row is kept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import inner, is_foreign, library, like, norm_squared, take, zeros
from ..objectives._base import Array
from ..objectives.finite_sum import FiniteSum
from .base import Gradient, Gradients, checked
from .rows import SAMPLINGS, Choice

REDUCTIONS = ("saga", "svrg")
_PERIOD = 2  # passes between anchors
_PACE = 2.0  # largest step of z, over the inverse of the noise


class Anchor(NamedTuple):
    """The control variate: what is known of each row's gradient.

    Attributes
    ----------
    k : int
        The round that last changed it.
    theta : array
        Gradients of the loss, one per row, in the order in which a copy has the rows if there is
        one (`Minibatches.table` returns them in their own). "saga" writes them in place: the
        entries ``rows`` are still to be replaced by ``fresh``, which may be done any number of
        times, so that the last state of a run is whole even if the round after it was cut short.
    gradient : array
        Their sum A' theta, with the fresh entries.
    rows, fresh : array or None
        See above.
    """

    k: int
    theta: Array
    gradient: Array
    rows: Any = None
    fresh: Any = None

    def settle(self) -> None:
        """Write the fresh entries into the table."""
        if self.rows is not None:
            self.theta[self.rows] = self.fresh


class Minibatches(Gradients):
    """Gradients of a sum over a few of its rows.

    Parameters
    ----------
    objective : FiniteSum
        G.
    batch : int
        Rows in a round.
    seed : int
        Seed of the streams.
    sampling : {"uniform", "importance", "shuffle", "blocks", "turns", "windows"}
        Which rows a round sees: see `wolfpack.objectives.rows`.
    reduced : bool, "saga" or "svrg"
        Use control variates: each row's gradient where it was last seen (True, "saga"), or those at
        an anchor that moves after every two passes, which costs a pass.
    """

    def __init__(
        self,
        objective: FiniteSum,
        batch: int,
        seed: int = 0,
        sampling: str = "uniform",
        reduced: bool | str = False,
    ) -> None:
        super().__init__(objective, seed)
        self.batch = objective.check_batch(batch)
        self.per_pass = self.most = objective.n
        self.sampling = sampling
        self.reduced = "saga" if reduced is True else reduced
        if self.reduced == "saga" and library(objective.like) == "jax":
            raise TypeError(
                "the table of gradients is written in place, and arrays of JAX cannot be: take "
                "variance_reduction='svrg'"
            )
        self.rows = SAMPLINGS[sampling](objective, self.batch, self.streams)
        self._last: Array | None = None
        self._round: tuple[Any, Any, Any] = (None, None, None)

    def at(self, v: Array, k: int, m: Any, anchor: Any = None) -> Gradient:
        if m >= self.objective.n:
            return super().at(v, k, m)
        chosen = self.rows.of_round(k, m)
        image = chosen.part @ v
        slopes = chosen.slopes(image)
        self._round = chosen, image, slopes
        if anchor is None or self.reduced != "saga":
            return Gradient(checked(_around(chosen, slopes, anchor), v), None)
        mean, moved = self._saga(chosen, slopes - anchor.theta[chosen.places])
        table = Anchor(k, anchor.theta, anchor.gradient + moved, chosen.places, slopes)
        return Gradient(checked(mean + anchor.gradient, v), None, table)

    def anchor(self, anchor: Any, y: Array, k: int, m: Any) -> Any:
        G = self.objective
        if not self.reduced or m >= G.n:
            return None
        if self.reduced == "saga":
            if anchor is None:
                # nothing has been seen: the first gradients are plain ones
                return Anchor(k, zeros(G.image_shape, y), 0.0 * y)
            anchor.settle()
            return anchor
        if anchor is not None and (k - anchor.k) * m < _PERIOD * G.n:
            return anchor
        at, order = G.evaluate(y), self.rows.order
        return Anchor(k, at.dual if order is None else take(at.dual, order), at.gradient)

    def table(self, anchor: Any) -> Any:
        anchor.settle()
        order = self.rows.order
        if order is None:
            return anchor.theta
        return take(anchor.theta, np.argsort(order))

    def read(self, m: Any, renewed: bool) -> int:
        n = self.objective.n
        return min(m, n) + (n if renewed and self.reduced == "svrg" else 0)

    def along(self, v: Array, other: Array, norm: str) -> float:
        """Return <g(other) - g(v), other - v> / ||other - v||^2 for the rows of the last round."""
        chosen, image, slopes = self._round
        distance = norm_squared(other - v, norm)
        if distance == 0.0:
            return 0.0
        image_other = chosen.part @ other
        change = chosen.slopes(image_other) - slopes
        return inner(_weighted(chosen.weights, change), image_other - image) / distance

    def _draw(self, v: Array, m: int, rng: np.random.Generator, anchor: Any = None) -> Array:
        if m >= self.objective.n:
            return self.objective.gradient(v)
        if anchor is not None:
            anchor.settle()
        chosen = self.rows.draw(m, rng)
        slopes = chosen.slopes(chosen.part @ v)
        return _around(chosen, slopes, anchor)

    def _saga(self, chosen: Choice, change: Array) -> tuple[Array, Array]:
        """Return the weighted sum of the changes of the rows, and the plain one."""
        rows, weights, part, transposed = chosen[:4]
        if not isinstance(weights, np.ndarray):
            moved = transposed @ change
            return weights * moved, moved
        # a row drawn twice changes the table once
        last = np.empty(self.objective.n, np.intp) if self._last is None else self._last
        numbers = np.arange(len(rows))
        last[rows], self._last = numbers, last
        once = _weighted(last[rows] == numbers, change)
        if change.ndim == 1 and isinstance(part, np.ndarray):
            both = transposed @ np.stack([weights * change, once], axis=1)
            return both[:, 0], both[:, 1]
        return transposed @ _weighted(weights, change), transposed @ once


def _around(chosen: Choice, slopes: Array, anchor: Any) -> Array:
    """Return the gradient over the given rows, around the anchor if there is one."""
    if anchor is None:
        return chosen.transposed @ _weighted(chosen.weights, slopes)
    change = slopes - anchor.theta[chosen.places]
    return chosen.transposed @ _weighted(chosen.weights, change) + anchor.gradient


def _weighted(weights: Any, slopes: Array) -> Array:
    """Return the slopes, one row per observation, times their weights."""
    if isinstance(weights, np.ndarray) and slopes.ndim > 1:
        weights = weights[:, None]
    return (like(weights, slopes) if is_foreign(slopes) else weights) * slopes


def steady_pace(gradients: Minibatches) -> float | None:
    r"""Return the largest step at which gradients whose variance grows with y do not drive it away.

    The variance of a round grows like `Uniform.noise` times the excess of F. A step of at most 1/16
    of its inverse absorbs it (Theorem C4 of docs/theory/composite.md); twice the inverse is what
    was measured to be the fastest.
    """
    if gradients.batch >= gradients.objective.n:
        return None
    noise = gradients.rows.noise(gradients.batch)
    return _PACE / noise if noise > 0.0 else None


def accelerating_batch(gradients: Minibatches, beta: float, mu: float) -> int:
    r"""Return the least batch with which noise does not slow an accelerated run down.

    :math:`m = \lceil \ell / (4 \sqrt{\mu\beta}) \rceil`, at most n: with fewer rows variance
    reduction slows rounds down, with more it does not speed them up. What choices without
    replacement spare is left out, as blocks are fixed.
    """
    need = math.ceil(gradients.rows.noise(1) / (4.0 * math.sqrt(mu * beta)))
    return min(max(1, need), gradients.objective.n)
