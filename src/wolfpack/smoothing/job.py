"""What a worker needs to answer the questions of a run: shipped once, asked every round.

A round's m answers are drawn in blocks, block b of round k from the stream (seed, k, b). Which
worker computes a block, and how often, does not change a bit of it. `device_job` has the same for
arrays on another device.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Streams, concat, epsilon, norm, one_thread
from ..atoms import Atoms, DenseSummary, Summary, portable, summarize
from ..problem import LimitReached, counted, under_way
from ..problem.checks import choice, count, optional
from ._base import BLOCK_NUMBERS, Array, Smoothing
from ._blas import multiplies
from .draws import SAMPLINGS

BLOCKS = 64
"""Into how many blocks at most a round is cut when small blocks are wanted."""

SMALL_BLOCK_NUMBERS = 2**12
"""Random numbers per block for sets that answer directions one by one, unless they know better."""

BATCH_NUMBERS = 16 * BLOCK_NUMBERS
"""Random numbers of the blocks that are asked for in one batch."""

_NOTHING = nullcontext()


class Question(NamedTuple):
    """What a round asks: m answers to -v perturbed with scale alpha."""

    k: int  # round, which selects the random streams
    v: Array  # query point
    alpha: Array  # a number, or one per answer for methods that try several; zero asks v itself
    m: int
    keep: bool = False  # whether the answers themselves are wanted, besides their mean
    clean: bool = False  # whether the question is v itself, unperturbed
    also: Array = None  # another point to ask, unperturbed, as one more block after all others
    task: Any = None  # what to compute on blocks of data at v, which is no question to the oracle


class Partial(NamedTuple):
    """What one block contributes."""

    count: int  # number of answers
    mean: Summary
    squares: float  # sum of their squared norms
    answers: Atoms | None = None  # themselves, if they were asked for


class Job:
    """Perturbed answers of one set under one law and one seed, block by block.

    ``sampling`` ("iid", "antithetic" or "sobol") says how the draws of a block depend on each
    other. ``block`` is the number of answers per block. By default a block fills the cache, and is
    smaller for sets that answer directions one by one or say so (``batch_hint``), so that m oracles
    split over workers. It is part of what a seed means, and never depends on the number of workers.

    Threads must not share a job: `copy.copy` gives each its own.
    """

    on_device: ClassVar[bool] = False

    def __init__(
        self, smoothing: Smoothing, seed: int = 0, sampling: str = "iid", block: int | None = None
    ) -> None:
        sampling = choice(*SAMPLINGS)(sampling, "sampling")
        block = optional(count)(block, "block")
        self.smoothing = smoothing
        self.sampling = sampling
        self.streams = Streams(seed)
        K = smoothing.K
        alone = K.one_by_one and smoothing.numbers_per_answer > 1
        small = max(1, SMALL_BLOCK_NUMBERS // K.dimension) if alone else None
        self._hint = K.batch_hint or small
        self._fixed = block or (None if sampling == "iid" and self._hint else smoothing.block)
        self._couple = SAMPLINGS[sampling]
        self._perturbs = smoothing.perturbs and smoothing.numbers_per_answer > 1
        # answers that do not depend on what else is in the batch may be asked for together
        self._joins = self._perturbs and alone
        # whether BLAS is held to one thread during the work
        self.pins = not self.on_device and multiplies(smoothing)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.smoothing, self.streams.seed, self.sampling, self._fixed)

    def length(self, m: int) -> int:
        """Return the answers per block of a round of m."""
        if self._fixed is not None:
            return self._fixed
        return min(self.smoothing.block, max(self._hint or 1, math.ceil(m / BLOCKS)))

    def blocks(self, m: int) -> int:
        """Return the number of blocks of a round of m."""
        return math.ceil(m / self.length(m))

    def answers_of(self, question: Question, block: int) -> int:
        """Return the number of answers in a block; the last one may be that of ``also``."""
        return self._count(question.m, block) if block < self.blocks(question.m) else 1

    def answers(
        self, v: Array, alpha: Array, count: int, k: int, block: int = 0, keep: bool = False
    ) -> Atoms:
        """Return the ``count`` answers of one block; to be called in the context `quiet`."""
        rng = self._couple(self.streams.at(k, block))
        try:
            if keep and self._perturbs:
                directions = self.smoothing.directions(v, alpha, count, rng)
                answers = self.smoothing.K.lmo_or_nearby(directions)
            else:
                answers = self.smoothing.answers(v, alpha, count, rng)
            self._check(answers, v, k, block)
        except (Exception, SystemExit) as error:
            self._locate(error, k, [block])
            raise
        return answers

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        """Return what each of some blocks contributes, packed for sending or as dense arrays."""
        with self.quiet():
            found = self._found(question, blocks)
            return [self._partial(answers, question, pack) for answers in found]

    def quiet(self) -> AbstractContextManager[object]:
        """Hold BLAS to one thread, if it would use more."""
        return one_thread() if self.pins else _NOTHING

    def clean(self, g: Array) -> Atoms:
        """Return the answer to ``g`` itself."""
        with self.quiet():
            return self.smoothing.K._lmo(g)

    def _found(self, question: Question, blocks: range) -> Iterator[Atoms]:
        """Yield the answers, block by block."""
        if question.clean:
            yield self._unperturbed(question.v)
            return
        own = self.blocks(question.m)
        drawn = [block for block in blocks if block < own]
        yield from self._drawn(question, drawn)
        if len(drawn) < len(blocks):
            yield self._unperturbed(question.also[None, ...])

    def _drawn(self, question: Question, blocks: list[int]) -> Iterator[Atoms]:
        """Yield the answers of blocks that are drawn, asked for one by one or in batches."""
        done = 0
        if not self._joins:
            for block in blocks:
                _check_time(done)
                done += self._count(question.m, block)
                alpha, count = self._scale(question, block), self._count(question.m, block)
                yield self.answers(question.v, alpha, count, question.k, block, question.keep)
            return
        step = max(1, BATCH_NUMBERS // (self.length(question.m) * self.smoothing.K.dimension))
        for first in range(0, len(blocks), step):
            batch = blocks[first : first + step]
            counts = [self._count(question.m, block) for block in batch]
            _check_time(done)
            done += sum(counts)
            answers = self._ask(question, batch, counts)
            for count, end in zip(counts, itertools.accumulate(counts), strict=True):
                yield answers.take(slice(end - count, end))

    def _ask(self, question: Question, blocks: list[int], counts: list[int]) -> Atoms:
        """Return the answers of several blocks, asked for in one batch."""
        try:
            pairs = zip(blocks, counts, strict=True)
            draws = [self._directions(question, block, count) for block, count in pairs]
            answers = self._answer(question, draws[0] if len(draws) == 1 else concat(draws))
            self._check(answers, question.v, question.k, blocks[0])
        except (Exception, SystemExit) as error:
            self._locate(error, question.k, blocks)
            raise
        return answers

    def _directions(self, question: Question, block: int, count: int) -> Array:
        rng = self._couple(self.streams.at(question.k, block))
        return self.smoothing.directions(question.v, self._scale(question, block), count, rng)

    def _answer(self, question: Question, directions: Array) -> Atoms:
        """Ask the oracle; answers that are kept need not be exact minimisers."""
        K = self.smoothing.K
        return K.lmo_or_nearby(directions) if question.keep else K._lmo(directions)

    def _unperturbed(self, g: Array) -> Atoms:
        try:
            return self.smoothing.K._lmo(g)
        except (Exception, SystemExit) as error:
            error.add_note(f"in the oracle of {self.smoothing.K}, asked for a certificate")
            raise

    def _count(self, m: int, block: int) -> int:
        length = self.length(m)
        return min(length, m - block * length)

    def _scale(self, question: Question, block: int) -> Array:
        """Return alpha, or the part of one alpha per answer that belongs to a block."""
        if isinstance(question.alpha, float) or np.ndim(question.alpha) == 0:
            return question.alpha
        first = block * self.length(question.m)
        return question.alpha[first : first + self._count(question.m, block)]

    def _partial(self, answers: Atoms, question: Question, pack: bool) -> Partial:
        squares = answers.squares()
        if not math.isfinite(squares):
            error = ValueError("the oracle must answer finite entries, found NaN or infinite ones")
            self._locate(error, question.k, [])
            raise error
        mean = summarize(answers) if pack else DenseSummary(answers.mean())
        kept = (answers if self.on_device else portable(answers)) if question.keep else None
        return Partial(answers.count or 1, mean, squares, kept)

    def _locate(self, error: BaseException, k: int, blocks: Sequence[int]) -> None:
        """Say in an exception where it happened."""
        where = f", blocks {blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else ""
        where = f", block {blocks[0]}" if len(blocks) == 1 else where
        error.add_note(f"in the oracle of {self.smoothing.K}, round {k}{where}")

    def _check(self, answers: Atoms, v: Array, k: int, block: int) -> None:
        """Spot-check an answer of block 0 against the set, in rounds 0, 1, 2, 4, 8 and so on."""
        if block or k & (k - 1):
            return
        K = self.smoothing.K
        if tuple(answers.vertex_shape) != tuple(K.shape):
            raise ValueError(
                f"the oracle must answer shape {K.shape}, found {answers.vertex_shape}"
            )
        point = answers.take(0).to_dense()
        with counted(None):  # Workers count nothing, and neither does this process.
            violation = K.violation(point) if K.cheap_violation else norm(point) - K.radius
        if not violation <= 1e2 * math.sqrt(epsilon(v)) * max(1.0, K.radius):
            raise ValueError(f"the oracle answered a point outside the set, by {violation:.3g}")


def _check_time(done: int) -> None:
    """Raise `LimitReached` if time is over; of the question, so many answers are then counted."""
    counts = under_way()
    if counts is None or not counts.limited:
        return
    try:
        counts.check_time()
    except LimitReached:
        counts.cut(done)
        raise
