"""Sums of blocks on their way to rank 0, on ranks that are threads here."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from typing import Any, cast

import numpy as np
import pytest

from wolfpack.atoms import DenseSummary
from wolfpack.engines._messages import Failure, Reply
from wolfpack.engines._mpi_sums import Gathered, gather
from wolfpack.objectives.partitioned import Task
from wolfpack.objectives.partitioned.tree import NodeSum, nodes_within, sum_of_nodes
from wolfpack.smoothing.job import Partial, Question

BLOCKS = 13
VECTORS = np.random.default_rng(0).standard_normal((BLOCKS, 3)) * 10.0 ** np.arange(-6, 7)[:, None]


class Rank:
    """One end of messages between threads, with the methods of MPI that are used."""

    def __init__(self, rank: int, size: int, boxes: Any) -> None:
        self.rank, self.size, self.boxes = rank, size, boxes

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return self.size

    def send(self, data: bytes, dest: int, tag: int) -> None:
        self.boxes[self.rank, dest].put(data)

    def recv(self, source: int, tag: int) -> bytes:
        return self.boxes[source, self.rank].get(timeout=10)


def share(rank: int, size: int) -> range:
    cuts = [BLOCKS * i // size for i in range(size + 1)]
    return range(cuts[rank], cuts[rank + 1])


def on_ranks(size: int, kind: str, reply: Any) -> tuple[Gathered, int]:
    """What arrives at rank 0, and its bytes."""
    boxes: Any = defaultdict(queue.SimpleQueue)
    question = Question(0, np.zeros(3), 0.0, 1, task=Task(kind))
    results: dict[int, Any] = {}

    def one(rank: int) -> None:
        comm = cast("Any", Rank(rank, size, boxes))
        found = Gathered.of(rank, share(rank, size), reply(rank, share(rank, size)))
        results[rank] = gather(comm, found, question, BLOCKS, 7)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results[0]


def sums(rank: int, blocks: range) -> Reply:
    partials = {block: Partial(0, DenseSummary(np.zeros(0)), 0.0) for block in blocks}
    for node in nodes_within(blocks, BLOCKS):
        total = NodeSum()
        for i in node:
            total.add(VECTORS[i].copy())
        partials[node.start] = Partial(len(node), DenseSummary(total.total()), 0.0)
    return Reply(0, list(partials.values()), busy=float(rank))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 13, 16])
def test_any_number_of_ranks_adds_to_the_same_bits(size):
    whole, _ = on_ranks(1, "value", sums)
    found, received = on_ranks(size, "value", sums)
    assert total(found) == total(whole)
    assert found.busy == {rank: float(rank) for rank in range(size)}
    assert set(found.contributions(range(BLOCKS))) == set(range(BLOCKS))
    if size == 16:
        assert sorted(found.nodes) == [0]  # all halves have met
    assert (received > 0) == (size > 1)


def total(found: Gathered) -> bytes:
    parts = found.contributions(range(BLOCKS)).items()
    nodes = {i: (part.count, part.mean.mean()) for i, part in parts if part.count}
    return sum_of_nodes(nodes, BLOCKS).tobytes()


def test_answers_of_blocks_and_failures_of_ranks_arrive():
    def answers(rank: int, blocks: range) -> Reply:
        if rank == 3:
            return Reply(0, None, Failure(None, "OSError: gone"))
        empty = DenseSummary(np.zeros(0))
        return Reply(0, [Partial(1, empty, 0.0, cast("Any", f"block {i}")) for i in blocks])

    found, _ = on_ranks(4, "facts", answers)
    assert {i: part.answers for i, part in found.nodes.items()} == {
        i: f"block {i}" for i in range(BLOCKS) if i not in share(3, 4)
    }
    assert found.failures[3].text == "OSError: gone"
