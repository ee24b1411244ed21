"""The calling process, by the protocol that all engines follow: the reference for the others."""

from __future__ import annotations

import time

from ..smoothing.job import Job, Partial, Question
from ._protocol import OracleError, Span, Stats
from ._worker import Bench


class Local:
    """Computes every block in the caller's thread; ``engine=None`` is the same and faster."""

    name = "local"

    def __init__(self) -> None:
        self._bench: Bench | None = None
        self._stats = Stats(1)

    def open(self, job: Job) -> None:
        """Keep the job."""
        self._bench = Bench(job, serial=False)

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        """Return the contributions of the blocks, one after the other; nothing is ever late."""
        assert self._bench is not None
        began = time.perf_counter()
        reply = self._bench.work(0, question, blocks)
        if reply.error is not None:
            cause, text = reply.error
            raise OracleError(text) from cause
        assert reply.partials is not None
        ended = time.perf_counter()
        span = Span(question.k, "this process", blocks[0], blocks[-1], began, ended)
        busy = reply.busy / max(ended - began, 1e-9)
        self._stats = Stats(1, busy=min(1.0, busy), spans=(span,))
        return dict(zip(blocks, reply.partials, strict=True))

    def late(self) -> list[tuple[int, int, Partial]]:
        """Return nothing."""
        return []

    def stats(self) -> Stats:
        """Return what the last round cost."""
        return self._stats

    def close(self) -> None:
        """Forget the job."""
        self._bench = None
