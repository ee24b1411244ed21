"""Sums over blocks of data on the ranks of MPI, added on the way to rank 0.

In step k = 0, 1, ... rank r with r mod 2^(k+1) = 2^k sends what it has to rank r - 2^k. On the way
the halves of a node of the tree of blocks are added as soon as they meet. So no rank receives more
than log2(ranks) messages, and the bits are those of the tree whoever adds.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..atoms import DenseSummary
from ..objectives.partitioned import SUMS, joined
from ..smoothing.job import Partial, Question
from ._messages import Failure, Reply

if TYPE_CHECKING:
    from mpi4py.MPI import Comm


class Gathered(NamedTuple):
    """What some ranks have found.

    Attributes
    ----------
    nodes : dict
        Contributions by their first block.
    busy : dict
        Seconds that each rank has computed.
    failures : dict
        What a block has raised, by rank.
    """

    nodes: dict[int, Partial]
    busy: dict[int, float]
    failures: dict[int, Failure]

    @classmethod
    def of(cls, rank: int, share: range, reply: Reply) -> Gathered:
        """Return what one rank has found about its share."""
        if reply.error is not None:
            return cls({}, {rank: reply.busy}, {rank: reply.error})
        pairs = zip(share, reply.partials or [], strict=True)
        nodes = {block: partial for block, partial in pairs if partial.count}
        return cls(nodes, {rank: reply.busy}, {})

    def and_of(self, other: Gathered, question: Question, count: int) -> Gathered:
        """Return what both have found; sums are added where they are halves of a node."""
        nodes = self.nodes | other.nodes
        if question.task.kind in SUMS:
            sums = {first: (part.count, part.mean.mean()) for first, part in nodes.items()}
            nodes = {
                first: Partial(size, DenseSummary(vector), 0.0)
                for first, (size, vector) in joined(sums, count).items()
            }
        return Gathered(nodes, self.busy | other.busy, self.failures | other.failures)

    def contributions(self, blocks: range) -> dict[int, Partial]:
        """Return a contribution for each block, an empty one where another block has it."""
        nothing = Partial(0, DenseSummary(np.zeros(0)), 0.0)
        return {block: self.nodes.get(block, nothing) for block in blocks}


def gather(
    comm: Comm, found: Gathered, question: Question, count: int, tag: int
) -> tuple[Gathered, int]:
    """Bring what all ranks have found to rank 0; return what is here, and the bytes received."""
    rank, size, step, received = comm.Get_rank(), comm.Get_size(), 1, 0
    while step < size and not rank & step:
        if rank + step < size:
            data: bytes = comm.recv(source=rank + step, tag=tag)
            received += len(data)
            found = found.and_of(pickle.loads(data), question, count)
        step *= 2
    if step < size:
        comm.send(pickle.dumps(found, protocol=5), dest=rank - step, tag=tag)
    return found, received
