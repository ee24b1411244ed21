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

from ..arrays import inner, is_foreign, like, take
from ._base import Array
from ._matrix import entries
from .finite_sum import FiniteSum
from .stochastic import Gradient, Gradients, checked, norm_squared

SAMPLINGS = ("uniform", "importance", "shuffle", "blocks")
_PERMUTATIONS = 2**32  # block of the streams that order the rows of a pass
REDUCTIONS = ("saga", "svrg")
_PERIOD = 2  # passes between anchors


class Anchor(NamedTuple):
    """The control variate: what is known of each row's gradient.

    Attributes
    ----------
    k : int
        The round that last changed it.
    theta : array
        Gradients of the loss, one per row. "saga" writes them in place: the entries ``rows`` are
        still to be replaced by ``fresh``, which may be done any number of times, so that the last
        state of a run is whole even if the round after it was cut short.
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


class Choice(NamedTuple):
    """The rows of a round.

    Attributes
    ----------
    rows : array of int
        Which.
    weights : float or array
        With these the mean of the weighted sum over the rows is the whole sum.
    part, transposed : matrix
        The rows of A, and their transpose.
    """

    rows: Array
    weights: Any
    part: Any
    transposed: Any


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
    sampling : {"uniform", "importance", "shuffle", "blocks"}
        Uniform without replacement within a round; with replacement, half of the probability
        uniform and half proportional to ||a_i||^2; one pass after the other, each in a new random
        order; or one of fixed random blocks, which lie together in a copy of the data. Rounds of
        "shuffle" are not independent: their errors cancel over a pass, which no theorem of the
        paper uses.
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
        self.probabilities = None
        if sampling == "importance":
            self.probabilities = _importance(objective.row_norms_squared)
            self._cumulative = np.cumsum(self.probabilities)
            starts = np.arange(objective.n) * (self._cumulative[-1] / objective.n)
            self._guide = np.searchsorted(self._cumulative, starts, "right")
        self._order: tuple[int, Array] = (-1, None)
        self._blocks = self._cut(self.batch) if sampling == "blocks" else []
        self._last: Array | None = None
        self._round: tuple[Any, Any, Any] = (None, None, None)

    @property
    def row_smoothness(self) -> float:
        """Lipschitz constant of the gradient of a single draw."""
        return self.objective.row_smoothness(self.probabilities)

    def at(self, v: Array, k: int, m: Any, anchor: Any = None) -> Gradient:
        if m >= self.objective.n:
            return super().at(v, k, m)
        chosen = self._turn(k, m) if self.sampling == "shuffle" else None
        chosen = self._choose(m, self.streams.at(k)) if chosen is None else chosen
        image = chosen.part @ v
        slopes = self.objective.row_loss_gradient(image, chosen.rows)
        self._round = chosen, image, slopes
        if anchor is None or self.reduced != "saga":
            return Gradient(checked(_around(chosen, slopes, anchor), v), None)
        mean, moved = self._saga(chosen, slopes - anchor.theta[chosen.rows])
        table = Anchor(k, anchor.theta, anchor.gradient + moved, chosen.rows, slopes)
        return Gradient(checked(mean + anchor.gradient, v), None, table)

    def anchor(self, anchor: Any, y: Array, k: int, m: Any) -> Any:
        G = self.objective
        if not self.reduced or m >= G.n:
            return None
        if self.reduced == "saga":
            if anchor is None:
                # nothing has been seen: the first gradients are plain ones
                return Anchor(k, np.zeros(G.image_shape, y.dtype), np.zeros_like(y))
            anchor.settle()
            return anchor
        if anchor is not None and (k - anchor.k) * m < _PERIOD * G.n:
            return anchor
        at = G.evaluate(y)
        return Anchor(k, at.dual, at.gradient)

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
        change = self.objective.row_loss_gradient(image_other, chosen.rows) - slopes
        return inner(_weighted(chosen.weights, change), image_other - image) / distance

    def _draw(self, v: Array, m: int, rng: np.random.Generator, anchor: Any = None) -> Array:
        if m >= self.objective.n:
            return self.objective.gradient(v)
        if anchor is not None:
            anchor.settle()
        chosen = self._choose(m, rng)
        slopes = self.objective.row_loss_gradient(chosen.part @ v, chosen.rows)
        return _around(chosen, slopes, anchor)

    def _choose(self, m: int, rng: np.random.Generator) -> Choice:
        n = self.objective.n
        if self.sampling == "blocks":
            return self._blocks[rng.integers(len(self._blocks))]
        if self.probabilities is None:
            return self._choice(rng.choice(n, m, replace=False, shuffle=False), n / m)
        u = rng.random(m)
        rows = self._guide[(u * n).astype(np.intp)]
        u *= self._cumulative[-1]
        # every row has probability 1/2n or more, so that three of them end in an interval of 1/n
        for _ in range(3):
            rows = rows + (self._cumulative[rows] <= u)
        return self._choice(rows, 1.0 / (m * self.probabilities[rows]))

    def _choice(self, rows: Array, weights: Any) -> Choice:
        A = entries(self.objective.A)
        part = take(A, like(rows, A)) if is_foreign(A) else A[rows]
        return Choice(rows, weights, part, part.T)

    def _cut(self, m: int) -> list[Choice]:
        """Cut a random order of the rows into blocks of ``m`` rows, or one less."""
        count = -(-self.objective.n // m)
        pieces = np.array_split(self._permutation(0), count)
        return [self._choice(rows, float(count)) for rows in pieces]

    def _saga(self, chosen: Choice, change: Array) -> tuple[Array, Array]:
        """Return the weighted sum of the changes of the rows, and the plain one."""
        rows, weights, _, transposed = chosen
        if not isinstance(weights, np.ndarray):
            moved = transposed @ change
            return weights * moved, moved
        # a row drawn twice changes the table once
        last = np.empty(self.objective.n, np.intp) if self._last is None else self._last
        numbers = np.arange(len(rows))
        last[rows], self._last = numbers, last
        once = _weighted(last[rows] == numbers, change)
        if change.ndim == 1:
            both = transposed @ np.stack([weights * change, once], axis=1)
            return both[:, 0], both[:, 1]
        return transposed @ _weighted(weights, change), transposed @ once

    def _turn(self, k: int, m: int) -> Choice:
        """Return the rows whose turn it is in round ``k`` when all rounds take ``m``."""
        turn, start = divmod(k * m, self.objective.n)
        rows = self._permutation(turn)[start : start + m]
        if len(rows) < m:
            rows = np.concatenate([rows, self._permutation(turn + 1)[: m - len(rows)]])
        return self._choice(rows, self.objective.n / m)

    def _permutation(self, turn: int) -> Array:
        if self._order[0] != turn:
            rng = self.streams.at(turn, _PERMUTATIONS)
            self._order = turn, rng.permutation(self.objective.n)
        return self._order[1]


def _around(chosen: Choice, slopes: Array, anchor: Any) -> Array:
    """Return the gradient over the given rows, around the anchor if there is one."""
    if anchor is None:
        return chosen.transposed @ _weighted(chosen.weights, slopes)
    change = slopes - anchor.theta[chosen.rows]
    return chosen.transposed @ _weighted(chosen.weights, change) + anchor.gradient


def _weighted(weights: Any, slopes: Array) -> Array:
    """Return the slopes, one row per observation, times their weights."""
    if isinstance(weights, np.ndarray) and slopes.ndim > 1:
        weights = weights[:, None]
    return weights * slopes


def stable_smoothness(gradients: Minibatches, beta: float, mu: float) -> float:
    r"""Return a beta at which gradients whose variance grows with y cannot drive them away.

    The variance of a round grows like :math:`\frac{\ell}{m}` times the excess of F, with
    :math:`\ell` the smoothness of a single draw. In Theorem 1 it enters divided by
    :math:`2 \sqrt{\mu\beta}`: with :math:`\sqrt{\mu \beta} \ge \ell / (4 m)` it is absorbed. The
    factor 4 is measured, not proved (docs/theory/composite.md).
    """
    if gradients.batch >= gradients.objective.n:
        return beta
    return max(beta, (gradients.row_smoothness / (4.0 * gradients.batch)) ** 2 / mu)


def accelerating_batch(gradients: Minibatches, beta: float, mu: float) -> int:
    r"""Return the least batch for which `stable_smoothness` is beta itself.

    :math:`m = \lceil \ell / (4 \sqrt{\mu\beta}) \rceil`, at most n: with fewer rows variance
    reduction slows rounds down, with more it does not speed them up.
    """
    need = math.ceil(gradients.row_smoothness / (4.0 * math.sqrt(mu * beta)))
    return min(max(1, need), gradients.objective.n)


def _importance(squares: Array) -> Array:
    total = float(squares.sum())
    n = len(squares)
    return np.full(n, 1.0 / n) if total == 0.0 else 0.5 / n + (0.5 / total) * squares
