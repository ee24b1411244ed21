"""Unit flows in a graph without cycles: convex combinations of paths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csgraph, csr_array

from ..arrays import Array
from ..atoms import Sparse
from ..problem import Polyhedron
from ._faces import balanced, longest, near, restricted
from ._graph import Edges, Graph, Routes, find_cycle, flows_of, heights
from ._laws import NoiseLike, smoothing_arguments
from ._lifted import LiftedSet
from ._prices import Prices, distances


class Level(NamedTuple):
    """Nodes of one height, their edges, and where the edges of each node begin among these."""

    nodes: slice
    edges: slice
    starts: Array


class DagFlow(LiftedSet):
    r"""Unit flows from a source to a target of a directed graph without cycles.

    .. math:: \{x \ge 0,\ \sum_{e \text{ out of } v} x_e - \sum_{e \text{ into } v} x_e
        = 1_{v=s} - 1_{v=t}\ \text{for all } v\},

    the convex hull of the indicator vectors of the paths from s to t, one entry per edge.

    Parameters
    ----------
    edges : sequence of pairs, pair of integer arrays, or scipy sparse matrix
        The edges (tail, head); labels may be any hashable objects, parallel edges are allowed.
    source, target : label
        The nodes s and t.

    Notes
    -----
    The oracle is the shortest path by dynamic programming, O(edges) per direction, one sweep for a
    whole batch; a single direction that is not negative is left to Dijkstra's algorithm. Of equally
    short paths it takes the one whose edges come first. With Gumbel noise
    on the lengths of the N paths (lifted smoothing) a path P is drawn with probability proportional
    to exp(<y, P>/alpha). Then

    .. math:: s_\alpha(y) = \alpha \log \sum_P e^{\langle y, P\rangle / \alpha}

    is the same sweep with log-sum-exp in the place of max, the smoothed argmax is the flow that
    leaves every node in the proportions of that sweep, and s_1(0) = log N. Two paths differ in at
    most 2 R^2 edges, R^2 being the length of the longest one, so s_alpha is R^2/(2 alpha)-smooth.

    Examples
    --------
    >>> K = DagFlow([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")
    >>> np.asarray(K.lmo(np.array([1.0, 1.0, 3.0])))
    array([1., 1., 0.])
    >>> K.smoothed(np.zeros(3), alpha=1.0)
    array([0.5, 0.5, 0.5])
    """

    summary = "{K.graph.edge_count} edges, {K.graph.node_count} nodes"

    def __init__(self, edges: Edges, source: object, target: object) -> None:
        graph = Graph(edges, "edges")
        s, t = graph.number(source, "source"), graph.number(target, "target")
        if s == t:
            raise ValueError(f"source and target must differ, found {source!r} for both")
        _, on_cycle = heights(graph.tails, graph.heads, graph.node_count)
        if on_cycle.any():
            cycle = find_cycle(graph.tails, graph.heads, on_cycle)
            names = " -> ".join(str(graph.nodes[v]) for v in [*cycle, cycle[0]][:8])
            raise ValueError(f"edges must not contain a cycle, found {names}")
        self.graph, self.source, self.target = graph, source, target
        self.shape = (graph.edge_count,)
        self._supply = np.zeros(graph.node_count)
        self._supply[[s, t]] = 1.0, -1.0
        self._arrange(s, t)
        self.radius = math.sqrt(self.longest)
        self.diameter = math.sqrt(2.0 * self.longest) if len(self._edges) > self.longest else 0.0

    def _arrange(self, s: int, t: int) -> None:
        """Number the nodes on paths by height, so that each sweep works on contiguous slices.

        The target gets number 0 and the source the last one; the edges on paths are sorted by the
        numbers of their tails.
        """
        graph = self.graph
        onward = graph.matrix()
        reached, reaching = (
            np.isin(np.arange(graph.node_count), csgraph.breadth_first_order(m, i)[0])
            for m, i in ((onward, s), (onward.T, t))
        )
        if not reached[t]:
            raise ValueError(f"target {self.target!r} cannot be reached from {self.source!r}")
        useful = reached & reaching
        kept = np.flatnonzero(useful[graph.tails] & useful[graph.heads])
        tails, heads = graph.tails[kept], graph.heads[kept]
        height, _ = heights(tails, heads, graph.node_count)
        order = np.flatnonzero(useful)
        order = order[np.argsort(height[order], kind="stable")]
        number = np.full(graph.node_count, -1, dtype=np.intp)
        number[order] = np.arange(len(order))
        by_tail = np.argsort(number[tails], kind="stable")
        self._edges = kept[by_tail]
        self._tails, self._heads = number[tails[by_tail]], number[heads[by_tail]]
        self._first = np.searchsorted(self._tails, np.arange(len(order) + 1))
        self.longest = int(height[s])
        bounds = np.searchsorted(height[order], np.arange(1, self.longest + 2))
        self._levels: list[Level] = []
        for a, b in itertools.pairwise(bounds.tolist()):
            first, last = self._first[[a, b]].tolist()
            self._levels.append(Level(slice(a, b), slice(first, last), self._first[a:b] - first))

    @cached_property
    def log_count(self) -> float:
        """The logarithm of the number of paths."""
        return self._soft_lengths(np.zeros(len(self._edges)), 1.0)[0]

    def _lmo(self, g: Array) -> Sparse:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.shape[0])
        if len(rows) == 1:
            answers = self._path(rows[0][self._edges])
        else:
            step = self._best_edges(rows.T[self._edges])
            columns = np.arange(len(rows))
            answers = self._walk(len(columns), lambda node: step[node, columns])
        return answers.take(0) if g.ndim == 1 else answers

    def _best_edges(self, cost: Array) -> Array:
        """Return the first edge of the shortest path to t from each node, for columns of costs."""
        n, batch = len(self._first) - 1, cost.shape[1]
        length = np.zeros((n, batch))
        best = np.zeros((n, batch), dtype=np.intp)
        position = np.arange(len(cost))[:, None]
        for nodes, edges, starts in self._levels:
            through = cost[edges] + length[self._heads[edges]]
            length[nodes] = np.minimum.reduceat(through, starts, axis=0)
            # the first of equally good edges
            shortest = through == length[self._tails[edges]]
            ranks = np.where(shortest, position[edges], len(cost))
            best[nodes] = np.minimum.reduceat(ranks, starts, axis=0)
        return best

    def _path(self, cost: Array) -> Sparse:
        """Return the path that `_best_edges` and `_walk` find for one column of costs."""
        length = self._lengths(cost)
        shortest = np.flatnonzero(cost + length[self._heads] == length[self._tails])[::-1]
        best = np.zeros(len(length), dtype=np.intp)
        best[self._tails[shortest]] = shortest  # the first one is written last
        node, path = len(best) - 1, []
        while node > 0:
            path.append(best[node])
            node = self._heads[path[-1]]
        return Sparse(self._edges[path][None, :], 1.0, self.shape)

    def _lengths(self, cost: Array) -> Array:
        """Return the lengths of the shortest paths to the target.

        Costs that are not negative are left to Dijkstra's algorithm, which is compiled and adds the
        same numbers in the same order.
        """
        n = len(self._first) - 1
        if cost.min() >= 0:
            order, starts = self._into
            into = csr_array((cost[order], self._tails[order], starts), shape=(n, n))
            return csgraph.dijkstra(into, indices=0)
        length = np.zeros(n)
        for nodes, edges, starts in self._levels:
            through = cost[edges] + length[self._heads[edges]]
            length[nodes] = np.minimum.reduceat(through, starts)
        return length

    @cached_property
    def _into(self) -> tuple[Array, Array]:
        """The edges by their heads, and where those into each node begin."""
        order = np.argsort(self._heads, kind="stable")
        return order, np.searchsorted(self._heads[order], np.arange(len(self._first)))

    def _walk(self, count: int, choose: Callable[[Array], Array]) -> Sparse:
        """Return paths from s to t; ``choose`` returns the edge on which each leaves its node."""
        node = np.full(count, len(self._first) - 2)
        edges = np.zeros((count, self.longest), dtype=np.intp)
        on_path = np.zeros((count, self.longest), dtype=bool)
        for i in range(self.longest):
            edge = choose(node)
            on_path[:, i] = node > 0
            edges[:, i] = self._edges[edge]
            node = np.where(node > 0, self._heads[edge], 0)
        width = max(1, int(on_path.sum(axis=1).max(initial=1)))
        edges, on_path = edges[:, :width], on_path[:, :width]
        return Sparse(edges, 1.0 if on_path.all() else on_path.astype(np.float64), self.shape)

    def _lmo_face(self, x: Array, g: Array) -> Sparse:
        return self._lmo(restricted(g, x <= near(self, x)))

    def _max_step(self, x: Array, d: Array) -> float:
        graph, n = self.graph, self.graph.node_count
        net = np.bincount(graph.tails, d, n) - np.bincount(graph.heads, d, n)
        return longest(x, -d) if balanced(net, d) else 0.0

    def violation(self, x: Array) -> float:
        graph, n = self.graph, self.graph.node_count
        net = np.bincount(graph.tails, x, n) - np.bincount(graph.heads, x, n)
        return float(np.maximum(-x.min(), abs(net - self._supply).max()))

    def _polyhedron(self) -> Polyhedron:
        received = np.maximum(-self._supply, 0.0)
        origin = int(np.argmax(self._supply))
        return flows_of(self.graph, [Routes(self.graph, origin, received)])

    def _prices(self, g: Array) -> Prices:
        graph, source = self.graph, np.flatnonzero(self._supply > 0)
        return {"nodes": distances(graph.tails, graph.heads, g, graph.node_count, source)[0]}

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        _, share = self._soft_lengths(y[self._edges], alpha)
        through = np.zeros(len(self._first) - 1)  # flow through each node
        through[-1] = 1.0
        for level in reversed(self._levels):
            edges = level.edges
            share[edges] *= through[self._tails[edges]]
            np.add.at(through, self._heads[edges], share[edges])
        x = np.zeros(self.shape)
        x[self._edges] = share
        return x

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        return self._soft_lengths(y[self._edges], alpha)[0]

    def _soft_lengths(self, y: Array, alpha: float) -> tuple[float, Array]:
        """Return s_alpha, and the share of the flow through its tail that each edge takes.

        The potential of a node is alpha log of the sum of exp(<y, P>/alpha) over the paths P from
        it to the target.
        """
        potential, share = np.zeros(len(self._first) - 1), np.empty(len(y))
        largest, total = np.zeros_like(potential), np.ones_like(potential)
        with np.errstate(over="ignore"):  # a quotient of -inf has weight 0
            for nodes, edges, starts in self._levels:
                tails = self._tails[edges]
                through = y[edges] + potential[self._heads[edges]]
                largest[nodes] = np.maximum.reduceat(through, starts)
                weight = np.exp((through - largest[tails]) / alpha)
                total[nodes] = np.add.reduceat(weight, starts)
                potential[nodes] = largest[nodes] + alpha * np.log(total[nodes])
                share[edges] = weight / total[tails]
        return float(potential[-1]), share

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Sparse:
        y, alpha = smoothing_arguments(self, y, alpha)
        _, share = self._soft_lengths(y[self._edges], alpha)
        cumulative = np.concatenate([[0.0], np.cumsum(share)])
        low, high = cumulative[self._first[:-1]], cumulative[self._first[1:]]

        def choose(node: Array) -> Array:
            mark = low[node] + (high - low)[node] * rng.random(count)
            edge = cumulative[1:].searchsorted(mark, side="right")
            # after rounding errors the edge must still be one of this node
            return np.clip(edge, self._first[node], np.maximum(self._first[node + 1] - 1, 0))

        return self._walk(count, choose)
