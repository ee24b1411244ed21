"""What is done about workers that are lost, late or hang, and about those whose oracle raises."""

from __future__ import annotations

import itertools
import logging
import math
import time
from abc import ABC, abstractmethod
from typing import ClassVar, Generic

from ..smoothing.job import Job, Question
from ._homes import Homes
from ._messages import Reply
from ._pace import Pace
from ._protocol import Engine, EngineFailure, Late
from ._set_aside import SetAside
from ._tickets import Address, Round, Ticket, Worker

_log = logging.getLogger(__name__.partition(".")[0])

_MAX_LOST_WORKERS = 5
"""Workers that one ticket may cost before the oracle itself is suspected."""

_SLOW_SECONDS = 1.0
"""Seconds after which blocks of data may be given to a second worker, which must load them."""

NO_ROUND = Question(-1, None, 0.0, 0)


class Rescue(Engine, ABC, Generic[Address]):
    """An engine of workers whose tickets are given to others when something goes wrong."""

    latency: ClassVar[float] = 1e-4
    """Seconds that a message and its reply take, roughly; it determines the size of tickets."""

    tries_elsewhere: ClassVar[bool] = True
    """Whether what raises on one worker may be fine on another, in another process or host."""

    def __init__(self) -> None:
        self.workers: list[Worker[Address]] = []  # those that are alive and have the job
        self.job: Job | None = None
        self._ids = itertools.count()
        self._late: list[Late] = []
        self._paces = Pace(), Pace()
        self._homes: Homes | None = None
        self._set_aside = SetAside()
        self._round = Round(NO_ROUND, needs_all=True)

    @abstractmethod
    def _abandon(self, worker: Worker[Address]) -> None:
        """End a worker that hangs or cannot be reached."""

    def _join(self, worker: Worker[Address]) -> None:
        """Use a worker that has read the job."""
        _log.info("%s has joined %s", worker.name, self.name)
        self.workers.append(worker)

    def _answering(self) -> int:
        """Return how many workers are not silent about what others have done long ago."""
        clock = time.perf_counter()
        current = [worker.current() for worker in self.workers]
        return sum(t is None or not t.done or clock - t.began < _SLOW_SECONDS for t in current)

    @property
    def _pace(self) -> Pace:
        """How long blocks take: those of the oracle, or those of data."""
        return self._pace_of(self._round.question)

    def _pace_of(self, question: Question) -> Pace:
        return self._paces[question.task is not None]

    def _late_ticket(self) -> Ticket | None:
        """Return a ticket that a slower worker has not begun, or has had for too long."""
        now, clock = self._round, time.perf_counter()
        if clock < now.repeat_at:
            return None
        now.repeat_at = math.inf
        # Where some blocks take much longer than others, a long block is no reason to repeat it.
        slowest = [worker.slowest for worker in self.workers if worker.slowest]
        slowest = slowest if now.question.task is None else []
        pace = max(self._pace.seconds, min(slowest, default=0.0))
        for worker in self.workers:
            for i, ticket in enumerate(worker.queue.values()):
                if ticket.question is not now.question or ticket.repeated or ticket.done:
                    continue
                if ticket.refused_by is not None:
                    continue  # it is with the only worker that may try it
                expected = pace * len(ticket.blocks) + 20 * self.latency
                if ticket.question.task is not None:
                    # Another worker has to load the blocks first.
                    expected = max(_SLOW_SECONDS, expected) if pace else math.inf
                if (i > 0 and ticket.home is None) or clock - ticket.began > 3 * expected:
                    ticket.repeated = True
                    now.recomputed += len(ticket.blocks)
                    now.slow += len(ticket.blocks)
                    now.repeat_at = 0.0
                    return ticket
                now.repeat_at = min(now.repeat_at, ticket.began + 3 * expected)
        return None

    def _raised(self, worker: Worker[Address], ticket: Ticket, reply: Reply) -> bool:
        """Give what raised on a worker to another one, once; tell whether that was done."""
        now = self._round
        if reply.error is None or ticket.question is not now.question or len(self.workers) == 1:
            return False
        if not self.tries_elsewhere or ticket.refused_by is not None:
            return False
        _log.warning("%s: tried on another worker after %s", worker.name, reply.error.text)
        now.recomputed += len(ticket.blocks)
        now.todo.appendleft(
            Ticket(next(self._ids), now.question, ticket.blocks, worker, refused_by=worker)
        )
        now.lost_worker = True  # so that all workers are asked who can take it
        ticket.done = True
        return True

    def _lose(self, worker: Worker[Address]) -> None:
        """Take back the tickets of a lost worker."""
        now = self._round
        if worker.alive:
            _log.info("%s has left %s", worker.name, self.name)
            worker.alive = False
            self.workers.remove(worker)
            now.lost_worker = True
        current = worker.current()
        if current is not None:
            now.record(worker, current, current.began, "failed")
        for ticket in reversed(worker.queue.values()):
            if ticket.done or ticket.question is not now.question:
                continue
            ticket.lost_workers += ticket is current
            ticket.repeated = False
            if ticket.lost_workers >= _MAX_LOST_WORKERS:
                raise EngineFailure(
                    "workers were lost one after the other on blocks "
                    f"{ticket.blocks[0]} to {ticket.blocks[-1]} of round {now.question.k}: the "
                    "oracle itself seems to hang or to end its process"
                )
            now.recomputed += len(ticket.blocks)
            if ticket.home is None:
                now.todo.appendleft(ticket)
            else:
                self._orphan(ticket)
        worker.queue.clear()

    def _orphan(self, ticket: Ticket) -> None:
        """Divide a ticket about data among the workers that are left."""
        blocks = ticket.blocks
        step = -(-len(blocks) // max(1, len(self.workers)))
        for first in range(0, len(blocks), step):
            part = blocks[first : first + step]
            piece = Ticket(next(self._ids), ticket.question, part, ticket.first_worker)
            piece.lost_workers = ticket.lost_workers
            self._round.todo.append(piece)
        ticket.done = True

    def _expire(self, timeout: float) -> None:
        """End workers whose oracle hangs."""
        now, clock = self._round, time.perf_counter()
        for worker in list(self.workers):
            ticket = worker.current()
            if ticket is None or clock - ticket.began <= self._limit(ticket, timeout):
                continue
            self._abandon(worker)
            if len(ticket.blocks) > 1:
                # The usual pace raises a suspicion only. Single blocks are judged exactly.
                ticket.done = True
                now.recomputed += len(ticket.blocks)
                for block in ticket.blocks:
                    single = range(block, block + 1)
                    now.todo.appendleft(Ticket(next(self._ids), now.question, single, worker))
            else:
                ticket.lost_workers += _MAX_LOST_WORKERS - 2  # One more worker may try.
            self._lose(worker)

    def _limit(self, ticket: Ticket, timeout: float) -> float:
        """Return how long a ticket may take when a single answer may take ``timeout``."""
        assert self.job is not None
        count, pace = len(ticket.blocks), self._pace.seconds
        exact = timeout * count * self.job.length(ticket.question.m)
        return exact if count == 1 or pace == 0 else min(exact, timeout + 3 * pace * count)
