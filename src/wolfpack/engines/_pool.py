"""Handing the blocks of a round to workers that may be slow, hang, die or join late.

Blocks travel in *tickets*, runs of consecutive blocks. A worker has up to two of them, so that it
need not wait for the next message. What a lost worker had is given to others; when a worker
has nothing to do, it repeats what a slower one has not begun or not finished. All of this changes
when a block is computed, never what it is.
"""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from ..smoothing.job import Job, Partial, Question
from ._protocol import EngineFailure, OracleError, Span, Stats
from ._ticket import Patience, Ticket, Worker, shares
from ._worker import Reply

_CHANCES = 5
"""Workers that one ticket may cost before the oracle itself is suspected."""


class Pool(ABC):
    """An engine of workers that receive tickets; subclasses say how messages travel.

    Attributes
    ----------
    workers : list of Worker
        Those that are alive and have the job.
    latency : float
        About how many seconds a message and its reply take, for choosing the size of tickets.
    patience : float
        Seconds to wait for a worker when none is left.
    """

    name: str
    latency: ClassVar[float] = 1e-4
    patience: float = 30.0

    def __init__(self) -> None:
        self.workers: list[Worker] = []
        self.job: Job | None = None
        self._ids = itertools.count()
        self._late: list[tuple[int, int, Partial]] = []
        self._pace, self._range = 0.0, (math.inf, 0.0)
        self._stats = Stats(0)
        self._reset()

    @abstractmethod
    def _start(self, job: Job) -> None:
        """Ship the job to all workers, starting them if need be."""

    @abstractmethod
    def _send(self, worker: Worker, ticket: Ticket) -> int:
        """Send a ticket and return its bytes; raise OSError if the worker cannot be reached."""

    @abstractmethod
    def _receive(self, timeout: float) -> list[tuple[Worker, Reply | None, int]]:
        """Return the replies that arrive in time with their bytes; None for a lost worker."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop the workers that were started here."""

    def _announce(self, question: Question) -> int:
        """Make a round's question known before its tickets; return the bytes."""
        return 0

    def _quiet(self) -> AbstractContextManager[Any]:
        """Hold back what would disturb workers during a round."""
        return nullcontext()

    @abstractmethod
    def _maintain(self) -> None:
        """Replace lost workers and take in new ones, where the engine can."""

    @abstractmethod
    def _abandon(self, worker: Worker) -> None:
        """Give up a worker that hangs."""

    def open(self, job: Job) -> None:
        """Ship the job to every worker, starting them if need be."""
        self.job, self._late, self._pace, self._range = job, [], 0.0, (math.inf, 0.0)
        for worker in self.workers:
            worker.longest = 0.0
            for ticket in worker.queue.values():
                ticket.done = True  # what an earlier job left behind is of no use
        try:
            self._start(job)
        except BaseException:
            self.close()
            raise
        self._stats = Stats(len(self.workers))

    def close(self) -> None:
        """Stop the workers that were started here."""
        self._stop()
        for worker in self.workers:
            worker.alive = False
        self.workers = []

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stats(self) -> Stats:
        """Return what the last round cost."""
        return self._stats

    def late(self) -> list[tuple[int, int, Partial]]:
        """Return, once, what came after its round was over."""
        late, self._late = self._late, []
        return late

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        """Return the contributions of the blocks, or of the first ``need`` of them to arrive."""
        self._reset()
        began = time.perf_counter()
        self._sent += self._announce(question)
        todo, done = deque(self._cut(question, blocks, timeout)), dict[int, Partial]()
        if question.also is not None:
            todo.rotate(1)  # the last block, which may take longest, must not be begun last
        wait = 1.0 if timeout is None else min(1.0, timeout / 4)
        wanted = len(blocks) if need is None else need
        self._all = need is None
        free, there = self.workers, len(self.workers)
        try:
            with self._quiet():
                while len(done) < wanted:
                    self._maintain()
                    if self._shaken or len(self.workers) != there:
                        free, there, self._shaken = self.workers, len(self.workers), False
                    self._hand_out(todo, question, free)
                    self._together = self._all and not todo
                    heard = self._receive(self._until_late(wait))
                    for worker, reply, size in heard:
                        self._got += size
                        if reply is None:
                            self._lose(worker, todo, question)
                        else:
                            self._take(worker, reply, done, question)
                    if timeout is not None:
                        self._expire(timeout, todo, question)
                    self._check_alive(question)
                    # who has just replied may be free; others were asked before, unless one is lost
                    free = [worker for worker, _, _ in heard] if heard else self.workers
        finally:
            self._stats = self._summary(len(blocks) - len(done), time.perf_counter() - began)
        return done

    def _reset(self) -> None:
        self._sent = self._got = self._again = self._slow = 0
        self._busy = 0.0
        self._spans: list[Span] = []
        self._alone: Patience | None = None
        self._calm_until = 0.0
        self._shaken = self._all = self._together = False

    def _until_late(self, wait: float) -> float:
        """Return how long to wait for replies before an idle worker should repeat a ticket."""
        if self._calm_until == 0:
            return wait
        return min(wait, max(1e-3, self._calm_until - time.perf_counter()))

    def _summary(self, dropped: int, seconds: float) -> Stats:
        count = len(self.workers)
        busy = min(1.0, self._busy / (max(count, 1) * max(seconds, 1e-9)))
        blocks = self._again, dropped, self._slow + dropped
        return Stats(count, *blocks, self._sent, self._got, busy, tuple(self._spans))

    def _note(self, worker: Worker, ticket: Ticket, begin: float, status: str) -> None:
        """Record that a worker is done with a ticket, for better or worse."""
        k, first, last = ticket.question.k, ticket.blocks[0], ticket.blocks[-1]
        end = time.perf_counter()
        self._spans.append(Span(k, worker.name, first, last, begin, end, status))

    def _cut(self, question: Question, blocks: range, timeout: float | None) -> list[Ticket]:
        """Cut a round into tickets."""
        count = len(blocks)
        if timeout is not None and self._pace == 0:
            sizes = [1] * count  # it is not known yet how long a block takes
        else:
            even = self._even and timeout is None  # what hangs is to be noticed soon
            sizes = shares(count, max(1, len(self.workers)), self._pace, self.latency, even)
        ends = [min(end, count) for end in itertools.accumulate(sizes)]
        pairs = zip([0, *ends], ends, strict=False)
        return [self._ticket(question, blocks[a:b]) for a, b in pairs if a < b]

    @property
    def _even(self) -> bool:
        """Whether it is known that blocks take about the same time."""
        shortest, longest = self._range
        return 0 < longest <= 3 * shortest

    def _ticket(self, question: Question, blocks: range) -> Ticket:
        return Ticket(next(self._ids), question, blocks)

    def _hand_out(self, todo: deque[Ticket], question: Question, free: list[Worker]) -> None:
        """Give those of ``free`` that have room more to do, evenly; idle ones, what is late."""
        while not self._handed(todo, question, free):
            free = self.workers  # what a lost worker had is for everyone

    def _handed(self, todo: deque[Ticket], question: Question, free: list[Worker]) -> bool:
        """Hand out what there is; False if a worker was lost on the way."""
        for length in range(2):
            for worker in free if todo else ():
                if not todo or (length > 0 and not self._may_queue(todo)):
                    break
                if worker.alive and len(worker.queue) == length:
                    ticket = todo.popleft()
                    if not self._give(worker, ticket, todo, question):
                        return False
        for worker in free if not todo else ():
            if worker.alive and not worker.queue:
                ticket = self._second_try(question)
                if ticket is None:
                    break
                if not self._give(worker, ticket, todo, question):
                    return False
        return True

    def _may_queue(self, todo: deque[Ticket]) -> bool:
        """Tell whether the next ticket may wait behind another, where its worker finds it at once.

        Not where some blocks take much longer than others, nor near the end of a round unless it is
        brief: whoever is idle would compute it, and then, needlessly, the worker that has it.
        """
        if not self._even:
            return False
        brief = self._pace * len(todo[0].blocks) < 20 * self.latency
        return brief or (self._all and len(todo) > 2 * len(self.workers))

    def _give(
        self, worker: Worker, ticket: Ticket, todo: deque[Ticket], question: Question
    ) -> bool:
        """Send a ticket; False if the worker is lost."""
        try:
            self._sent += self._send(worker, ticket)
        except OSError:
            self._abandon(worker)
            self._lose(worker, todo, question)
            todo.appendleft(ticket)
            return False
        if not worker.queue:
            ticket.began = time.perf_counter()
        ticket.first = ticket.first or worker
        worker.queue[ticket.id] = ticket
        self._calm_until = 0.0
        return True

    def _second_try(self, question: Question) -> Ticket | None:
        """Return a ticket that a slower worker has not begun, or has had for too long."""
        now = time.perf_counter()
        if now < self._calm_until:
            return None
        self._calm_until = math.inf
        # where some blocks take much longer than others, one that does is no reason to repeat it
        known = (worker.longest for worker in self.workers if worker.longest)
        pace = max(self._pace, min(known, default=0.0))
        for worker in self.workers:
            for i, ticket in enumerate(worker.queue.values()):
                if ticket.question is not question or ticket.copied or ticket.done:
                    continue
                expected = pace * len(ticket.blocks) + 20 * self.latency
                if i > 0 or now - ticket.began > 3 * expected:
                    ticket.copied = True
                    self._again += len(ticket.blocks)
                    self._slow += len(ticket.blocks)
                    self._calm_until = 0.0
                    return ticket
                self._calm_until = min(self._calm_until, ticket.began + 3 * expected)
        return None

    def _take(
        self, worker: Worker, reply: Reply, done: dict[int, Partial], question: Question
    ) -> None:
        ticket = worker.queue.pop(reply.ticket, None)
        head = worker.head()
        if head is not None:
            head.began = time.perf_counter()
        if ticket is None or not worker.alive:
            return
        status = "ok" if ticket.first is worker else "recomputed"
        if ticket.done or ticket.question is not question:
            status = "late"
        self._note(
            worker,
            ticket,
            time.perf_counter() - reply.busy,
            "failed" if reply.error is not None else status,
        )
        pace = reply.busy / len(ticket.blocks)
        worker.longest = max(0.99 * worker.longest, pace)
        # what was long ago fades
        shortest, longest = self._range
        self._range = min(1.01 * shortest, pace), max(0.99 * longest, pace)
        if ticket.done:
            return
        if reply.error is not None:
            cause, text = reply.error
            raise OracleError(text) from cause
        assert reply.partials is not None
        ticket.done = True
        self._pace = pace if self._pace == 0 else 0.8 * self._pace + 0.2 * pace
        self._busy += reply.busy
        if ticket.question is question:
            done.update(zip(ticket.blocks, reply.partials, strict=True))
        else:
            k = ticket.question.k
            pairs = zip(ticket.blocks, reply.partials, strict=True)
            self._late += [(k, block, partial) for block, partial in pairs]

    def _lose(self, worker: Worker, todo: deque[Ticket], question: Question) -> None:
        if worker.alive:
            worker.alive = False
            self.workers.remove(worker)
            self._shaken = True
        head = worker.head()
        if head is not None:
            self._note(worker, head, head.began, "failed")
        for ticket in reversed(worker.queue.values()):
            if ticket.done or ticket.question is not question:
                continue
            ticket.lost += ticket is head
            ticket.copied = False
            if ticket.lost >= _CHANCES:
                raise EngineFailure(
                    "workers were lost one after the other on blocks "
                    f"{ticket.blocks[0]} to {ticket.blocks[-1]} of round {question.k}: the oracle "
                    "itself seems to hang or to end its process"
                )
            self._again += len(ticket.blocks)
            todo.appendleft(ticket)
        worker.queue.clear()

    def _expire(self, timeout: float, todo: deque[Ticket], question: Question) -> None:
        """Give up workers whose oracle hangs."""
        now = time.perf_counter()
        for worker in list(self.workers):
            head = worker.head()
            if head is None or now - head.began <= self._limit(head, timeout):
                continue
            self._abandon(worker)
            if len(head.blocks) > 1:
                # suspected from the usual pace only: block by block it will be judged exactly
                head.done = True
                self._again += len(head.blocks)
                for block in head.blocks:
                    todo.appendleft(self._ticket(question, range(block, block + 1)))
                    todo[0].first = worker
            else:
                head.lost += _CHANCES - 2  # one more chance, not several
            self._lose(worker, todo, question)

    def _limit(self, ticket: Ticket, timeout: float) -> float:
        """Return how long a ticket may take when a single answer may take ``timeout``."""
        assert self.job is not None
        exact = timeout * len(ticket.blocks) * self.job.length(ticket.question.m)
        if len(ticket.blocks) == 1 or self._pace == 0:
            return exact
        return min(exact, timeout + 3 * self._pace * len(ticket.blocks))

    def _check_alive(self, question: Question) -> None:
        if self.workers:
            self._alone = None
            return
        self._alone = self._alone or Patience(self.patience)
        if self._alone.ends():
            raise EngineFailure(f"no worker is left on {self.name} in round {question.k}")
