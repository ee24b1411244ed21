"""Graphs as users hand them in: lists of edges, pairs of arrays, sparse matrices."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Array, check_sparse
from ..problem.checks import shown
from ..problem.polyhedron import Polyhedron, Rows

Pairs: TypeAlias = Iterable[tuple[Hashable, Hashable]] | np.ndarray
Edges: TypeAlias = Pairs | tuple[np.ndarray, np.ndarray] | sparse.sparray | sparse.spmatrix
"""Pairs (tail, head), two integer arrays, or a sparse matrix."""


class Graph:
    """Edges between nodes that are numbered 0..n-1, and the labels they had.

    ``edges`` are pairs (tail, head) of hashable labels; or the tuple of two integer arrays (tails,
    heads); or a square sparse matrix whose stored entries are the edges, row by row. Entries (u, v)
    and (v, u) of a matrix are two edges if ``directed``, else one with tail < head. ``name`` is the
    argument's name in messages. `tails` and `heads` number the nodes, edge by edge in the order
    given, and `nodes` are the labels.
    """

    def __init__(self, edges: Edges, name: str, directed: bool = True) -> None:
        if sparse.issparse(edges):
            tails, heads, nodes = _from_matrix(edges, name, directed)
        else:
            tails, heads, nodes = _from_pairs(edges, name)
        if not len(tails):
            raise ValueError(f"{name} must have at least one edge, found none")
        self.tails, self.heads = tails.astype(np.intp), heads.astype(np.intp)
        self.nodes = nodes
        self.edge_count, self.node_count = len(tails), len(nodes)
        self._numbers = {label: i for i, label in enumerate(nodes)}

    def number(self, label: object, name: str) -> int:
        """Return the number of the node with this label; ``name`` says in messages what it is."""
        try:
            return self._numbers[label]
        except (KeyError, TypeError):
            raise ValueError(f"{name} must be a node of the graph, found {shown(label)}") from None

    def matrix(self) -> sparse.csr_array:
        """Return the sparse matrix that counts the edges between two nodes."""
        ends, n = (self.tails, self.heads), self.node_count
        return sparse.csr_array((np.ones(self.edge_count), ends), shape=(n, n))


def _from_matrix(matrix: Any, name: str, directed: bool) -> tuple[Array, Array, list[Hashable]]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, found shape {matrix.shape}")
    check_sparse(matrix, name)
    n = matrix.shape[0]
    ends = np.stack(sparse.coo_array(matrix).coords).astype(np.int64)
    if not directed:
        ends.sort(axis=0)
    tails, heads = np.divmod(np.unique(ends[0] * n + ends[1]), n)
    return tails, heads, list(range(n))


def _from_pairs(edges: Any, name: str) -> tuple[Array, Array, list[Hashable]]:
    tails, heads = _ends(edges, name)
    if len(tails) != len(heads):
        raise ValueError(
            f"{name} must have as many tails as heads, found {len(tails)} and {len(heads)}"
        )
    both = tails + heads
    if all(type(end) is int for end in both):  # integers are numbered in their order
        labels, numbers = np.unique(np.array(both), return_inverse=True)
        return numbers[: len(tails)], numbers[len(tails) :], labels.tolist()
    numbering: dict[Hashable, int] = {}
    try:
        numbers = np.array([numbering.setdefault(label, len(numbering)) for label in both])
    except TypeError as error:
        raise TypeError(f"{name}: the labels of nodes must be hashable: {error}") from None
    return numbers[: len(tails)], numbers[len(tails) :], list(numbering)


def _ends(edges: Any, name: str) -> tuple[list[Hashable], list[Hashable]]:
    """Return the labels of tails and of heads, given two arrays or a sequence of pairs."""
    wanted = f"{name} must be pairs (tail, head), two integer arrays or a sparse matrix"
    arrays = isinstance(edges, tuple) and all(isinstance(end, np.ndarray) for end in edges)
    if arrays and [end.ndim for end in edges] == [1, 1]:
        return edges[0].tolist(), edges[1].tolist()
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"{wanted}, found an array of shape {edges.shape}")
        edges = edges.tolist()
    try:
        pairs = [tuple(edge) for edge in edges]
    except TypeError:
        raise TypeError(f"{wanted}, found {type(edges).__name__}") from None
    wrong = next((pair for pair in pairs if len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"{wanted}, found {shown(wrong)}")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def heights(tails: Array, heads: Array, n: int) -> tuple[Array, Array]:
    """Return the length of the longest path from each node, -1 where a cycle can be reached.

    Also return which nodes have -1. If there are any, some of them form a cycle.
    """
    order = np.argsort(heads, kind="stable")
    starts = np.searchsorted(heads[order], np.arange(n + 1))
    left = np.bincount(tails, minlength=n)  # edges to nodes whose height is not yet known
    height = np.full(n, -1, dtype=np.intp)
    front, level = np.flatnonzero(left == 0), 0
    while len(front):
        height[front] = level
        counts = starts[front + 1] - starts[front]
        # positions of the edges into the front, one run per node
        runs = np.repeat(starts[front] - np.cumsum(counts) + counts, counts)
        before = tails[order[runs + np.arange(counts.sum())]]
        np.subtract.at(left, before, 1)
        front, level = np.unique(before[left[before] == 0]), level + 1
    return height, height < 0


class Routes:
    """The flows that serve demands of one origin, on the edges that lead from it to them.

    ``edges`` numbers these edges; ``demand`` is what each node receives. The graph has no cycle.
    """

    def __init__(self, graph: Graph, origin: int, demand: Array) -> None:
        n, onward = graph.node_count, graph.matrix()
        reached = csgraph.breadth_first_order(onward, origin)[0]
        # one more node, to which all destinations lead
        ends = np.flatnonzero(demand)
        extended = sparse.vstack(
            [
                onward.T,
                sparse.csr_array(
                    (np.ones(len(ends)), (np.zeros(len(ends), int), ends)), shape=(1, n)
                ),
            ]
        )
        extended = sparse.hstack([extended, sparse.csr_array((n + 1, 1))], format="csr")
        useful = np.zeros(n + 1, dtype=bool)
        useful[csgraph.breadth_first_order(extended, n)[0]] = True
        kept = np.zeros(n, dtype=bool)
        kept[reached] = useful[reached]
        self.edges = np.flatnonzero(kept[graph.tails] & kept[graph.heads])
        self.nodes = np.flatnonzero(kept)
        number = np.zeros(n, dtype=np.intp)
        number[self.nodes] = np.arange(len(self.nodes))
        self.tails, self.heads = number[graph.tails[self.edges]], number[graph.heads[self.edges]]
        self.origin, self.demand = int(number[origin]), demand[self.nodes].astype(np.float64)
        height, _ = heights(self.tails, self.heads, len(self.nodes))
        # edges by the height of their heads, all of one height in one run
        self._order = np.argsort(height[self.heads], kind="stable")
        self._runs = np.searchsorted(
            height[self.heads[self._order]], np.arange(int(height.max(initial=0)) + 2)
        )

    def balances(self) -> Rows:
        """Return what each node but the origin, whose balance follows, must keep: A x = demand."""
        count, edges = len(self.edges), np.arange(len(self.edges))
        ends = np.concatenate([self.heads, self.tails]), np.tile(edges, 2)
        signs = np.repeat([1.0, -1.0], count)
        matrix = sparse.csr_array((signs, ends), shape=(len(self.nodes), count))
        others = np.flatnonzero(np.arange(len(self.nodes)) != self.origin)
        return Rows(matrix[others], self.demand[others])

    def serve(self, x: Array) -> Array:
        """Return a flow that serves the demands, x itself if it does.

        From the last nodes back to the origin, what a node needs, its own demand and what it passes
        on, is divided among the edges into it in the proportions of x. So every node but the origin
        is in balance, and with them the origin; nothing is negative. An edge into a node that needs
        something comes from the origin, as ``edges`` has no other ones.
        """
        share = np.maximum(x, 0.0)
        total = np.bincount(self.heads, share, len(self.nodes))
        share = np.where(total[self.heads] > 0.0, share, 1.0)
        total = np.bincount(self.heads, share, len(self.nodes))
        share /= total[self.heads]
        need, flow = self.demand.copy(), np.zeros(len(x))
        for first, last in itertools.pairwise(self._runs.tolist()):
            run = self._order[first:last]
            flow[run] = need[self.heads[run]] * share[run]
            np.add.at(need, self.tails[run], flow[run])
        return flow


def find_cycle(tails: Array, heads: Array, among: Array) -> list[int]:
    """Return the nodes of a cycle, given nodes each of which has an edge to another of them."""
    step = np.full(len(among), -1, dtype=np.intp)
    inside = among[tails] & among[heads]
    step[tails[inside]] = heads[inside]
    path, seen = [], {}
    node = int(np.flatnonzero(among)[0])
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = int(step[node])
    return path[seen[node] :]


def flows_of(graph: Graph, routes: list[Routes]) -> Polyhedron:
    """Return the sums of flows that serve the demands of each origin."""
    selections = [
        sparse.csr_array(
            (np.ones(len(part.edges)), (part.edges, np.arange(len(part.edges)))),
            shape=(graph.edge_count, len(part.edges)),
        )
        for part in routes
    ]
    balances = [part.balances() for part in routes]
    ends = np.cumsum([0, *(len(part.edges) for part in routes)])
    lift, n = sparse.csr_array(sparse.hstack(selections)), int(ends[-1])

    def rounded(z: Array) -> Array:
        blocks = zip(routes, itertools.pairwise(ends.tolist()), strict=True)
        return lift @ np.concatenate([part.serve(z[i:j]) for part, (i, j) in blocks])

    return Polyhedron(
        np.zeros(n),
        np.full(n, np.inf),
        rounded,
        Rows(
            sparse.block_diag([rows.matrix for rows in balances], format="csr"),
            np.concatenate([rows.right for rows in balances]),
        ),
        lift=lift,
    )
