"""Distributing the blocks of a round over workers that may be slow, hang, die or join late.

Blocks travel in *tickets*, runs of consecutive blocks. A worker has up to two tickets, so that it
need not wait for the next message. The tickets of a lost worker go to others. A worker that has
nothing to do repeats a ticket that a slower worker has not begun or not finished. All of this
changes when a block is computed, never its bits.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from ..arrays import ArgumentError
from ..problem import LimitReached, under_way
from ..problem.checks import shown, whole
from ..smoothing.job import Job, Partial, Question
from ._homes import Homes
from ._messages import Reply
from ._pace import Deadline, Pace, shares
from ._parts_job import PartsJob
from ._protocol import EngineFailure, Late, Stats
from ._rescue import Rescue
from ._tickets import Address, Received, Round, Ticket, Worker

workers_kind = whole(1, 2**16)
"""A number of workers."""


def cluster_kind(value: Any, name: str) -> Any:
    """A number of workers to start, the address of a cluster, or a client of Dask."""
    if isinstance(value, str) and value:
        return value
    if callable(getattr(value, "scheduler_info", None)) and not isinstance(value, type):
        return value
    try:
        return workers_kind(value, name)
    except ArgumentError:
        raise ArgumentError(
            f"{name} must be a number of workers, an address or a client, found {shown(value)}"
        ) from None


class WorkerPool(Rescue[Address]):
    """An engine of workers that receive tickets; subclasses say how messages travel."""

    patience: float = 30.0
    """Seconds to wait for a worker when none is left."""

    def __init__(self) -> None:
        super().__init__()
        self._stats = Stats(0)

    def __reduce__(self) -> tuple[object, ...]:
        """Make copies new engines with the same settings, which start workers of their own."""
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled, because it holds an object of "
            "yours that lives in this process: make a new engine where it is used"
        )

    @abstractmethod
    def _start(self, job: Job) -> None:
        """Start the workers where necessary, and send the job to each of them."""

    @abstractmethod
    def _send(self, worker: Worker[Address], ticket: Ticket) -> int:
        """Send a ticket and return its bytes; raise OSError if the worker cannot be reached."""

    @abstractmethod
    def _receive(self, timeout: float) -> list[Received[Address]]:
        """Return the replies that arrive in time, and the workers that were lost."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop the workers that this engine has started."""

    @abstractmethod
    def _maintain(self) -> None:
        """Replace lost workers and admit new ones, where the engine can."""

    def _announce(self, question: Question) -> int:
        """Publish a round's question before its tickets; return the bytes."""
        return 0

    def _quiet(self) -> AbstractContextManager[object]:
        """Hold back what would disturb workers during a round."""
        return nullcontext()

    def open(self, job: Job) -> None:
        known, self._homes = self._homes, _homes_of(job)
        if known is not None and _token_of(self.job) == _token_of(job):
            self._homes = known  # These workers keep the same blocks from before.
        self.job, self._late, self._paces = job, [], (Pace(), Pace())
        for worker in self.workers:
            worker.slowest = 0.0
            for ticket in worker.queue.values():
                ticket.done = True  # Nobody waits for the tickets of an earlier job.
        try:
            self._start(job)
        except BaseException:
            self.close()
            raise
        self._stats = Stats(len(self.workers))

    def close(self) -> None:
        self._stop()
        self._forget_workers()

    def _forget_workers(self) -> None:
        for worker in self.workers:
            worker.alive = False
        self.workers = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stats(self) -> Stats:
        return self._stats

    def late(self) -> list[Late]:
        late, self._late = self._late, []
        return late

    def run_round(
        self,
        question: Question,
        blocks: range,
        need: int | None = None,
        timeout: float | None = None,
    ) -> dict[int, Partial]:
        began = time.perf_counter()
        self._round = Round(question, needs_all=need is None)
        self._round.bytes_out += self._announce(question)
        self._cut(blocks, timeout)
        try:
            with self._quiet():
                self._collect(len(blocks) if need is None else need, timeout)
        except BaseException as error:
            self._count_handed_out(blocks)
            if isinstance(error, LimitReached):
                error.done = self._round.done
            raise
        finally:
            dropped, seconds = len(blocks) - len(self._round.done), time.perf_counter() - began
            self._stats = self._round.stats(self._answering(), dropped, seconds)
        return self._round.done

    def _count_handed_out(self, blocks: range) -> None:
        """Count the calls of a round that ends early: those of the blocks that workers were given.

        Threads finish what they were given. Other workers are stopped in the middle of a ticket,
        so that for them this number is an upper bound.
        """
        counts, job, question = under_way(), self.job, self._round.question
        if counts is not None and job is not None:
            kept = {block for ticket in self._round.todo for block in ticket.blocks}
            given = [block for block in blocks if block not in kept]
            counts.cut(sum(job.answers_of(question, block) for block in given))

    def _cut(self, blocks: range, timeout: float | None) -> None:
        """Cut a round into tickets."""
        if self._round.question.task is not None and self._homes is not None:
            # Blocks of a worker that is frozen move to others, and some return with it.
            in_time = [worker for worker in self.workers if not worker.late()]
            for home, run in self._homes.assign(in_time or self.workers):
                self._round.todo.append(
                    Ticket(next(self._ids), self._round.question, run, home=home)
                )
            return
        count, pace, todo = len(blocks), self._pace, self._round.todo
        if timeout is not None and pace.seconds == 0:
            sizes = [1] * count  # It is not known yet how long a block takes.
        else:
            even = timeout is None and pace.even  # Small tickets show sooner that an oracle hangs.
            sizes = shares(count, max(1, len(self.workers)), pace.seconds, self.latency, even)
        first = 0
        for size in sizes:
            if first < count:
                part = blocks[first : first + size]
                todo.append(Ticket(next(self._ids), self._round.question, part))
            first += size
        if self._round.question.also is not None:
            todo.rotate(1)  # The last block may take longest, so it must not be begun last.

    def _collect(self, wanted: int, timeout: float | None) -> None:
        """Send tickets and receive replies until enough blocks are there."""
        now = self._round
        wait = 1.0 if timeout is None else min(1.0, timeout / 4)
        free, count, deadline = self.workers, len(self.workers), None
        counts = under_way()
        while len(now.done) < wanted:
            if counts is not None and counts.limited:
                counts.check_time()
                wait = min(wait, max(1e-3, counts.deadline - time.perf_counter()))
            self._maintain()
            if now.lost_worker or len(self.workers) != count:
                free, count, now.lost_worker = self.workers, len(self.workers), False
            self._hand_out(free)
            now.all_sent = now.needs_all and not now.todo
            until_repeat = max(1e-3, now.repeat_at - time.perf_counter())
            received = self._receive(min(wait, until_repeat) if now.repeat_at else wait)
            free = []
            for worker, reply, size in received:
                now.bytes_in += size
                free.append(worker)
                if reply is None:
                    self._lose(worker)
                else:
                    self._accept(worker, reply)
            if timeout is not None:
                self._expire(timeout)
            if self.workers:
                deadline = None
            elif deadline is None:
                deadline = Deadline(self.patience)
            elif deadline.passed():
                raise EngineFailure(
                    f"no worker is left on {self.name} in round {now.question.k}"
                    f"{self._set_aside.why()}"
                )
            # Workers that have just replied may be free. All are asked when nobody has replied.
            free = free or self.workers

    def _hand_out(self, free: list[Worker[Address]]) -> None:
        """Send tickets evenly to the workers of ``free`` with room; idle ones repeat late tickets.

        When a worker turns out to be lost, all workers are asked, since they must do its work.
        """
        todo = self._round.todo
        for length in range(2):
            for worker in free if todo else ():
                if not todo or (length > 0 and not self._may_queue()):
                    break
                has_room = worker.alive and len(worker.queue) == length
                ticket = self._next_for(worker) if has_room else None
                if ticket is not None and not self._give(worker, ticket):
                    return self._hand_out(self.workers)
        # An idle worker may leave tickets that wait for the worker which keeps their data.
        for worker in free:
            if worker.alive and not worker.queue:
                ticket = self._late_ticket()
                if ticket is None:
                    break
                if not self._give(worker, ticket):
                    return self._hand_out(self.workers)

    def _next_for(self, worker: Worker[Address]) -> Ticket | None:
        """Take the next ticket that a worker may have: none whose data another one has."""
        todo = self._round.todo
        for ticket in todo:
            if ticket.refused_by is worker and len(self.workers) > 1:
                continue
            home = ticket.home
            if home is None or home is worker or not home.alive or home.late():
                todo.remove(ticket)
                return ticket
        return None

    def _may_queue(self) -> bool:
        """Tell whether the next ticket may wait behind another one on the same worker.

        It may not near the end of a round unless the ticket is brief. An idle worker would compute
        it first, and then its own worker would compute it again, needlessly. Where some blocks take
        much longer than others, it may while many brief tickets are left.
        """
        now, pace = self._round, self._pace
        brief = pace.seconds * len(now.todo[0].blocks) < 20 * self.latency
        many = now.needs_all and len(now.todo) > 2 * len(self.workers)
        if pace.even:
            return brief or many
        return many and pace.seconds * len(now.todo[0].blocks) < 200 * self.latency

    def _give(self, worker: Worker[Address], ticket: Ticket) -> bool:
        """Send a ticket; return False if the worker is lost."""
        now = self._round
        try:
            now.bytes_out += self._send(worker, ticket)
        except OSError:
            self._abandon(worker)
            self._lose(worker)
            now.todo.appendleft(ticket)
            return False
        if not worker.queue:
            ticket.began = time.perf_counter()
        ticket.first_worker = ticket.first_worker or worker
        worker.queue[ticket.id] = ticket
        now.repeat_at = 0.0
        return True

    def _accept(self, worker: Worker[Address], reply: Reply) -> None:
        """Keep what a worker has replied."""
        now, clock = self._round, time.perf_counter()
        ticket = worker.queue.pop(reply.ticket, None)
        if worker.queue:
            next(iter(worker.queue.values())).began = clock
        if ticket is None or not worker.alive:
            return
        in_time = ticket.question is now.question
        status = "ok" if ticket.first_worker is worker else "recomputed"
        if ticket.done or not in_time:
            status = "late"
        if reply.error is not None:
            status = "failed"
        now.record(worker, ticket, clock - reply.busy, status)
        seconds = reply.busy / len(ticket.blocks)
        if ticket.question.task is None:
            worker.slowest = max(0.99 * worker.slowest, seconds)
        self._pace_of(ticket.question).update(seconds, used=not ticket.done)
        if ticket.done or self._raised(worker, ticket, reply):
            return
        found = reply.contributions(worker.name if self.tries_elsewhere else "")
        if ticket.refused_by is not None and ticket.question.task is not None and self._homes:
            self._homes.move(ticket.blocks, worker, ticket.refused_by)
        pairs = zip(ticket.blocks, found, strict=True)
        ticket.done = True
        now.busy += reply.busy
        if in_time:
            now.done.update(pairs)
        else:
            self._late += [Late(ticket.question.k, block, partial) for block, partial in pairs]


def _homes_of(job: Job) -> Homes | None:
    return Homes(job.weights) if isinstance(job, PartsJob) else None


def _token_of(job: Job | None) -> str | None:
    return job.data.token if isinstance(job, PartsJob) else None
