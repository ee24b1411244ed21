"""The linear oracle as solvers use it: clean answers, and means of perturbed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..arrays import Compiled, Streams, inner
from ..atoms import Atoms
from ..problem import CapabilityError, Problem
from ._base import Array, Smoothing
from .device_job import DeviceJob
from .job import Job, Partial, Question

if TYPE_CHECKING:
    import numpy as np

    from ..engines._driver import Driver, EngineLog


class Answer(NamedTuple):
    """The mean of the answers of a round, and the measured variance of a single one.

    The mean estimates grad s_alpha(-v). The variance is E||answer - mean||^2: 0 for a closed form,
    NaN when there is one answer only.
    """

    mean: Array
    variance: float


class Oracles:
    """Linear oracles of one problem with one smoothing and one seed.

    The problem's set is asked, and its counts are kept. ``smoothing`` is None when the method
    perturbs no question. For ``seed``, ``sampling`` and ``block`` see `Job`. ``last`` is the last
    direction that was asked without noise, with its answer; a ``witness`` is shown all of those.
    """

    def __init__(
        self,
        problem: Problem,
        smoothing: Smoothing | None = None,
        seed: int = 0,
        sampling: str = "iid",
        block: int | None = None,
    ) -> None:
        self.problem = problem
        self.smoothing = smoothing
        self.streams = Streams(seed)
        self.job: Job | None = None
        if smoothing is not None:
            kind = Job if smoothing.K.like is None else DeviceJob
            self.job = kind(smoothing, seed, sampling, block)
        self.driver: Driver | None = None
        self.log: EngineLog | None = None  # what the engine records, None without one
        self.compiled: Compiled | None = None
        self._given: Array = None
        self.gradients: Any = None  # where random gradients come from, None for exact ones
        self.last: tuple[Array, Atoms] | None = None
        self.witness: Callable[[Array, Atoms], None] | None = None

    @property
    def noisy(self) -> bool:
        """Whether questions are perturbed at all."""
        return self.smoothing is not None

    @property
    def exact(self) -> bool:
        """Whether the mean of the perturbed answers is known in closed form."""
        return self.smoothing is not None and self.smoothing.exact

    @property
    def bias(self) -> float:
        """A bound on (s_alpha - s)/alpha, estimated at most once in a run, also if it is resumed.

        Where K has no closed form for it, the estimate takes oracle calls, which are counted.
        """
        assert self.smoothing is not None
        counts = self.problem.counts
        if counts.bias is None:
            counts.bias = self.smoothing.bias
        return counts.bias

    @property
    def punctual(self) -> bool:
        """Whether all answers of a round arrive in it: no stragglers dropped, no late answers."""
        policy = None if self.driver is None else self.driver.policy
        return policy is None or (policy.mode != "async" and policy.stragglers != "drop")

    def draws_directly(self, m: int) -> bool:
        """Tell whether a round of m answers takes no more than m uniform numbers."""
        if self.job is None or self.driver is not None or self.job.sampling != "iid":
            return False
        return self.job.smoothing.numbers_per_answer == 1 and m <= self.job.length(m)

    def uniforms(self, m: int, k: int) -> Array:
        """Return the numbers that the m answers of round k are drawn with."""
        assert self.job is not None
        return self.job.streams.at(k, 0).random(m)

    @contextmanager
    def drawing(self, uniform: Array) -> Iterator[None]:
        """Draw the answers of `mean` with given uniform numbers, inside the context."""
        self._given = uniform
        try:
            yield
        finally:
            self._given = None

    def need_closed_form(self) -> None:
        """Raise unless the mean of the perturbed answers is known in closed form."""
        if self.smoothing is not None and not self.smoothing.exact:
            raise CapabilityError(self.smoothing.why_not_exact())

    def lmo(self, g: Array) -> Atoms:
        """Return the clean answer to ``g``."""
        self.problem.counts.ask()
        if self.driver is not None and self.driver.guards:
            answer = cast("Atoms", self.driver.clean(g))
        elif self.job is not None:
            answer = self.job.clean(g)
        else:
            answer = self.problem.set._lmo(g)
        self.last = g, answer
        if self.witness is not None:
            self.witness(g, answer)
        return answer

    def mean(self, v: Array, alpha: float, m: int | str, k: int) -> Array:
        """Return the mean answer to -v perturbed m times with scale alpha, in round k.

        ``m="exact"`` stands for the closed form. The round selects the random streams.
        """
        if self.job is None:
            return self.lmo(v).to_dense()
        if isinstance(m, str):  # "exact"
            self.problem.counts.ask()
            return self.job.smoothing.mean_answer(v, alpha)
        if self._given is not None:
            self.problem.counts.ask(m)
            uniform = SimpleNamespace(random=lambda count: self._given)  # known already
            rng = cast("np.random.Generator", uniform)
            return self.job.smoothing.answers(v, alpha, m, rng).mean()
        with self.job.quiet():
            if self._fits(m):
                return self.job.answers(v, alpha, m, k).mean()
            return _mean(self._ask(Question(k, v, alpha, m)))

    def sample(self, v: Array, alpha: float, m: int | str, k: int) -> Answer:
        """Return the same mean as `mean`, together with the measured variance of one answer."""
        if self.job is None or isinstance(m, str):
            return Answer(self.mean(v, alpha, m, k), 0.0)
        with self.job.quiet():
            if self._fits(m):
                answers = self.job.answers(v, alpha, m, k)
                mean, count, squares = answers.mean(), m, answers.squares()
            else:
                partials = self._ask(Question(k, v, alpha, m))
                mean, count = _mean(partials), sum(partial.count for partial in partials)
                squares = sum(partial.squares for partial in partials)
        if count == 1:
            return Answer(mean, float("nan"))
        return Answer(mean, max(0.0, (squares - count * inner(mean, mean)) / (count - 1)))

    def answers(self, v: Array, alpha: Array, m: int, k: int, also: Array = None) -> list[Atoms]:
        """Return the answers themselves, in batches, for methods that keep vertices.

        ``alpha`` is a number, or one for each answer; zero asks -v itself. The answer to ``also``,
        another point, is the last batch. All of it is in order if the oracles are `punctual`.
        """
        if self.job is None:
            raise CapabilityError("answers need a smoothing, and this method has none")
        partials = self._ask(Question(k, v, alpha, m, keep=True, also=also))
        return [partial.answers for partial in partials if partial.answers is not None]

    def _fits(self, m: int) -> bool:
        """Tell whether a round is one block that is answered here and now, and count it."""
        assert self.job is not None
        if self.driver is not None or m > self.job.length(m):
            return False
        self.problem.counts.ask(m)
        return True

    def _ask(self, question: Question) -> list[Partial]:
        """Return what the blocks of a round contribute, in the order of the blocks."""
        assert self.job is not None
        also, counts = question.also is not None, self.problem.counts
        blocks = range(self.job.blocks(question.m) + also)
        counts.ask(question.m + also)
        if self.driver is None:
            return self.job.compute(question, blocks, pack=False)
        partials = self.driver.ask(question, blocks)
        # Answers that are dropped are not counted, and late ones are in the round that uses them.
        counts.nlmo += sum(partial.count for partial in partials) - question.m - also
        return partials


def _mean(partials: list[Partial]) -> Array:
    """Return the mean over all blocks; one block's is its own, to the bit."""
    first, *others = partials
    if not others:
        return first.mean.mean()
    total, count = first.count * first.mean.mean(), first.count
    for partial in others:
        total = partial.mean.added(total, partial.count)
        count += partial.count
    # a sum without the zeros of the structured means must not keep the sign of a zero
    return (total + 0.0) / count
