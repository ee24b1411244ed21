"""The linear oracle as solvers use it: clean answers, and means of perturbed ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..arrays import Streams, inner
from ..atoms import Atoms
from ..problem import CapabilityError, Problem
from ._base import Array, Smoothing
from .draws import SAMPLINGS


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
    """Linear oracles of one problem with one way of smoothing and one seed.

    Parameters
    ----------
    problem : Problem
        Whose set is asked and whose counts are kept.
    smoothing : Smoothing or None
        How questions are perturbed; None when the method perturbs none.
    seed : int
        Seed of the random streams; round k, block b draws from stream (k, b).
    sampling : {"iid", "antithetic", "sobol"}
        How the draws of a block depend on each other.
    """

    def __init__(
        self,
        problem: Problem,
        smoothing: Smoothing | None = None,
        seed: int = 0,
        sampling: str = "iid",
    ) -> None:
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, found {sampling!r}")
        self.problem = problem
        self.smoothing = smoothing
        self.streams = Streams(seed)
        self._couple = SAMPLINGS[sampling]

    @property
    def noisy(self) -> bool:
        """Whether questions are perturbed at all."""
        return self.smoothing is not None

    @property
    def exact(self) -> bool:
        """Whether the mean of the perturbed answers is known in closed form."""
        return self.smoothing is not None and self.smoothing.exact

    def need_closed_form(self) -> None:
        """Raise unless the mean of the perturbed answers is known in closed form."""
        if self.smoothing is not None and not self.smoothing.exact:
            raise CapabilityError(self.smoothing.why_not_exact())

    def lmo(self, g: Array) -> Atoms:
        """Return the clean answer to ``g``."""
        self.problem.counts.nlmo += 1
        return self.problem.set._lmo(g)

    def mean(self, v: Array, alpha: float, m: Any, k: int) -> Array:
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
        if self.smoothing is None:
            return self.lmo(v).to_dense()
        if m == "exact":
            return self._closed_form(v, alpha)
        total = None
        for answers in self._blocks(v, alpha, m, k):
            if answers.count == m:
                return answers.mean()
            part = answers.count * answers.mean()
            total = part if total is None else total + part
        return total / m

    def sample(self, v: Array, alpha: float, m: Any, k: int) -> Answer:
        """Return the same mean as `mean`, together with the measured variance of one answer."""
        if self.smoothing is None or m == "exact":
            return Answer(self.mean(v, alpha, m, k), 0.0)
        total, squares = 0.0, 0.0
        for answers in self._blocks(v, alpha, m, k):
            total = total + answers.count * answers.mean()
            squares += float(answers.norms_squared().sum())
        mean = total / m
        if m == 1:
            return Answer(mean, float("nan"))
        return Answer(mean, max(0.0, (squares - m * inner(mean, mean)) / (m - 1)))

    def _blocks(self, v: Array, alpha: float, m: int, k: int) -> Iterator[Any]:
        assert self.smoothing is not None
        length = self.smoothing.block
        self.problem.counts.nlmo += m
        for block, start in enumerate(range(0, m, length)):
            rng = self._couple(self.streams.at(k, block))
            yield self.smoothing.answers(v, alpha, min(length, m - start), rng)

    def _closed_form(self, v: Array, alpha: float) -> Array:
        assert self.smoothing is not None
        self.problem.counts.nlmo += 1
        return self.smoothing.mean_answer(v, alpha)
