"""Sums over blocks whose order of addition depends on nothing but the number of blocks.

Blocks 0, ..., p-1 are the leaves of a binary tree: the node of level l with number j covers the
blocks from j 2^l on, and its sum is that of its left half plus that of its right half. Whoever has
all blocks of a node can send its sum in the place of theirs. So a worker with consecutive blocks
sends a few vectors, however many blocks it has, and no engine and no number of workers changes a
bit of the whole sum. Rounding errors grow with the depth of the tree, not with its leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


def nodes_within(blocks: range, count: int) -> Iterator[range]:
    """Yield the largest nodes of a tree with ``count`` leaves whose blocks are all in ``blocks``.

    >>> list(nodes_within(range(1, 7), 7))
    [range(1, 2), range(2, 4), range(4, 7)]
    """
    first, end = blocks.start, blocks.stop
    while first < end:
        size = 1
        while first % (2 * size) == 0 and min(first + 2 * size, count) <= end and size < count:
            size *= 2
        last = min(first + size, count)
        yield range(first, last)
        first = last


class NodeSum:
    """The sum of a node, made from its blocks in their order, with a vector for each level."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, np.ndarray]] = []  # blocks of a part, and its sum

    def add(self, vector: np.ndarray) -> None:
        """Add the next block, whose array is used up."""
        size = 1
        while self._parts and self._parts[-1][0] == size:
            _, left = self._parts.pop()
            left += vector
            vector, size = left, 2 * size
        self._parts.append((size, vector))

    def total(self) -> np.ndarray:
        """Return the sum of all blocks that were added."""
        _, found = self._parts.pop()
        while self._parts:
            _, left = self._parts.pop()
            left += found
            found = left
        return found


def joined(
    found: Mapping[int, tuple[int, np.ndarray]], count: int
) -> dict[int, tuple[int, np.ndarray]]:
    """Return sums of nodes, ``{first block: (blocks, sum)}``, with halves that meet added up.

    >>> joined({0: (1, 1.0), 1: (1, 2.0), 2: (1, 4.0), 4: (1, 8.0)}, 5)
    {0: (2, 3.0), 2: (1, 4.0), 4: (1, 8.0)}
    """
    nodes, size = dict(found), 1
    while size < count:
        for first in sorted(nodes):
            left, right = nodes.get(first), nodes.get(first + size)
            if first % (2 * size) or left is None or right is None or left[0] != size:
                continue
            if right[0] == min(size, count - first - size):
                nodes[first] = size + right[0], left[1] + right[1]
                del nodes[first + size]
        size *= 2
    return nodes


def sum_of_nodes(found: Mapping[int, tuple[int, np.ndarray]], count: int) -> np.ndarray:
    """Return the sum over all blocks from sums of nodes: ``{first block: (blocks, sum)}``."""
    size = 1
    while size < count:
        size *= 2
    return _sum(found, 0, size, count)


def _sum(
    found: Mapping[int, tuple[int, np.ndarray]], first: int, size: int, count: int
) -> np.ndarray:
    known = found.get(first)
    if known is not None and known[0] == min(size, count - first):
        return known[1]
    size //= 2
    left = _sum(found, first, size, count)
    if first + size >= count:
        return left
    return left + _sum(found, first + size, size, count)
