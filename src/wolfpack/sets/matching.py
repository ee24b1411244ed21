"""The matchings of a graph."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Array
from ..atoms import Atoms, Sparse
from ..problem.checks import checked, flag
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._graph import Edges, Graph
from ._repair import repaired
from .birkhoff import Birkhoff
from .mixed_integer import MixedInteger

_U = 2.0**-53


class Matching(Set):
    r"""The matching polytope of an undirected graph.

    .. math:: \mathrm{conv}\{1_M : M \subset E \text{ a matching}\},

    one entry per edge. A matching is a set of edges of which no two share a node.

    Parameters
    ----------
    graph : sequence of pairs, pair of integer arrays, or scipy sparse matrix
        The edges {u, v}; labels may be any hashable objects. Parallel edges are allowed, loops are
        in no matching. A matrix has the edge {u, v}, once, if it stores an entry at (u, v) or
        (v, u); the edges are sorted.
    perfect : bool
        Whether every node must be matched; False by default.

    Notes
    -----
    On a bipartite graph the oracle is an assignment problem of the order of the larger side,
    O(V^3), solved in threads for a batch of large ones; the polytope is
    {x >= 0, x(edges at v) <= 1}, with equality for perfect matchings. On other graphs the oracle
    is a mixed-integer program, by HiGHS: the sets of an odd number of nodes would need a
    constraint each. In both cases `certify` proves its bound by a dual solution. The radius is the
    square root of the size of a largest matching.

    Examples
    --------
    >>> K = Matching([("a", 1), ("a", 2), ("b", 1)])
    >>> np.asarray(K.lmo(np.array([-3.0, -2.0, -2.0])))
    array([0., 1., 1.])
    >>> K.radius**2
    2.0000000000000004
    """

    polytope = True
    one_by_one = True
    unconditional = True
    proof_calls = 4
    releases_gil = True
    summary = "{K.graph.edge_count} edges, {K.graph.node_count} nodes{K._kind}"
    price_names: ClassVar[dict[str, str]] = {"equations": "nodes", "inequalities": "nodes"}

    @checked(perfect=flag)
    def __init__(self, graph: Edges, perfect: bool = False) -> None:
        self.graph = Graph(graph, "graph", directed=False)
        self.perfect = perfect
        self._kind = ", perfect" if perfect else ""
        self.shape = (self.graph.edge_count,)
        self._proper = self.graph.tails != self.graph.heads  # loops are in no matching
        if not self._proper.any():
            raise ValueError("graph must have an edge between two nodes, found loops alone")
        sides = _sides(self.graph, self._proper)
        self.bipartite = sides is not None
        self.program = None if self.bipartite else self._mixed_integer()
        if sides is None:
            self.batch_hint, self.cheap_violation, self.proof_calls = 1, False, 0
        else:
            self._layout(sides)
        size = self._largest()
        self.radius = math.sqrt(size)
        self.diameter = math.sqrt(min(2 * size, int(self._proper.sum())))

    def _layout(self, sides: Array) -> None:
        """Number the nodes of each side, and put the edges into the table of an assignment."""
        g = self.graph
        number = np.empty(g.node_count, dtype=np.intp)
        for side in (False, True):
            nodes = np.flatnonzero(sides == side)
            number[nodes] = np.arange(len(nodes))
        left = np.where(sides[g.tails], g.heads, g.tails)
        right = np.where(sides[g.tails], g.tails, g.heads)
        counts = int((~sides).sum()), int(sides.sum())
        if self.perfect and counts[0] != counts[1]:
            raise ValueError(_no_perfect(f"sides of {counts[0]} and {counts[1]} nodes"))
        self._assignment = Birkhoff(max(counts))
        cell = number[left] * max(counts) + number[right]
        edges = np.flatnonzero(self._proper)
        # parallel edges share a cell
        self._edges = edges[np.argsort(cell[edges], kind="stable")]
        self._cells, self._first = np.unique(cell[self._edges], return_index=True)

    def _largest(self) -> int:
        """Return the number of edges of a largest matching; raise if none is perfect."""
        n = self.graph.node_count
        if self.program is not None:
            return n // 2 if self.perfect else round(-self.program._minimise(-self._ones()).bound)
        size = round(self._lmo(-self._ones()).dot(self._ones()))
        if self.perfect and 2 * size < n:
            raise ValueError(_no_perfect(f"at most {2 * size} of {n} nodes that can be matched"))
        return size

    def _ones(self) -> Array:
        return np.ones(self.shape)

    def _mixed_integer(self) -> MixedInteger:
        """Return the program of a graph that is not bipartite."""
        incidence, high = self._incidence(), self._proper.astype(np.float64)
        bounds, right = np.column_stack([0.0 * high, high]), np.ones(incidence.shape[0])
        try:
            if self.perfect:
                return MixedInteger(A_eq=incidence, b_eq=right, bounds=bounds)
            return MixedInteger(incidence, right, bounds=bounds)
        except ValueError as error:
            raise ValueError(_no_perfect("none")) from error

    def _incidence(self) -> sparse.csr_array:
        """Return the matrix of nodes and edges, without loops."""
        edges = np.flatnonzero(self._proper)
        ends = np.concatenate([self.graph.tails[edges], self.graph.heads[edges]])
        shape = self.graph.node_count, self.graph.edge_count
        return sparse.csr_array((np.ones(len(ends)), (ends, np.tile(edges, 2))), shape=shape)

    def _lmo(self, g: Array) -> Atoms:
        if self.program is not None:
            return self.program._lmo(g)
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.shape[0])
        costs, edges = self._costs(rows)
        answers = self._assignment._lmo(costs)
        n = self._assignment.shape[0]
        cells = answers.columns + n * np.arange(n)
        found = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        indices = np.take_along_axis(edges, found, axis=1)
        taken = self._cells[found] == cells
        if not self.perfect:
            taken &= np.take_along_axis(rows, indices, axis=1) < 0
        matchings = Sparse(np.where(taken, indices, 0), np.where(taken, 1.0, 0.0), self.shape)
        return matchings.take(0) if g.ndim == 1 else matchings

    def _costs(self, rows: Array) -> tuple[Array, Array]:
        """Return the tables of costs, and the edge of each cell that has one."""
        n, count = self._assignment.shape[0], len(rows)
        values = rows[:, self._edges]
        least = np.minimum.reduceat(values, self._first, axis=1)
        spread = np.repeat(least, np.diff(np.append(self._first, len(self._edges))), axis=1)
        place = np.where(values == spread, np.arange(len(self._edges)), len(self._edges))
        edges = self._edges[np.minimum.reduceat(place, self._first, axis=1)]
        costs = np.zeros((count, n * n))
        if self.perfect:
            # n edges and a cell without one cost more than any n edges
            largest = abs(rows).max(axis=1, keepdims=True)
            costs += (2.0 * n + 1.0) * np.where(largest > 0.0, largest, 1.0)
            costs[:, self._cells] = least
        else:
            costs[:, self._cells] = np.minimum(least, 0.0)
        return costs.reshape(count, n, n), edges

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return a bound that the dual of the assignment, or of the program, proves."""
        if self.program is not None:
            return self.program.certify(g, vertex)
        costs, _ = self._costs(np.asarray(g, dtype=np.float64).reshape(1, -1))
        return self._assignment.certify(costs[0], self._assignment._lmo(costs[0]))

    def violation(self, x: Array) -> float:
        if self.program is not None:
            return self.program.violation(x)
        excess = self._incidence() @ x - 1.0
        outside = max(-float(x.min()), float(abs(x[~self._proper]).max(initial=0.0)))
        return max(outside, float((abs(excess) if self.perfect else excess).max()))

    def start(self) -> Array:
        if self.perfect:
            return super().start()
        # a multigraph is the union of as many matchings (Vizing): their mean is in the polytope
        degree = int(self._incidence().sum(axis=1).max(initial=0))
        multiple = int(self._pairs().max(initial=0))
        return self._proper / (degree + multiple or 1)

    def _pairs(self) -> Array:
        """Return how many edges join each pair of nodes that are joined."""
        ends = np.sort(np.stack([self.graph.tails, self.graph.heads])[:, self._proper], axis=0)
        return np.unique(ends[0] * self.graph.node_count + ends[1], return_counts=True)[1]

    def has(self, capability: str) -> bool:
        return super().has(capability) and (self.bipartite or capability != "polyhedron")

    def _reason(self, capability: str) -> str:
        return " (bipartite graphs have)" if capability == "polyhedron" else ""

    def _polyhedron(self) -> Polyhedron:
        low, high = np.zeros(self.shape), self._proper.astype(np.float64)
        incidence = self._incidence()
        rows = Rows(incidence, np.ones(incidence.shape[0]))
        if self.perfect:
            return Polyhedron(low, high, lambda z: repaired(z, rows, None, low, high), rows)

        def rounded(z: Array) -> Array:
            x = np.clip(z, 0.0, high)
            degree = np.maximum(incidence @ x, 1.0)
            return x / np.maximum(degree[self.graph.tails], degree[self.graph.heads])

        return Polyhedron(low, high, rounded, inequalities=rows)


def _sides(graph: Graph, proper: Array) -> Array | None:
    """Return the side of each node of a bipartite graph, None for other graphs.

    In the double cover, where v stands for two nodes and each edge leads from one cover to the
    other, the two stand for v apart from each other if and only if no odd cycle is near.
    """
    n = graph.node_count
    tails, heads = graph.tails[proper], graph.heads[proper]
    ends = np.concatenate([tails, heads]), n + np.concatenate([heads, tails])
    cover = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(2 * n, 2 * n))
    part = csgraph.connected_components(cover, directed=False)[1]
    first, second = part[:n], part[n:]
    return None if (first == second).any() else second < first


def _no_perfect(found: str) -> str:
    return f"graph must have a perfect matching, found {found}: the set is empty"
