"""All-or-nothing assignment: every demand on a shortest path, loaded tree by tree."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Array
from ._graph import Graph

_MAX_DISTANCES = 2**22
"""Most (origin, node) pairs whose distances are in memory at the same time."""


class Routing:
    """Shortest paths of a graph whose parallel edges are collapsed to the cheapest.

    ``demand``, shape (origins, nodes), is what each node receives from each origin.
    """

    def __init__(self, graph: Graph, origins: Array, demand: Array) -> None:
        self.graph, self.origins, self.demand = graph, origins, demand
        n = graph.node_count
        key = graph.tails * n + graph.heads
        self._by_pair = np.argsort(key, kind="stable")
        self._pairs, self._first = np.unique(key[self._by_pair], return_index=True)
        tails, self._indices = np.divmod(self._pairs, n)
        self._indptr = np.searchsorted(tails, np.arange(n + 1))

    def unreachable(self) -> tuple[int, int] | None:
        """Return an origin and a node that it must serve but cannot reach, None if none exists."""
        matrix = self._matrix(np.ones(len(self._pairs)))
        for part in self._chunks():
            tree = csgraph.dijkstra(matrix, indices=self.origins[part], unweighted=True)
            missed = np.argwhere(np.isinf(tree) & (self.demand[part] > 0))
            if len(missed):
                row, node = missed[0]
                return int(self.origins[part][row]), int(node)
        return None

    def load(self, cost: Array) -> Array | None:
        """Return the flow on each edge when every demand takes a cheapest path.

        None if a cycle has a negative cost. The trees come from Dijkstra's algorithm; costs with
        negative entries are first made nonnegative by potentials (Johnson's method), which change
        all paths between two nodes alike.
        """
        by_pair = cost[self._by_pair]
        cheapest = np.minimum.reduceat(by_pair, self._first)
        lengths = cheapest if cheapest.min() >= 0 else self._reduced(cheapest)
        if lengths is None:
            return None
        matrix, flow = self._matrix(lengths), np.zeros(len(self._pairs))
        for part in self._chunks():
            origins = self.origins[part]
            _, before = csgraph.dijkstra(matrix, indices=origins, return_predecessors=True)
            flow += self._tree_flows(before, self.demand[part])
        # the first of the cheapest parallel edges carries the flow of its pair
        times = np.diff(np.append(self._first, len(by_pair)))
        is_cheapest = by_pair == np.repeat(cheapest, times)
        position = np.where(is_cheapest, np.arange(len(by_pair)), len(by_pair))
        chosen = self._by_pair[np.minimum.reduceat(position, self._first)]
        x = np.zeros(len(cost))
        x[chosen] = flow
        return x

    def _reduced(self, cost: Array) -> Array | None:
        """Return cost + potential(tail) - potential(head) >= 0, None if a cycle is negative.

        The potentials are the lengths of the shortest walks that end in each node, by the
        Bellman-Ford algorithm. A cycle is negative if they still fall after as many rounds as there
        are nodes, by more than rounding explains. (SciPy's johnson does not terminate where
        rounding makes a reduced cost negative.)
        """
        n = self.graph.node_count
        tails, heads = np.divmod(self._pairs, n)
        into = np.argsort(heads, kind="stable")
        nodes, first = np.unique(heads[into], return_index=True)
        potential, fall = np.zeros(n), np.inf
        for _ in range(n + 1):
            best = np.minimum.reduceat((potential[tails] + cost)[into], first)
            fall = float((potential[nodes] - best).max())
            if fall <= 0:
                break
            potential[nodes] = np.minimum(potential[nodes], best)
        if fall > 8 * n * np.finfo(np.float64).eps * abs(cost).max():
            return None
        return np.maximum(cost + potential[tails] - potential[heads], 0.0)

    def _tree_flows(self, before: Array, demand: Array) -> Array:
        """Return the flow on each pair of nodes, given the predecessors in each origin's tree.

        What passes through a node is its own demand and what passes through its children: nodes are
        added to their predecessors level by level, the deepest first, in all trees at once.
        """
        count, n = before.shape
        own = np.arange(count * n).reshape(count, n)
        row = own[:, :1]
        parent = np.where(before >= 0, row + before, own).reshape(-1)
        depth, above = (before >= 0).reshape(-1).astype(np.intp), parent
        while (further := depth[above]).any():  # twice as far up each time
            depth, above = depth + further, above[above]
        deepest = int(depth.max())
        # small integers are sorted in linear time
        order = np.argsort(depth.astype(np.uint16) if deepest < 2**16 else depth, kind="stable")
        levels = np.searchsorted(depth[order], np.arange(1, deepest + 2))
        through = demand.reshape(-1).astype(np.float64)
        for start, end in zip(levels[-2::-1], levels[:0:-1], strict=True):
            nodes = order[start:end]
            np.add.at(through, parent[nodes], through[nodes])
        trees, heads = np.nonzero((before >= 0) & (through.reshape(count, n) > 0))
        pairs = self._pairs.searchsorted(before[trees, heads].astype(np.intp) * n + heads)
        return np.bincount(pairs, through.reshape(count, n)[trees, heads], len(self._pairs))

    def _matrix(self, data: Array) -> sparse.csr_array:
        n = self.graph.node_count
        return sparse.csr_array((data, self._indices, self._indptr), shape=(n, n))

    def _chunks(self) -> list[slice]:
        size = max(1, _MAX_DISTANCES // self.graph.node_count)
        return [slice(i, i + size) for i in range(0, len(self.origins), size)]
