"""Tickets, workers and the round under way, as the driver sees them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from ..smoothing.job import Partial, Question
from ._messages import Reply
from ._protocol import Span, Stats

Address = TypeVar("Address")
"""How an engine reaches a worker: a queue, a process, an actor."""


@dataclass(eq=False, slots=True)
class Ticket:
    """A message: consecutive blocks of one round."""

    id: int
    question: Question
    blocks: range
    first_worker: Worker | None = None  # the worker that got it first
    began: float = 0.0  # when its worker began to compute it, as far as the driver knows
    lost_workers: int = 0  # number of workers that were lost while they computed it
    place: int = -1  # where the engine has put the query point
    repeated: bool = False  # whether a second worker got it
    done: bool = False  # whether nobody waits for its answer any more
    home: Worker | None = None  # the worker that keeps the data of these blocks
    refused_by: Worker | None = None  # the worker on which it raised, so that another one tries it


@dataclass(eq=False, slots=True)
class Worker(Generic[Address]):
    """A worker as the driver sees it."""

    address: Address
    name: str
    alive: bool = True
    slowest: float = 0.0  # seconds of its slowest block, fading with the blocks after it
    queue: dict[int, Ticket] = field(default_factory=dict)  # unanswered tickets, oldest first

    def current(self) -> Ticket | None:
        """Return the ticket that the worker is computing."""
        return next(iter(self.queue.values()), None)

    def late(self) -> bool:
        """Tell whether it computes what another worker has done in its place."""
        ticket = self.current()
        return ticket is not None and ticket.done


@dataclass(eq=False)
class Round:
    """A round under way: what is left to send, what has come, and what it has cost."""

    question: Question
    needs_all: bool  # whether it waits for every block
    todo: deque[Ticket] = field(default_factory=deque)
    done: dict[int, Partial] = field(default_factory=dict)
    all_sent: bool = False  # whether it waits for every block, and all have been sent
    lost_worker: bool = False  # whether a worker was lost, so that others must do its work
    repeat_at: float = 0.0  # when an idle worker may next repeat a ticket; 0 for at once
    bytes_out: int = 0
    bytes_in: int = 0
    recomputed: int = 0
    slow: int = 0
    busy: float = 0.0
    spans: list[Span] = field(default_factory=list)

    def stats(self, workers: int, dropped: int, seconds: float) -> Stats:
        """Return what the round has cost."""
        return Stats(
            workers,
            recomputed=self.recomputed,
            dropped=dropped,
            stragglers=self.slow + dropped,
            bytes_out=self.bytes_out,
            bytes_in=self.bytes_in,
            busy=min(1.0, self.busy / (max(workers, 1) * max(seconds, 1e-9))),
            spans=tuple(self.spans),
        )

    def record(self, worker: Worker, ticket: Ticket, begin: float, status: str) -> None:
        """Record that a worker has finished or failed a ticket."""
        k, blocks, end = ticket.question.k, ticket.blocks, time.perf_counter()
        self.spans.append(Span(k, worker.name, blocks[0], blocks[-1], begin, end, status))


class Received(NamedTuple, Generic[Address]):
    """A reply and its bytes; the reply is None if the worker is lost."""

    worker: Worker[Address]
    reply: Reply | None
    nbytes: int = 0
