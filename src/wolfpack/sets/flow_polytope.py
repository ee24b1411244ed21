"""Multi-commodity flows: how much passes over each edge when demands are routed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from ..arrays import Array, as_float_array, check_finite, check_sparse
from ..atoms import Atoms, Sparse
from ..problem import CapabilityError, Polyhedron
from ..problem.checks import nonnegative, shown
from ._batch import map_batch
from ._graph import Edges, Graph, Routes, flows_of, heights
from ._highs import COST
from ._linear import LinearSystem, ProgramAnswer, ProgramSet
from ._prices import Prices, distances, row_prices
from ._routing import Routing

Demands: TypeAlias = Iterable[tuple[object, object, float]] | np.ndarray | sparse.sparray

_EXACT_UP_TO = 200_000
"""Beyond this many (origin, edge) pairs membership is judged without the separate origins."""


class FlowPolytope(ProgramSet):
    r"""Total flows on the edges of a directed graph that serve all demands.

    Without capacities: the convex hull of the routings in which every demand takes one simple path,
    :math:`x = \sum_k a_k 1_{P_k}`. With capacities c: all :math:`x = \sum_k f_k \le c` with flows
    :math:`f_k \ge 0` that carry a_k from o_k to d_k.

    Parameters
    ----------
    graph : sequence of pairs, pair of integer arrays, or scipy sparse matrix
        The edges (tail, head); labels may be any hashable objects. Parallel edges are allowed. A
        matrix has an edge for each stored entry, row by row.
    demands : sequence of triples, array or scipy sparse matrix
        Triples (origin, destination, amount); or a square matrix of amounts, whose rows and
        columns are the nodes 0, 1, ... Demands of a node from itself are ignored.
    capacity : float or array, optional
        The most that each edge may carry; finite.

    Notes
    -----
    The oracle routes all demands on cheapest paths at once ("all or nothing"): Dijkstra's algorithm
    from each origin, after Johnson's potentials if costs are negative, then one pass up the trees.
    If the direction makes the cost of a cycle negative, flow around it is unbounded. That is an
    error unless ``capacity`` is given; the total demand is a natural choice. With capacities the
    routing is optimal if it respects them and no cycle is negative; otherwise the oracle is a
    linear program in the flows from each origin.

    A simple path has fewer than \|V\| edges, so R is at most the total demand times
    sqrt(min(\|V\| - 1, \|E\|)), and at most ||c||; two nonnegative points are within sqrt(2) R.
    `violation` asks a linear program for flows from each origin that add up to x and stay within
    the total demand (it does not notice a circulation below that). With more than 200,000 pairs of
    origins and edges it only checks the balances of the nodes.

    Examples
    --------
    >>> K = FlowPolytope([(0, 1), (1, 2), (0, 2)], [(0, 2, 3.0), (1, 2, 1.0)])
    >>> np.asarray(K.lmo(np.array([1.0, 1.0, 5.0])))
    array([3., 4., 0.])
    """

    cheap_violation = False
    summary = "{K.graph.edge_count} edges, {K.graph.node_count} nodes, {K.demand_count} demands"

    def __init__(self, graph: Edges, demands: Demands, capacity: ArrayLike | None = None) -> None:
        self.graph = Graph(graph, "graph")
        self.shape = (self.graph.edge_count,)
        origins, demand = _table(self.graph, demands)
        self.total, self.demand_count = float(demand.sum()), np.count_nonzero(demand)
        self._routing = Routing(self.graph, origins, demand)
        cut = self._routing.unreachable()
        if cut is not None:
            o, d = (self.graph.nodes[v] for v in cut)
            raise ValueError(f"demands: no path leads from {o!r} to {d!r}")
        self.capacity = None if capacity is None else _capacity(capacity, self.shape[0])
        # no simple path puts more than the total demand on an edge
        self._limit = self.total if self.capacity is None else self.capacity
        self._system = None if self.capacity is None else self._flows(self.capacity)
        longest = min(self.graph.node_count - 1, self.shape[0])
        self.radius = self.total * math.sqrt(longest)
        if self.capacity is not None:
            self.radius = float(np.linalg.norm(self.capacity))
        self.diameter = math.sqrt(2.0) * self.radius

    @property
    def demands(self) -> tuple[Array, Array]:
        """Numbers of the origins, and what each node receives from each of them."""
        return self._routing.origins, self._routing.demand

    def _lmo(self, g: Array) -> Atoms:
        if self.capacity is not None:
            return super()._lmo(g)
        return self._loaded(g, lambda cost: self._minimise(cost).x)

    def _loaded(self, g: Array, load: Callable[[Array], Array]) -> Atoms:
        """Return the flow that ``load`` gives for each direction."""
        g = np.asarray(g, dtype=np.float64)
        x = np.array(map_batch(load, g.reshape(-1, self.shape[0])))
        # used edges first, unused ones with flow 0 after them
        width = max(1, int(np.count_nonzero(x, axis=1).max()))
        edges = np.argsort(x == 0, axis=1, kind="stable")[:, :width]
        answer = Sparse(edges, np.take_along_axis(x, edges, axis=1), self.shape)
        return answer.take(0) if g.ndim == 1 else answer

    def lmo_or_nearby(self, g: Array) -> Atoms:
        if self.capacity is not None:
            return self._lmo(g)
        return self._loaded(g, self._load_or_nearby)

    def _load_or_nearby(self, cost: Array) -> Array:
        # Noise may make the cost of a cycle negative; then any routing may be kept. All other
        # directions get their minimiser, since the one without noise certifies.
        x = self._routing.load(cost)
        if x is None:
            x = self._routing.load(np.maximum(cost, 0.0))
        assert x is not None
        return x

    def _minimise(self, cost: Array) -> ProgramAnswer:
        x = self._routing.load(cost)
        if x is not None and (self._system is None or bool(np.all(x <= self._limit))):
            return ProgramAnswer(x, float(x @ cost) - self._rounding(cost))
        if self._system is None:
            raise CapabilityError(
                f"{self}: the direction has a cycle of negative cost, around which flow would "
                f"grow without end: pass capacity=... ({self.total:g}, the total demand, for "
                "example) to bound the flow on each edge"
            )
        origins = len(self._routing.origins)
        flows, bound = self._system.minimise(np.tile(cost, origins))
        return ProgramAnswer(np.minimum(flows.reshape(origins, -1).sum(axis=0), self._limit), bound)

    def certify(self, g: Array, vertex: Atoms) -> float:
        if self.capacity is not None:
            return super().certify(g, vertex)
        if g.min() >= 0:
            return float(vertex.dot(g))
        # The vertex may be an answer to a direction nearby.
        return self._minimise(np.asarray(g, dtype=np.float64)).bound

    def _rounding(self, cost: Array) -> float:
        """Return what the rounding of the potentials may cost on all edges of all paths."""
        if cost.min() >= 0:
            return 0.0
        ulp = np.finfo(np.float64).eps * float(abs(cost).max())
        return 32.0 * self.graph.node_count**2 * ulp * self.total

    def violation(self, x: Array) -> float:
        if not np.isfinite(x).all():
            return np.inf
        incidence, supply = self._incidence(), self._supply()
        balance = abs(incidence @ x - supply.sum(axis=0)).max()
        outside = float(max(-x.min(), (x - self._limit).max(), balance))
        origins = len(supply)
        if origins == 1 or origins * self.shape[0] > _EXACT_UP_TO or outside > 1e-6 * self.total:
            return outside
        # the least t with flows f_o >= 0 that are within t of x on every edge when added up
        sums, balances = self._per_origin(origins)
        slack = np.ones((self.shape[0], 1))
        conservation = sparse.block_diag([balances, np.zeros((0, 1))])
        cost = np.zeros(conservation.shape[1])
        cost[-1] = COST
        result = linprog(
            cost,
            A_ub=sparse.vstack([sparse.hstack([sums, -slack]), sparse.hstack([-sums, -slack])]),
            b_ub=np.concatenate([x, -x]) / self.total,
            A_eq=conservation,
            b_eq=supply.reshape(-1) / self.total,
            method="highs",
        )
        if result.status != 0:
            raise RuntimeError(f"{self}: HiGHS could not judge the point: {result.message}")
        return max(outside, self.total * float(result.x[-1]))

    def has(self, capability: str) -> bool:
        if capability == "polyhedron":
            return self.capacity is not None or not self._has_cycle
        return super().has(capability)

    def _reason(self, capability: str) -> str:
        if capability != "polyhedron":
            return super()._reason(capability)
        return (
            ": its graph has a cycle, around which flow is not bounded unless capacity=... "
            f"({self.total:g}, the total demand, for example) is given"
        )

    @property
    def _has_cycle(self) -> bool:
        graph = self.graph
        return bool(heights(graph.tails, graph.heads, graph.node_count)[1].any())

    def _polyhedron(self) -> Polyhedron:
        origins, demand = self.demands
        if self._system is None:
            pairs = zip(origins.tolist(), demand, strict=True)
            return flows_of(self.graph, [Routes(self.graph, o, row) for o, row in pairs])
        whole = self._system.polyhedron()
        sums = self._per_origin(len(origins))[0]
        return replace(
            whole, lift=sums, round=lambda z: np.minimum(sums @ whole.round(z), self._limit)
        )

    def _prices(self, g: Array) -> Prices:
        graph, origins = self.graph, self._routing.origins
        if self._system is None:
            return {"nodes": distances(graph.tails, graph.heads, g, graph.node_count, origins)}
        whole = self._polyhedron()
        found = row_prices(whole, g)
        # a capacity bounds the sum over the origins, and the flow from each of them
        capacity = found.inequalities + found.upper.reshape(len(origins), -1).sum(axis=0)
        balance = found.equations.reshape(len(origins), -1)
        own = np.take_along_axis(balance, origins[:, None], axis=1)
        return {"nodes": own - balance, "capacity": capacity}

    def start(self) -> Array:
        return self._lmo(np.ones(self.shape)).to_dense()

    def _flows(self, capacity: Array) -> LinearSystem:
        """Return the system of the flows from each origin within the capacities."""
        supply = self._supply()
        count = len(supply)
        sums, balances = self._per_origin(count)
        try:
            high = np.tile(capacity, count)
            bounds = np.column_stack([np.zeros(len(high)), high])
            return LinearSystem(sums, capacity, balances, supply.reshape(-1), bounds)
        except ValueError as error:
            raise ValueError(f"capacity is too small for the demands: {error}") from None

    def _per_origin(self, count: int) -> tuple[sparse.sparray, sparse.sparray]:
        """Return the matrices of total flows and of balances, given the flows from each origin."""
        sums = sparse.hstack([sparse.eye_array(self.shape[0])] * count)
        return sums, sparse.block_diag([self._incidence()] * count)

    def _incidence(self) -> sparse.csr_array:
        edges = np.arange(self.shape[0])
        ends = (np.concatenate([self.graph.tails, self.graph.heads]), np.tile(edges, 2))
        signs = np.repeat([1.0, -1.0], self.shape[0])
        return sparse.csr_array((signs, ends), shape=(self.graph.node_count, self.shape[0]))

    def _supply(self) -> Array:
        """Return what leaves each node, net, for the demands of each origin."""
        supply = -self._routing.demand.astype(np.float64)
        supply[np.arange(len(supply)), self._routing.origins] -= supply.sum(axis=1)
        return supply


def _table(graph: Graph, demands: Any) -> tuple[Array, Array]:
    """Return the origins and what each node receives from each of them."""
    if isinstance(demands, np.ndarray) or sparse.issparse(demands):
        if demands.ndim != 2 or demands.shape[0] != demands.shape[1]:
            raise ValueError(f"demands must be triples or a square matrix, found {demands.shape}")
        if sparse.issparse(demands):
            check_sparse(demands, "demands")
        matrix = sparse.coo_array(demands)
        triples = zip(*(part.tolist() for part in (*matrix.coords, matrix.data)), strict=True)
    elif isinstance(demands, Iterable):
        triples = demands
    else:
        raise TypeError(
            f"demands must be triples (origin, destination, amount), found {shown(demands)}"
        )
    table: dict[int, Array] = {}
    for triple in triples:
        try:
            o, d, amount = triple
            amount = nonnegative(amount, "amount")
        except (TypeError, ValueError):
            raise ValueError(
                "demands must be triples (origin, destination, amount) with amounts that are "
                f"finite and not negative, found {shown(triple)}"
            ) from None
        if o != d and amount > 0:
            origin = graph.number(o, "demands: origin")
            node = graph.number(d, "demands: destination")
            table.setdefault(origin, np.zeros(graph.node_count))[node] += amount
    if not table:
        raise ValueError("demands must have a positive amount between different nodes, found none")
    origins = sorted(table)
    return np.array(origins), np.array([table[o] for o in origins])


def _capacity(capacity: ArrayLike, n: int) -> Array:
    array = check_finite(as_float_array(capacity, "capacity"), "capacity")
    if array.shape not in ((), (n,)):
        raise ValueError(f"capacity must be a number or one per edge ({n}), found {array.shape}")
    negative = int((array < 0).sum())
    if negative:
        raise ValueError(f"capacity must not be negative, found {negative} entries that are")
    return np.broadcast_to(array, (n,)).astype(np.float64)
