"""The driver's side: what a run asks of an engine, how long it waits, and what it records."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..arrays import Array
from ..atoms import Atoms
from ..problem.checks import between, checked, choice, optional, positive, whole
from ..smoothing.job import Job, Partial, Question
from ._log import EngineLog
from ._protocol import Engine, EngineFailure, Late


@checked(
    oracle_timeout=optional(positive),
    stragglers=choice("wait", "drop"),
    quorum=between(0, 1, low_open=True),
    mode=choice("sync", "async"),
    staleness=whole(0),
)
@dataclass(frozen=True)
class Policy:
    """How long a round waits for its workers.

    Parameters
    ----------
    oracle_timeout : float, optional
        Seconds after which a single oracle call is considered to hang. Its worker is ended and the
        block computed elsewhere. If that hangs too, the run ends with ``engine_failure``.
    stragglers : {"wait", "drop"}
        Whether to wait for every block, or to use the mean over the first ones. Dropping is
        unbiased only if the time of an oracle call does not depend on its answer, and its results
        depend on timing.
    quorum : float
        Share of the blocks that is enough when stragglers are dropped or the mode is async.
    mode : {"sync", "async"}
        "async" uses late answers in later rounds, instead of dropping them.
    staleness : int
        By how many rounds an answer may be late in async mode.
    """

    oracle_timeout: float | None = None
    stragglers: str = "wait"
    quorum: float = 0.75
    mode: str = "sync"
    staleness: int = 2


class Driver:
    """Sends a job to an engine, asks it the questions of one run and records them in ``log``."""

    def __init__(self, engine: Engine, job: Job, policy: Policy, log: EngineLog) -> None:
        self.engine = engine
        self.policy = policy
        self.log = log
        self._waits = policy.mode == "sync" and policy.stragglers == "wait"
        engine.open(job)
        log.name, log.alive = engine.name, engine.stats().workers

    @property
    def guards(self) -> bool:
        """Whether workers answer unperturbed questions too, because the oracle may hang."""
        return self.policy.oracle_timeout is not None

    def clean(self, g: Array) -> Atoms | None:
        """Return a worker's answer to ``g``, unperturbed."""
        question = Question(-1, g, 0.0, 1, keep=True, clean=True)
        found = self.engine.run_round(question, range(1), timeout=self.policy.oracle_timeout)
        self.log.add_spans(self.engine.stats().spans)
        return found[0].answers

    def ask(self, question: Question, blocks: range) -> list[Partial]:
        """Return the contributions to a round, in the order of rounds and blocks."""
        late: list[Late] = []
        need = None
        if not self._waits:
            late = self._late(question)
            need = max(1, math.ceil(self.policy.quorum * len(blocks)) - len(late))
        try:
            found = self.engine.run_round(question, blocks, need, self.policy.oracle_timeout)
        except EngineFailure:
            self.log.add(question.k, len(blocks), len(late), self.engine.stats())
            raise
        if not self._waits:
            late += self._late(question)
            late.sort(key=lambda part: (part.round, part.block))
        self.log.add(question.k, len(blocks), len(late), self.engine.stats())
        partials = [found[block] for block in sorted(found)]
        return [part.partial for part in late] + partials if late else partials

    def _late(self, question: Question) -> list[Late]:
        """Return the late answers of earlier rounds that are wanted and not too old."""
        late = self.engine.late()
        if self.policy.mode == "sync":
            return []
        return [part for part in late if question.k - part.round <= self.policy.staleness]
