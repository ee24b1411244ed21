"""How a round is cut into messages, and who gets them when."""

import pickle
import time
from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from wolfpack.engines import Dask
from wolfpack.engines._homes import Homes
from wolfpack.engines._messages import Reply
from wolfpack.engines._pace import shares
from wolfpack.engines._tickets import Received, Round, Ticket, Worker
from wolfpack.engines._worker_pool import WorkerPool
from wolfpack.engines.dask_ import ActorAddress
from wolfpack.smoothing.job import Partial, Question

LATENCY = 1e-3


@pytest.mark.parametrize("pace", [0.0, 1e-6, 1e-3, 2e-2, 1.0])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(("count", "workers"), [(1, 2), (2, 2), (32, 2), (33, 2), (64, 5)])
def test_tickets_cover_the_round(count, workers, pace, even):
    sizes = shares(count, workers, pace, LATENCY, even)
    assert min(sizes) >= 1
    # what is beyond the round is less than one ticket for every worker
    assert count <= sum(sizes) < count + workers * sizes[-1]


def test_equal_blocks_are_shared_evenly():
    for pace in (0.0, 1e-6, 1e-3, 1e-2, 1.0):
        sizes = shares(32, 2, pace, LATENCY, True)
        assert sum(sizes[::2]) == sum(sizes[1::2]) == 16


def test_quick_blocks_make_one_message_and_slow_ones_many():
    assert shares(32, 2, 1e-6, LATENCY, True) == [16, 16]
    assert shares(32, 2, 1.0, LATENCY, True) == [1] * 32
    middle = shares(32, 2, 2e-2, LATENCY, True)
    assert middle == sorted(middle, reverse=True)
    assert (middle[0], middle[-1]) == (8, 1)
    assert max(shares(32, 2, 2e-2, LATENCY, False)) < 8


class Clockwork(WorkerPool):
    """Workers in turns, each block of which takes as long as it is told."""

    name = "clockwork"
    latency = LATENCY

    def __init__(self, seconds):
        super().__init__()
        self.workers = [Worker(deque(), name) for name in "ab"]
        self.seconds = seconds
        self.turn = 0
        self.waiting = []
        self.given = []

    def _start(self, job): ...

    def _maintain(self): ...

    def _abandon(self, worker): ...

    def _stop(self): ...

    def _send(self, worker, ticket):
        worker.address.append(ticket)
        self.given += ticket.blocks
        return 0

    def _receive(self, timeout):
        self.waiting.append(max(len(worker.queue) for worker in self.workers))
        self.turn += 1
        worker = self.workers[self.turn % 2]
        worker = worker if worker.address else self.workers[1 - self.turn % 2]
        ticket = worker.address.popleft()
        busy = sum(self.seconds(block) for block in ticket.blocks)
        return [Received(worker, Reply(ticket.id, list(ticket.blocks), None, busy))]

    def round(self, need=None):
        self.waiting, self.given = [], []
        return self.run_round(Question(1, np.zeros(1), 0.1, 32), range(32), need)


def test_workers_find_their_next_block_until_the_round_ends():
    pool = Clockwork(lambda block: 1.0)
    pool.round()
    assert sorted(pool.round()) == sorted(pool.given) == list(range(32))
    assert pool.waiting[0] == 2  # the one that it computes and one more
    assert set(pool.waiting[-4:]) == {1}  # the last ones are for whoever is free


@pytest.mark.parametrize("need", [None, 16])
def test_nothing_waits_behind_a_block_that_may_take_long(need):
    pool = Clockwork(lambda block: 1.0 if need or block % 8 else 100.0)
    pool.round()
    for worker in pool.workers:
        worker.address.clear()
        worker.queue.clear()
    pool.round(need)
    assert set(pool.waiting) == {1}


def test_a_worker_that_is_silent_about_what_is_done_does_not_count():
    pool = Clockwork([1.0])
    question = Question(3, None, 0.0, 1)
    long_ago = Ticket(0, question, range(1), began=time.perf_counter() - 60.0)
    pool.workers[0].queue[0] = long_ago
    assert pool._answering() == 2  # the round still waits for it
    long_ago.done = True
    assert pool._answering() == 1
    long_ago.began = time.perf_counter()
    assert pool._answering() == 2


def test_blocks_that_raised_on_a_worker_do_not_go_back_to_it():
    homes = Homes(np.ones(6))
    homes.assign(["a", "b"])
    homes.move(range(3), "b", refused_by="a")
    homes.assign(["a", "b"])
    assert homes.owners[:3] == ["b"] * 3
    assert "a" in homes.owners  # it takes others
    homes.assign(["a"])
    assert homes.owners == ["a"] * 6  # where nobody else is left


def test_a_ticket_that_overtakes_its_question_on_dask_waits_for_it():
    """The question is sent once, however the messages of a round arrive."""
    engine, sent = Dask("tcp://nowhere:1"), []
    loop = SimpleNamespace(add_callback=lambda deliver, worker, data: sent.append(data))
    engine._client = SimpleNamespace(status="running", loop=loop)
    question = Question(0, np.zeros(1000), 0.0, 8)
    engine._round = Round(question, needs_all=True)
    engine._announce(question)
    worker = Worker(ActorAddress("here", cast("Any", None), cast("Any", None)), "here")
    engine.workers = [worker]
    first, second = (Ticket(i, question, range(i, i + 1)) for i in range(2))
    assert engine._give(worker, first)
    assert engine._give(worker, second)

    def reply(ticket: Ticket, *partials: Partial) -> list[Any]:
        found = Reply(ticket.id, list(partials) or None)
        engine._replies.put((worker, pickle.dumps(found)))
        return engine._receive(0.0)

    assert reply(second) == []
    assert [pickle.loads(message)[2] is None for message in sent] == [False, True]
    assert len(reply(first, Partial(1, cast("Any", 0), 0.0))) == 1
    assert [pickle.loads(message)[0] for message in sent] == [0, 1, 1]
    assert pickle.loads(sent[-1])[2] is None
    assert engine._round.bytes_out == question.v.nbytes
    # whoever has lost the question is sent it again
    worker.queue.pop(first.id)
    assert reply(second) == []
    assert pickle.loads(sent[-1])[2] is not None
