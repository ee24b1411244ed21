r"""Minibatches of a finite sum: which rows a round sees, and how their variance is reduced.

With rows drawn with probabilities :math:`p_i` and weights :math:`1/(m p_i)` the mean of the
minibatch gradient is :math:`\nabla G(v)`. `wolfpack.gradients.rows` chooses the rows,
`wolfpack.gradients.control_variates` explains how variance is reduced.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, inner, is_foreign, library, like, norm_squared, take, zeros
from ..objectives.finite_sum import FiniteSum
from .base import Gradient, Gradients, checked
from .control_variates import ControlVariate, SlopeTable
from .rows import SAMPLINGS, Blocks, RowBatch, Uniform

ANCHOR_PASSES = 2
"""Passes between two anchors of "svrg"."""

NOISE_STEP = 2.0
"""Largest step of z, in units of the inverse of the noise."""


class Sample(NamedTuple):
    """The rows of a round, with A y and the slopes of the loss there."""

    batch: RowBatch
    image: Array
    slopes: Array


class Minibatches(Gradients):
    """Gradients of a sum over ``batch`` of its rows.

    ``sampling`` is a name of `wolfpack.gradients.rows`, or one of its classes.
    With ``reduction`` control variates are used: each row's gradient where it was last seen
    ("saga"), or those at an anchor that moves after every two passes, which costs a pass ("svrg").
    """

    def __init__(
        self,
        objective: FiniteSum,
        batch: int,
        seed: int = 0,
        sampling: str | type[Uniform] = "uniform",
        reduction: str | None = None,
    ) -> None:
        super().__init__(objective, seed)
        self.batch = objective.check_batch(batch)
        self.per_pass = self.max_draws = objective.n
        self.sampling = sampling
        self.reduction = reduction
        if reduction == "saga" and library(objective.like) == "jax":
            raise TypeError(
                "variance_reduction='saga' writes a table of gradients in place, which arrays of "
                "JAX do not allow: use variance_reduction='svrg'"
            )
        kind = SAMPLINGS[sampling] if isinstance(sampling, str) else sampling
        self.rows = kind(objective, self.batch, self.streams)
        self._last: Array | None = None
        self._warm = False

    def at(self, v: Array, k: int, m: Any, variate: ControlVariate | None = None) -> Gradient:
        if m >= self.objective.n:
            return super().at(v, k, m)
        batch = self.rows.of_round(k, m)
        image = batch.part @ v
        slopes = batch.slopes(image)
        sample = Sample(batch, image, slopes)
        if variate is None or self.reduction != "saga":
            return Gradient(checked(_mean(batch, slopes, variate), v), None, variate, sample)
        change = slopes - variate.table.values[batch.places]
        mean, moved = self._changes(batch, change)
        g = checked(mean + variate.gradient, v)
        table = variate.table.replaced(batch.places, slopes)
        return Gradient(g, None, ControlVariate(k, table, variate.gradient + moved), sample)

    def variate(
        self, variate: ControlVariate | None, y: Array, k: int, m: Any
    ) -> ControlVariate | None:
        G = self.objective
        if self.reduction is None or m >= G.n:
            return None
        if self.reduction == "saga":
            if variate is not None:
                return variate
            if not self.starts_warm(y):
                # No row has been seen yet: the first gradients are plain ones.
                return ControlVariate(k, SlopeTable(zeros(G.image_shape, y)), 0.0 * y)
        elif variate is not None and (k - variate.k) * m < ANCHOR_PASSES * G.n:
            return variate
        at, order = G.evaluate(y), self.rows.order
        slopes = at.dual if order is None else take(at.dual, order)
        return ControlVariate(k, SlopeTable(slopes), at.gradient)

    def known(self, variate: ControlVariate) -> tuple[Array, Any]:
        theta = self.table(variate)
        # The sum A' theta is computed again, so that rounding errors do not add up.
        return self.objective.pull_back(theta[None])[0], theta

    @property
    def declared_smoothness(self) -> float | None:
        """None: that of a sum takes many passes over the data."""
        return None

    @property
    def independent(self) -> bool:
        return self.rows.independent

    @property
    def in_blocks(self) -> bool:
        return isinstance(self.rows, Blocks)

    def table(self, variate: ControlVariate) -> Array:
        """Return what a control variate knows of the gradient of the loss, one entry per row."""
        values, order = variate.table.values, self.rows.order
        return values if order is None else take(values, np.argsort(order))

    def starts_warm(self, y: Array) -> bool:
        """Tell whether a run from ``y`` begins with a full gradient: y is worth it if not zero."""
        self._warm = bool((y != 0.0).any())
        return self._warm

    def read(self, m: Any, renewed: bool) -> int:
        n = self.objective.n
        return min(m, n) + (n if renewed and (self.reduction == "svrg" or self._warm) else 0)

    def along(self, sample: Sample, v: Array, other: Array, norm: str) -> float:
        distance = norm_squared(other - v, norm)
        if distance == 0.0:
            return 0.0
        batch = sample.batch
        image = batch.part @ other
        change = batch.slopes(image) - sample.slopes
        return inner(_weighted(batch.weights, change), image - sample.image) / distance

    def draw(
        self, v: Array, m: int, rng: np.random.Generator, variate: ControlVariate | None = None
    ) -> Array:
        if m >= self.objective.n:
            return self.objective.gradient(v)
        batch = self.rows.draw(m, rng)
        return _mean(batch, batch.slopes(batch.part @ v), variate)

    def _changes(self, batch: RowBatch, change: Array) -> tuple[Array, Array]:
        """Return the weighted sum of the changes of the rows, and the plain one."""
        weights, transposed = batch.weights, batch.transposed
        if not isinstance(weights, np.ndarray):
            moved = transposed @ change
            return weights * moved, moved
        # A row that was drawn twice changes the table once.
        rows = batch.rows
        last = np.empty(self.objective.n, np.intp) if self._last is None else self._last
        numbers = np.arange(len(rows))
        last[rows], self._last = numbers, last
        once = _weighted(last[rows] == numbers, change)
        if change.ndim == 1 and isinstance(batch.part, np.ndarray):
            both = transposed @ np.stack([weights * change, once], axis=1)
            return both[:, 0], both[:, 1]
        return transposed @ _weighted(weights, change), transposed @ once

    def largest_step(self) -> float | None:
        r"""Return the largest step of z at which the noise does not make the iterates diverge.

        The variance of a round grows like `Uniform.noise` times the excess of F. A step of at most
        1/16 of its inverse absorbs it (Theorem C4 of docs/theory/composite.md); twice the inverse
        was measured to be the fastest. None where rounds see all rows, or have no noise.
        """
        if int(self.batch) >= self.objective.n:
            return None
        noise = self.rows.noise(int(self.batch))
        return NOISE_STEP / noise if noise > 0.0 else None

    def accelerating_batch(self, beta: float, mu: float) -> int:
        r"""Return the least batch with which noise does not slow an accelerated run down.

        :math:`m = \lceil \ell / (4 \sqrt{\mu\beta}) \rceil`, at most n. With fewer rows variance
        reduction slows rounds down, with more it does not speed them up. The gain of choosing
        without replacement is left out, since blocks do not have it.
        """
        need = math.ceil(self.rows.noise(1) / (4.0 * math.sqrt(mu * beta)))
        return min(max(1, need), self.objective.n)


def _mean(batch: RowBatch, slopes: Array, variate: ControlVariate | None) -> Array:
    """Return the gradient over the given rows, with a control variate if there is one."""
    if variate is None:
        return batch.transposed @ _weighted(batch.weights, slopes)
    change = slopes - variate.table.values[batch.places]
    return batch.transposed @ _weighted(batch.weights, change) + variate.gradient


def _weighted(weights: Any, slopes: Array) -> Array:
    """Return the slopes, one row per observation, times their weights."""
    if isinstance(weights, np.ndarray) and slopes.ndim > 1:
        weights = weights[:, None]
    return (like(weights, slopes) if is_foreign(slopes) else weights) * slopes
