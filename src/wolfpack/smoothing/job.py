"""What a worker needs to answer the questions of a run: shipped once, asked every round.

A round's m answers are drawn in blocks, block b of round k from the stream (seed, k, b). Which
block is computed where, and how often, does not change a bit of it.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Streams, concat, epsilon, is_out_of_memory, norm
from ..atoms import Atoms, DenseSummary, Summary, join, portable, summarize
from ._base import BLOCK_NUMBERS, Array, Smoothing
from ._blas import multiplies, one_thread
from .draws import SAMPLINGS

BLOCKS = 64
"""Into how many blocks at most a round is cut when small blocks are wanted."""

SMALL = 2**12
"""Random numbers per block for sets that answer directions one by one, unless they know better."""

NATIVE = 2**24
"""Random numbers per block where a device draws them itself."""

_AT_ONCE = 16 * BLOCK_NUMBERS
_log = logging.getLogger("wolfpack")
_NOTHING = nullcontext()


class Question(NamedTuple):
    """What a round asks: m answers to -v perturbed with scale alpha.

    Attributes
    ----------
    k : int
        Round, which selects the random streams.
    v : array
        Query point.
    alpha : float or array (m,)
        Smoothing; one number per answer for methods that try several. Zero asks v itself.
    m : int
        Number of answers.
    keep : bool
        Whether the answers themselves are wanted, besides their mean.
    clean : bool
        Whether the question is v itself, unperturbed.
    also : array, optional
        Another point to ask, unperturbed, as one more block after those of m answers.
    """

    k: int
    v: Array
    alpha: Any
    m: int
    keep: bool = False
    clean: bool = False
    also: Array = None


class Partial(NamedTuple):
    """What one block contributes.

    Attributes
    ----------
    count : int
        Number of answers.
    mean : Summary
        Their mean.
    squares : float
        Sum of their squared norms.
    answers : Atoms or None
        The answers, if they were asked for.
    """

    count: int
    mean: Summary
    squares: float
    answers: Atoms | None = None


class Job:
    """Perturbed answers of one set under one law and one seed, block by block.

    Parameters
    ----------
    smoothing : Smoothing
        How questions are perturbed, and the set that answers them.
    seed : int
        Seed of the random streams.
    sampling : {"iid", "antithetic", "sobol"}
        How the draws of a block depend on each other.
    block : int, optional
        Answers per block. By default as many as fill the cache, and fewer for sets that answer
        directions one by one or say so (``batch_hint``), so that m oracles split over workers. It
        is part of what a seed means, and never depends on the number of workers.

    Attributes
    ----------
    pins : bool
        Whether BLAS is held to one thread during the work.

    Notes
    -----
    Not to be shared between threads: `copy.copy` gives each its own.
    """

    def __init__(
        self, smoothing: Smoothing, seed: int = 0, sampling: str = "iid", block: int | None = None
    ) -> None:
        if sampling not in SAMPLINGS:
            raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, found {sampling!r}")
        if block is not None and (
            not isinstance(block, int) or isinstance(block, bool) or block < 1
        ):
            raise ValueError(f"block must be an integer >= 1, found {block!r}")
        self.smoothing = smoothing
        self.sampling = sampling
        self.streams = Streams(seed)
        K = smoothing.K
        alone = K.one_by_one and smoothing.numbers_per_answer > 1
        self._hint = K.batch_hint or (max(1, SMALL // K.dimension) if alone else None)
        self._fixed = block or (None if sampling == "iid" and self._hint else smoothing.block)
        self._couple = SAMPLINGS[sampling]
        self._perturbs = smoothing.numbers_per_answer > 1 and hasattr(smoothing, "directions")
        self.away = K.like is not None
        # answers that do not depend on what else is in the batch may be asked for together; on
        # another device all of them are, as long as they fit
        self._joins = self._perturbs and (alone or self.away)
        self._at_once = _AT_ONCE
        self.pins = not self.away and multiplies(smoothing)
        if self.away:
            self._at_once = 2**62
            if self._perturbs and getattr(smoothing.law, "native", False):
                self._fixed = max(1, NATIVE // smoothing.numbers_per_answer)

    def __reduce__(self) -> Any:
        return Job, (self.smoothing, self.streams.seed, self.sampling, self._fixed)

    def length(self, m: int) -> int:
        """Return the answers per block of a round of m."""
        if self._fixed is not None:
            return self._fixed
        return min(self.smoothing.block, max(self._hint or 1, math.ceil(m / BLOCKS)))

    def blocks(self, m: int) -> int:
        """Return the number of blocks of a round of m."""
        return math.ceil(m / self.length(m))

    def answers(
        self, v: Array, alpha: Any, count: int, k: int, block: int = 0, keep: bool = False
    ) -> Atoms:
        """Return the ``count`` answers of one block; to be called in the context `quiet`."""
        if self.away and self._perturbs:
            return join(list(self._joined(Question(k, v, alpha, count, keep), [block])))
        rng = self._couple(self.streams.at(k, block))
        try:
            if keep and self._perturbs:
                directions: Any = self.smoothing.directions  # pyright: ignore
                answers = self.smoothing.K.near(directions(v, alpha, count, rng))
            else:
                answers = self.smoothing.answers(v, alpha, count, rng)
            if block == 0 and k & (k - 1) == 0:
                self._check(answers, v)
        except (Exception, SystemExit) as error:
            self._locate(error, k, range(block, block + 1))
            raise
        return answers

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        """Return what each of some blocks contributes, packed for sending or as dense arrays."""
        with self.quiet():
            found = self._found(question, blocks)
            return [self._partial(answers, question, pack) for answers in found]

    def quiet(self) -> AbstractContextManager[Any]:
        """Hold BLAS to one thread, if it would use more."""
        return one_thread() if self.pins else _NOTHING

    def clean(self, g: Array) -> Atoms:
        """Return the answer to ``g`` itself."""
        with self.quiet():
            return self.smoothing.K._lmo(g)

    def _found(self, question: Question, blocks: range) -> Iterator[Atoms]:
        """Yield the answers, block by block."""
        if question.clean:
            yield self._clean(question, question.v)
            return
        own = self.blocks(question.m)
        drawn = [block for block in blocks if block < own]
        if not self._joins:
            k, v, _, m, keep = question[:5]
            for block in drawn:
                alpha, count = self._scale(question, block), self._count(m, block)
                yield self.answers(v, alpha, count, k, block, keep)
        else:
            each, i = self.length(question.m) * self.smoothing.K.dimension, 0
            while i < len(drawn):
                at_once = max(1, self._at_once // each)
                yield from self._joined(question, drawn[i : i + at_once])
                i += at_once
        if len(drawn) < len(blocks):
            yield self._clean(question, question.also[None, ...])

    def _joined(self, question: Question, blocks: list[int]) -> Iterable[Atoms]:
        """Ask the oracle for several blocks in one batch, which it may answer in threads."""
        k, v, _, m = question[:4]
        counts = [self._count(m, block) for block in blocks]
        room = max(1, self._at_once // self.smoothing.K.dimension)
        if self.away and len(blocks) == 1 and counts[0] > room:
            return self._split(question, blocks[0], counts[0])
        try:
            answers = self._ask(question, blocks, counts)
            if blocks[0] == 0 and k & (k - 1) == 0:
                self._check(answers, v)
        except (Exception, SystemExit) as error:
            if self.away and is_out_of_memory(error) and sum(counts) > 1:
                return self._halved(question, blocks, counts)
            self._locate(error, k, blocks)
            raise
        if self.away:
            return (answers,)
        ends = itertools.accumulate(counts)
        return (answers.take(slice(end - n, end)) for n, end in zip(counts, ends, strict=True))

    def _ask(self, question: Question, blocks: list[int], counts: list[int]) -> Atoms:
        directions: Any = self.smoothing.directions  # pyright: ignore[reportAttributeAccessIssue]
        draws = [
            directions(
                question.v,
                self._scale(question, block),
                count,
                self._couple(self.streams.at(question.k, block)),
            )
            for block, count in zip(blocks, counts, strict=True)
        ]
        ask = self.smoothing.K.near if question.keep else self.smoothing.K._lmo
        return ask(draws[0] if len(draws) == 1 else concat(draws))

    def _halved(self, question: Question, blocks: list[int], counts: list[int]) -> list[Atoms]:
        """Answer a batch for which the device had too little memory in two halves, from now on."""
        self._at_once = min(self._at_once, sum(counts) * self.smoothing.K.dimension) // 2
        _log.warning(
            "%s: no memory for %d directions at once, which are asked in two halves",
            self.smoothing.K,
            sum(counts),
        )
        if len(blocks) == 1:
            return self._split(question, blocks[0], counts[0])
        half = len(blocks) // 2
        return [*self._joined(question, blocks[:half]), *self._joined(question, blocks[half:])]

    def _split(self, question: Question, block: int, count: int) -> list[Atoms]:
        """Answer one block in pieces that fit."""
        rng = self._couple(self.streams.at(question.k, block))
        directions: Any = self.smoothing.directions  # pyright: ignore[reportAttributeAccessIssue]
        draws = directions(question.v, self._scale(question, block), count, rng)
        ask = self.smoothing.K.near if question.keep else self.smoothing.K._lmo
        found, first = [], 0
        while first < count:
            step = max(1, self._at_once // self.smoothing.K.dimension)
            try:
                found.append(ask(draws[first : min(first + step, count), ...]))
                first += step
            except Exception as error:
                if not is_out_of_memory(error) or step == 1:
                    raise
                self._at_once //= 2
        return found

    def _clean(self, question: Question, g: Array) -> Atoms:
        try:
            return self.smoothing.K._lmo(g)
        except (Exception, SystemExit) as error:
            error.add_note(f"in the oracle of {self.smoothing.K}, asked for a certificate")
            raise

    def _count(self, m: int, block: int) -> int:
        length = self.length(m)
        return min(length, m - block * length)

    def _scale(self, question: Question, block: int) -> Any:
        """Return alpha, or the part of one alpha per answer that belongs to a block."""
        if isinstance(question.alpha, float) or np.ndim(question.alpha) == 0:
            return question.alpha
        first = block * self.length(question.m)
        return question.alpha[first : first + self._count(question.m, block)]

    def _partial(self, answers: Atoms, question: Question, pack: bool) -> Partial:
        squares = answers.squares()
        if not math.isfinite(squares):
            error = ValueError("the oracle answered NaN or infinite entries")
            self._locate(error, question.k, range(0))
            raise error
        mean = summarize(answers) if pack else DenseSummary(answers.mean())
        kept = (answers if self.away else portable(answers)) if question.keep else None
        return Partial(answers.count or 1, mean, squares, kept)

    def _locate(self, error: BaseException, k: int, blocks: Sequence[int]) -> None:
        """Say in an exception where it happened."""
        where = f", blocks {blocks[0]} to {blocks[-1]}" if len(blocks) > 1 else ""
        where = f", block {blocks[0]}" if len(blocks) == 1 else where
        error.add_note(f"in the oracle of {self.smoothing.K}, round {k}{where}")

    def _check(self, answers: Atoms, v: Array) -> None:
        """Spot-check one answer against the set: in rounds 0, 1, 2, 4, 8 and so on."""
        K = self.smoothing.K
        if tuple(answers.vertex_shape) != tuple(K.shape):
            raise ValueError(
                f"the oracle must answer shape {K.shape}, found {answers.vertex_shape}"
            )
        # a set known through its oracle alone would take many oracle calls to judge one answer
        point = answers.take(0).to_dense()
        judged = K.cheap_violation and getattr(K, "member", True) is not None
        violation = K.violation(point) if judged else norm(point) - K.radius
        if not violation <= 1e2 * math.sqrt(epsilon(v)) * max(1.0, K.radius):
            raise ValueError(f"the oracle answered a point outside the set, by {violation:.3g}")
