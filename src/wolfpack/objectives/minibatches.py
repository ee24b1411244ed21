r"""Minibatches of a finite sum: which rows a round sees, and how their variance is reduced.

With rows drawn with probabilities :math:`p_i` and weights :math:`1/(m p_i)` the mean of the
minibatch gradient is :math:`\nabla G(v)`. Around an anchor :math:`\tilde y` with known
:math:`\nabla G(\tilde y)` (R. Johnson, T. Zhang, Accelerating stochastic gradient descent using
predictive variance reduction, NIPS 2013) so is that of

.. math:: g = \frac1m \sum_{i \in B} \frac{1}{p_i} \bigl(\nabla \ell_i(v) -
    \nabla \ell_i(\tilde y)\bigr) + \nabla G(\tilde y),

and its variance vanishes with the distances of v and the anchor from the minimum: Theorem 1 holds
with a sigma that shrinks along the run. For :math:`\ell_i(\langle a_i, y\rangle)` the anchor's part
costs no product: one number per row is kept.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ._base import Array
from .finite_sum import FiniteSum
from .stochastic import Gradient, Gradients, checked

SAMPLINGS = ("uniform", "importance", "shuffle")
_PERMUTATIONS = 2**32  # block of the streams that order the rows of a pass
_PERIOD = 2  # passes between anchors


class Anchor(NamedTuple):
    """Where the control variate is taken.

    Attributes
    ----------
    k : int
        The round.
    theta : array
        Gradients of the loss there, one per row.
    gradient : array
        grad G there.
    """

    k: int
    theta: Array
    gradient: Array


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
    sampling : {"uniform", "importance", "shuffle"}
        Uniform without replacement within a round; with replacement, half of the probability
        uniform and half proportional to ||a_i||^2; or one pass after the other, each in a new
        random order. Rounds of the last kind are not independent: their errors cancel over a pass,
        which no theorem of the paper uses.
    reduced : bool
        Use control variates, with a new anchor after every two passes.
    """

    def __init__(
        self,
        objective: FiniteSum,
        batch: int,
        seed: int = 0,
        sampling: str = "uniform",
        reduced: bool = False,
    ) -> None:
        super().__init__(objective, seed)
        self.batch = objective.check_batch(batch)
        self.per_pass = self.most = objective.n
        self.sampling = sampling
        self.reduced = reduced
        self.probabilities = None
        if sampling == "importance":
            self.probabilities = _importance(objective.row_norms_squared)
            self._cumulative = np.cumsum(self.probabilities)
        self._order: tuple[int, Array] = (-1, None)

    @property
    def row_smoothness(self) -> float:
        """Lipschitz constant of the gradient of a single draw."""
        return self.objective.row_smoothness(self.probabilities)

    def at(self, v: Array, k: int, m: Any, anchor: Any = None) -> Gradient:
        if self.sampling != "shuffle" or m >= self.objective.n:
            return super().at(v, k, m, anchor)
        return Gradient(checked(self._over(v, self._turn(k, m), None, anchor), v), None)

    def anchor(self, anchor: Any, y: Array, k: int, m: Any) -> Any:
        n = self.objective.n
        if not self.reduced or m >= n:
            return None
        if anchor is not None and (k - anchor.k) * m < _PERIOD * n:
            return anchor
        at = self.objective.evaluate(y)
        return Anchor(k, at.dual, at.gradient)

    def read(self, m: Any, renewed: bool) -> int:
        return min(m, self.objective.n) + (self.objective.n if renewed else 0)

    def _draw(self, v: Array, m: int, rng: np.random.Generator, anchor: Any = None) -> Array:
        n = self.objective.n
        if m >= n:
            return self.objective.gradient(v)
        if self.probabilities is None:
            return self._over(v, rng.choice(n, m, replace=False, shuffle=False), None, anchor)
        rows = np.searchsorted(self._cumulative, rng.random(m) * self._cumulative[-1], "right")
        return self._over(v, rows, 1.0 / (m * self.probabilities[rows]), anchor)

    def _over(self, v: Array, rows: Array, weights: Any, anchor: Any) -> Array:
        """Return the gradient over the given rows, around the anchor if there is one."""
        if anchor is None:
            return self.objective.minibatch_gradient(v, rows, weights)
        around = self.objective.minibatch_gradient(v, rows, weights, anchor.theta)
        return around + anchor.gradient

    def _turn(self, k: int, m: int) -> Array:
        """Return the rows whose turn it is in round ``k`` when all rounds take ``m``."""
        turn, start = divmod(k * m, self.objective.n)
        rows = self._permutation(turn)[start : start + m]
        if len(rows) < m:
            rows = np.concatenate([rows, self._permutation(turn + 1)[: m - len(rows)]])
        return rows

    def _permutation(self, turn: int) -> Array:
        if self._order[0] != turn:
            rng = self.streams.at(turn, _PERMUTATIONS)
            self._order = turn, rng.permutation(self.objective.n)
        return self._order[1]


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
