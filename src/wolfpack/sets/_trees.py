r"""The law of random spanning trees, by eliminating one node after the other.

A tree T has probability :math:`\prod_{e \in T} w_e / Z`. Eliminating node k with the weights
:math:`w_{ki}` to its neighbours, :math:`S_k = \sum_i w_{ki}`, adds :math:`w_{ki} w_{kj}/S_k` to the
weight of each pair of neighbours (the star of k becomes a mesh). The rest has the partition
function :math:`Z/S_k`, so Z is the product of all S_k: the matrix-tree theorem by Gaussian
elimination on the Laplacian. No step subtracts, so every number keeps its relative accuracy; the
weights are kept as mantissa times a power of 2, because exp(y/alpha) leaves the range of floats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..arrays import Array

ABSENT = -(2**40)
"""Exponent of the weight of pairs that no edge joins."""


class TreeStage(NamedTuple):
    """The elimination of one node k."""

    node: int
    neighbours: Array  # at that time
    log_share: Array  # log of w_ki/S_k for each neighbour i
    mesh: Array  # the part of each pair's new weight that came from the star of k


def elimination_order(u: Array, v: Array, n: int) -> list[tuple[int, Array]]:
    """Return the nodes, each with its neighbours when it goes: fewest neighbours first."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for a, b in zip(u.tolist(), v.tolist(), strict=True):
        neighbours[a].add(b)
        neighbours[b].add(a)
    left, order = set(range(n)), []
    while len(left) > 1:
        k = min(left, key=lambda node: (len(neighbours[node]), node))
        left.remove(k)
        for i in neighbours[k]:
            neighbours[i] |= neighbours[k]
            neighbours[i] -= {i, k}
        order.append((k, np.array(sorted(neighbours[k]), dtype=np.intp)))
    return order


def eliminate(
    order: list[tuple[int, Array]], mantissa: Array, exponent: Array
) -> tuple[float, list[TreeStage]]:
    """Eliminate all nodes but the last, in the order of `elimination_order`.

    The symmetric weights are mantissa * 2**exponent, arrays (n, n), which are overwritten. Return
    log Z and the stages.
    """
    log_z, stages = 0.0, []
    for k, neighbours in order:
        m, e = mantissa[k, neighbours], exponent[k, neighbours]
        top = int(e.max())
        total = float(np.ldexp(m, e - top).sum())
        log_z += math.log(total) + top * math.log(2.0)
        pairs = np.ix_(neighbours, neighbours)
        mesh, mesh_e = m[:, None] * (m / total), e[:, None] + e - top
        old, old_e = mantissa[pairs], exponent[pairs]
        top_e = np.maximum(mesh_e, old_e)
        mesh = np.ldexp(mesh, mesh_e - top_e)
        new = np.ldexp(old, old_e - top_e) + mesh
        mesh /= new
        np.fill_diagonal(mesh, 0.0)
        mantissa[pairs], shift = np.frexp(new)
        exponent[pairs] = top_e + shift
        log_share = np.log(m / total) + (e - top) * math.log(2.0)
        stages.append(TreeStage(k, neighbours, log_share, mesh))
    return log_z, stages


def marginals(stages: list[TreeStage], n: int) -> Array:
    """Return the probability of each pair of nodes to be joined by an edge of the tree.

    The derivative of log Z by the logarithms of the weights, from the last stage back to the
    first: an edge ki is used by itself and through each mesh edge ij that it went into, and S_k,
    by which those were divided, counts against it.
    """
    joined = np.zeros((n, n))
    for k, neighbours, log_share, mesh in reversed(stages):
        pairs = np.ix_(neighbours, neighbours)
        through = joined[pairs] * mesh
        joined[pairs] -= through
        by_node = through.sum(axis=1)
        joined[k, neighbours] = by_node + np.exp(log_share) * (1.0 - 0.5 * by_node.sum())
        joined[neighbours, k] = joined[k, neighbours]
    return np.clip(joined, 0.0, 1.0)


def sample(stages: list[TreeStage], n: int, count: int, rng: np.random.Generator) -> Array:
    """Draw trees: the parent of each node, -1 at the root, in an array (count, n).

    Undoes the eliminations. Given a tree without k, each edge between neighbours of k is a mesh
    edge with its probability; mesh edges are cut, and k is joined to every component that this
    leaves, to one node of it drawn in proportion to the weights w_ki.
    """
    root = last_node(stages)
    parent = np.full((count, n), -1, dtype=np.intp)
    rows = np.arange(count)[:, None]
    place = np.full(n + 1, -1, dtype=np.intp)  # position among the neighbours; no parent: -1
    for k, neighbours, log_share, mesh in reversed(stages):
        place[neighbours] = np.arange(len(neighbours))
        towards = place[parent[:, neighbours]]
        probability = np.where(towards >= 0, mesh[np.arange(len(neighbours)), towards], 0.0)
        cut = rng.random(towards.shape) < probability
        place[neighbours] = -1
        parent[rows, neighbours] = np.where(cut, -1, parent[rows, neighbours])
        tops = _tops(parent, np.broadcast_to(neighbours, (count, len(neighbours))))
        # the largest perturbed score of each component wins (Gumbel's trick)
        score = log_share + rng.gumbel(size=tops.shape)
        same = tops[:, :, None] == tops[:, None, :]
        winner = np.where(same, score[:, None, :], -np.inf).argmax(axis=2)
        wins = winner == np.arange(len(neighbours))
        at_root = tops == root
        row, i = np.nonzero(wins & at_root)
        parent[row, k] = neighbours[i]
        row, i = np.nonzero(wins & ~at_root)
        _hang(parent, row, neighbours[i], k)
    return parent


def last_node(stages: list[TreeStage]) -> int:
    """Return the node that is never eliminated, the root of the sampled trees."""
    return int(stages[-1].neighbours[0])


def _tops(parent: Array, nodes: Array) -> Array:
    """Follow the parents of ``nodes`` to the end, row by row."""
    rows = np.arange(len(parent))[:, None]
    while True:
        above = parent[rows, nodes]
        if (above < 0).all():
            return nodes
        nodes = np.where(above < 0, nodes, above)


def _hang(parent: Array, row: Array, node: Array, k: int) -> None:
    """Make ``node`` a child of k, reversing the path from it to the top of its component."""
    above = np.full(len(row), k)
    while len(row):
        onward = parent[row, node]
        parent[row, node] = above
        left = onward >= 0
        row, above, node = row[left], node[left], onward[left]
