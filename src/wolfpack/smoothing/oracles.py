"""The linear oracle as solvers use it: clean answers, and means of perturbed ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from .. import theory
from ..arrays import Streams, inner
from ..atoms import Atoms
from ..problem import CapabilityError, Problem
from .sampled import block_length, sample_block

Array = Any


class Answer(NamedTuple):
    """The mean of the answers of a round.

    Attributes
    ----------
    mean : array
        A point of K, the estimate of grad s_alpha(-v).
    variance : float
        Measured variance of a single answer, E||answer - mean||^2; 0 for a closed form and NaN when
        one answer alone says nothing about it.
    """

    mean: Array
    variance: float


class Oracles:
    """Linear oracles of one problem with one noise law and one seed.

    Parameters
    ----------
    problem : Problem
        Whose set is asked and whose counts are kept.
    law : Noise or None
        Law of the perturbations; None when the method draws none.
    seed : int
        Seed of the random streams; round k, block b draws from stream (k, b).
    """

    def __init__(self, problem: Problem, law: Any = None, seed: int = 0) -> None:
        self.problem = problem
        self.law = law
        self.streams = Streams(seed)
        K = problem.set
        self._direct = law is not None and law.name in K.closed_forms[:1] and K.has("draw")
        self._exact = law is not None and law.name in K.closed_forms
        self._block = block_length(K, self._direct)

    @property
    def exact(self) -> bool:
        """Whether the set knows its smoothed argmax for this law in closed form."""
        return self._exact

    @cached_property
    def smoothness(self) -> float:
        """C such that s_alpha is C/alpha-smooth, by the sharp constants."""
        return theory.smoothness(self.problem.set, self.law, 1.0, "sharp")

    @cached_property
    def bias(self) -> float:
        """s_1(0): smoothing adds at most alpha s_1(0) to the support function."""
        return theory.s1(self.problem.set, self.law).value

    def lmo(self, g: Array) -> Atoms:
        """Return the clean answer to ``g``."""
        self.problem.counts.nlmo += 1
        return self.problem.set._lmo(g)

    def mean(self, v: Array, alpha: float, m: int | str, k: int) -> Array:
        """Return the mean answer to -v perturbed m times with scale alpha, in round k.

        Parameters
        ----------
        v : array
            Query point.
        alpha : float
            Smoothing.
        m : int or "exact"
            Number of perturbed oracles, or the closed form.
        k : int
            Round, which selects the random streams.
        """
        if m == "exact":
            return self._closed_form(v, alpha)
        if m <= self._block:
            return self._sample(v, alpha, m, k, 0).mean()
        total = 0.0
        for block, start in enumerate(range(0, m, self._block)):
            count = min(self._block, m - start)
            total = total + count * self._sample(v, alpha, count, k, block).mean()
        return total / m

    def sample(self, v: Array, alpha: float, m: int | str, k: int) -> Answer:
        """Return the same mean as `mean`, together with the measured variance of one answer."""
        if m == "exact":
            return Answer(self._closed_form(v, alpha), 0.0)
        total, squares = 0.0, 0.0
        for block, start in enumerate(range(0, m, self._block)):
            count = min(self._block, m - start)
            answers = self._sample(v, alpha, count, k, block)
            total = total + count * answers.mean()
            squares += float(answers.norms_squared().sum())
        mean = total / m
        if m == 1:
            return Answer(mean, float("nan"))
        return Answer(mean, max(0.0, (squares - m * inner(mean, mean)) / (m - 1)))

    def _sample(self, v: Array, alpha: float, count: int, k: int, block: int) -> Atoms:
        self.problem.counts.nlmo += count
        rng = self.streams.at(k, block)
        if self._direct:
            return self.problem.set.draw(-v, alpha, count, rng)
        return sample_block(self.problem.set, self.law, v, alpha, count, rng)

    def need_closed_form(self) -> None:
        """Raise unless the smoothed argmax is known exactly for this set and law."""
        if not self._exact:
            K = self.problem.set
            known = ", ".join(K.closed_forms) or "no law"
            raise CapabilityError(
                f"m='exact' needs a closed form of the smoothed argmax: {K} has one for {known}, "
                f"not for {self.law.name if self.law else None} noise"
            )

    def _closed_form(self, v: Array, alpha: float) -> Array:
        self.need_closed_form()
        self.problem.counts.nlmo += 1
        return self.problem.set.smoothed(-v, alpha, self.law)
