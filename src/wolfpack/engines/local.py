"""The calling process as an engine: the reference for all others."""

from __future__ import annotations

import time

from ..smoothing.job import Job, Partial, Question
from ._protocol import Engine, Span, Stats
from ._worker import BlockWorker


class Local(Engine):
    """Computes every block in the caller's thread; ``engine=None`` is the same and faster."""

    name = "local"

    def __init__(self) -> None:
        self._worker: BlockWorker | None = None
        self._stats = Stats(1)

    def open(self, job: Job) -> None:
        self._worker = BlockWorker(job, serial=False)

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        assert self._worker is not None
        began = time.perf_counter()
        reply = self._worker.work(0, question, blocks)
        partials = reply.contributions()
        ended = time.perf_counter()
        span = Span(question.k, "this process", blocks[0], blocks[-1], began, ended)
        busy = reply.busy / max(ended - began, 1e-9)
        self._stats = Stats(1, busy=min(1.0, busy), spans=(span,))
        return dict(zip(blocks, partials, strict=True))

    def stats(self) -> Stats:
        return self._stats

    def close(self) -> None:
        self._worker = None
