"""The spanning trees of a graph."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Array
from ..atoms import Sparse
from ._distance import separation_of_bases
from ._graph import Edges, Graph
from ._laws import NoiseLike, smoothing_arguments
from ._lifted import LiftedSet
from ._trees import ABSENT, TreeStage, eliminate, elimination_order, last_node, marginals, sample

_NEGLIGIBLE = 40.0
"""exp(-40) is far below the rounding of a probability."""


class SpanningTree(LiftedSet):
    r"""The spanning tree polytope of an undirected connected graph.

    .. math:: \mathrm{conv}\{1_T : T \text{ a spanning tree}\} = \{x \ge 0,\ x(E) = |V| - 1,\
        x(E[S]) \le |S| - 1 \text{ for all } \emptyset \ne S \subset V\},

    one entry per edge.

    Parameters
    ----------
    graph : sequence of pairs, pair of integer arrays, or scipy sparse matrix
        The edges {u, v}; labels may be any hashable objects. Parallel edges are allowed, loops are
        in no tree. A matrix has the edge {u, v}, once, if it stores an entry at (u, v) or (v, u);
        the edges are sorted.

    Notes
    -----
    The oracle sorts the edges and keeps those that close no cycle, O(E log E); of equal entries the
    first ones are taken. A batch is one minimum spanning forest of disjoint copies of the graph.
    With Gumbel noise on the weights of the N trees (lifted smoothing) a tree is drawn with
    probability proportional to exp(<y, T>/alpha), and s_alpha(y) is alpha log of the sum of these:
    a determinant (matrix-tree theorem), here by elimination in the order of fewest neighbours,
    O(V^3) at most. The smoothed argmax are the probabilities of the edges, s_1(0) = log N, and
    s_alpha is D^2/(4 alpha)-smooth with the diameter D.

    Examples
    --------
    >>> K = SpanningTree([(0, 1), (1, 2), (0, 2)])
    >>> np.asarray(K.lmo(np.array([1.0, -2.0, 0.0])))
    array([0., 1., 1.])
    >>> K.smoothed(np.zeros(3), alpha=1.0).round(6)
    array([0.666667, 0.666667, 0.666667])
    """

    summary = "{K.graph.edge_count} edges, {K.graph.node_count} nodes"

    def __init__(self, graph: Edges) -> None:
        self.graph = Graph(graph, "graph", directed=False)
        n = self.graph.node_count
        if n < 2:
            raise ValueError("graph must have at least two nodes, found one")
        parts, part = csgraph.connected_components(self.graph.matrix(), directed=False)
        if parts > 1:
            apart = self.graph.nodes[int(np.argmax(part != part[0]))]
            raise ValueError(
                f"graph must be connected, found {parts} components: no path joins "
                f"{self.graph.nodes[0]!r} and {apart!r}"
            )
        self.shape = (self.graph.edge_count,)
        low = np.minimum(self.graph.tails, self.graph.heads)
        high = np.maximum(self.graph.tails, self.graph.heads)
        # parallel edges are one pair of nodes; loops are no pair
        proper = np.flatnonzero(low < high)
        key = low[proper] * n + high[proper]
        by_pair = np.argsort(key, kind="stable")
        self._edges = proper[by_pair]
        self._pairs, self._first = np.unique(key[by_pair], return_index=True)
        self._multiplicity = np.diff(np.append(self._first, len(self._edges)))
        self._low, self._high = np.divmod(self._pairs, n)
        self.rank = n - 1  # number of edges of a tree
        self.radius = math.sqrt(self.rank)
        # two trees share rank - j edges, and j edges outside the first must exist
        self.diameter = math.sqrt(2.0 * min(self.rank, len(self._edges) - self.rank))

    @cached_property
    def log_count(self) -> float:
        """The logarithm of the number of spanning trees."""
        return self._eliminate(np.zeros(len(self._edges)))[0]

    def _lmo(self, g: Array) -> Sparse:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.shape[0])
        count, n = len(rows), self.graph.node_count
        order = np.argsort(rows, axis=1, kind="stable")
        # ranks instead of weights: positive and distinct, as the sparse routine needs them
        rank = np.empty(rows.shape)
        np.put_along_axis(rank, order, np.arange(1.0, self.shape[0] + 1)[None], axis=1)
        least = np.minimum.reduceat(rank[:, self._edges], self._first, axis=1)
        shift = n * np.arange(count)[:, None]
        ends = ((self._low + shift).reshape(-1), (self._high + shift).reshape(-1))
        copies = sparse.csr_array((least.reshape(-1), ends), shape=(count * n, count * n))
        # the copies are numbered one after the other, so their trees come one after the other
        kept = csgraph.minimum_spanning_tree(copies, overwrite=True).data.reshape(count, -1)
        edges = np.take_along_axis(order, kept.astype(np.intp) - 1, axis=1)
        edges.sort(axis=1)
        return Sparse(edges if g.ndim == 2 else edges[0], 1.0, self.shape)

    def violation(self, x: Array) -> float:
        return separation_of_bases(self, x, self.rank)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        log_weight = self._log_weights(y, alpha)
        _, stages = self._eliminate(log_weight)
        joined = marginals(stages, self.graph.node_count)[self._low, self._high]
        x = np.zeros(self.shape)
        x[self._edges] = self._shares(log_weight) * np.repeat(joined, self._multiplicity)
        return x

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        y, alpha = self._lifted_arguments(y, alpha, noise)
        best = self._lmo(-y)
        log_weight = np.zeros(self.shape)
        log_weight[self._edges] = self._log_weights(y, alpha)
        log_z, _ = self._eliminate(log_weight[self._edges])
        # the rise above the best tree, for which only relative weights matter
        return float(best.dot(y)) + alpha * float(log_z - best.dot(log_weight))

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Sparse:
        y, alpha = smoothing_arguments(self, y, alpha)
        log_weight = self._log_weights(y, alpha)
        _, stages = self._eliminate(log_weight)
        n = self.graph.node_count
        widest = max(len(stage.neighbours) for stage in stages)
        chunk = max(1, 2**22 // widest**2)
        sizes = [min(chunk, count - start) for start in range(0, count, chunk)]
        parent = np.concatenate([sample(stages, n, size, rng) for size in sizes])
        node = np.delete(np.arange(n), last_node(stages))
        parent = parent[:, node]
        pair = self._pairs.searchsorted(np.minimum(node, parent) * n + np.maximum(node, parent))
        return Sparse(self._edges[self._pick(pair, log_weight, rng)], 1.0, self.shape)

    def _pick(self, pair: Array, log_weight: Array, rng: np.random.Generator) -> Array:
        """Return one of the parallel edges of each pair, drawn in proportion to their weights."""
        if len(self._pairs) == len(self._edges):
            return pair
        ends = np.cumsum(self._shares(log_weight))  # each pair's shares sum to 1
        edge = ends.searchsorted(pair + rng.random(pair.shape), side="right")
        last = np.append(self._first[1:], len(ends))[pair] - 1
        return np.clip(edge, self._first[pair], last)

    def _log_weights(self, y: Array, alpha: float) -> Array:
        """Return log weights that give the same law as y/alpha and stay in range.

        Edges below a gap of log N + 40 are used only where no better edge joins the same parts.
        A wider gap changes nothing, so wider gaps are shrunk to this.
        """
        y = y[self._edges].astype(np.float64)
        order = np.argsort(-y, kind="stable")
        with np.errstate(over="ignore"):
            gaps = -np.diff(y[order]) / alpha
        fall = np.cumsum(np.minimum(gaps, self.log_count + _NEGLIGIBLE))
        log_weight = np.zeros(len(y))
        log_weight[order[1:]] = -fall
        return log_weight

    def _eliminate(self, log_weight: Array) -> tuple[float, list[TreeStage]]:
        whole = np.floor(log_weight / math.log(2.0))
        part = np.exp(log_weight - whole * math.log(2.0))
        whole = whole.astype(np.int64)
        top = np.maximum.reduceat(whole, self._first)
        weight = np.ldexp(part, whole - np.repeat(top, self._multiplicity))
        n = self.graph.node_count
        mantissa, exponent = np.zeros((n, n)), np.full((n, n), ABSENT)
        for ends in ((self._low, self._high), (self._high, self._low)):
            mantissa[ends] = np.add.reduceat(weight, self._first)
            exponent[ends] = top
        return eliminate(self._order, mantissa, exponent)

    @cached_property
    def _order(self) -> list[tuple[int, Array]]:
        return elimination_order(self._low, self._high, self.graph.node_count)

    def _shares(self, log_weight: Array) -> Array:
        """Return the share of each edge in the weight of its pair of nodes."""
        top = np.maximum.reduceat(log_weight, self._first)
        weight = np.exp(log_weight - np.repeat(top, self._multiplicity))
        return weight / np.repeat(np.add.reduceat(weight, self._first), self._multiplicity)
