r"""Branch and bound over Frank-Wolfe relaxations.

Problem
    min f(x) over the x in K whose marked entries are integers; f convex and smooth, K compact and
    convex, with an oracle that takes bounds on those entries.

Iteration
    The open nodes are parts of K, each with a proved lower bound. A round takes the first nodes of
    the order that ``search`` names, solves their relaxations (`relaxation`), keeps the best integer
    point found so far, and puts the two parts of each node that must be branched among the open
    ones.

Guarantee
    The smallest bound of the nodes that are open, or were closed, is at most the minimum over the
    integer points. It is known after every round. With gap > 0 the tree is finite.

Symbols
    The best integer point ``state.x``, the open nodes ``state.open`` in the order of their bounds,
    the smallest bound of a closed node ``state.closed``.

Cost of a round
    The relaxations of ``batch`` nodes, which are independent of each other and may run on an
    engine. What a round does depends on ``batch`` and never on the number of workers, so that all
    engines give the same bits.

Sources
    D. Hendrych, H. Troppens, M. Besancon, S. Pokutta, Convex mixed-integer optimization with
    Frank-Wolfe methods, Mathematical Programming Computation, 2025.
"""

from __future__ import annotations

import math
from bisect import insort
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...arrays import Array
from ...problem import Evaluation, NonFiniteError, Problem, Solver
from ...problem.checks import checked, choice, count, nonnegative, optional
from .job import TreeOracles
from .node import Aim, Node, Outcome, PseudoCosts, Rules, split
from .search import Search

SEARCHES = ("best", "depth", "hybrid")
BRANCHINGS = ("pseudo-cost", "fractional", "strong")


class State(NamedTuple):
    """Nodes solved so far, the best integer point with its evaluation, and the tree."""

    k: int
    x: Array
    at: Evaluation
    open: tuple[Node, ...]
    closed: float
    costs: PseudoCosts
    made: int
    last: tuple[int, ...]
    m: int = 0

    @property
    def stalled(self) -> bool:
        """Whether no node is left."""
        return not self.open

    @property
    def open_nodes(self) -> int:
        """The number of nodes that are left."""
        return len(self.open)

    @property
    def bound(self) -> float:
        """A number that is proved to be at most the minimum."""
        return min(self.closed, min((node.bound for node in self.open), default=math.inf))


@checked(
    gap=nonnegative,
    rtol=optional(nonnegative),
    branching=choice(*BRANCHINGS),
    search=choice(*SEARCHES),
    batch=count,
    sigma=nonnegative,
)
@dataclass(frozen=True)
class BranchAndBound(Solver[State]):
    """Branch and bound for convex f over the integer points of K.

    Parameters
    ----------
    gap, rtol : float
        The gap that is wanted, absolute and relative to |f|, as for `wolfpack.minimize_integer`.
    branching : {"pseudo-cost", "fractional", "strong"}
        Which entry a node is branched on: the one that has raised bounds most so far, the most
        fractional one, or the best of a few that are tried.
    search : {"best", "depth", "hybrid"}
        Which node comes next: the one of the smallest bound, the deepest one, or a part of the node
        solved last while there is one, and then the one of the smallest bound.
    batch : int
        Nodes solved in a round.
    sigma : float
        A constant of strong convexity of f, which raises the bounds; 0 where none is known.
    integer : tuple of int
        Positions of the integer entries, flat.
    """

    gap: float = 1e-6
    rtol: float | None = None
    branching: str = "pseudo-cost"
    search: str = "best"
    batch: int = 1
    sigma: float = 0.0
    integer: tuple[int, ...] = ()
    name: ClassVar[str] = "branch-and-bound"

    @property
    def rules(self) -> Rules:
        """What a node needs to know."""
        return Rules(self.branching, self.sigma)

    def init(self, problem: Problem, x0: Array, oracles: TreeOracles) -> State:
        K: Any = problem.set
        first = problem.evaluate(x0)
        vertex = oracles.lmo(first.gradient)
        bound = problem.dual_bound(first.gradient, first.dual, vertex)
        x = self._first_point(problem, x0, vertex.to_dense())
        low, high = K.low[K.integer], K.high[K.integer]
        none = np.zeros((0, K.dimension)), np.zeros(0)
        root = Node(low, high, bound, 0, 0, -1, 0, 0.0, *none)
        costs = PseudoCosts.none(len(low))
        return State(0, x, problem.evaluate(x), (root,), math.inf, costs, 1, ())

    def _first_point(self, problem: Problem, x0: Array, vertex: Array) -> Array:
        """Return an integer point where f is finite: the vertex, or one near to x0."""
        search = Search(problem, math.inf)
        search.try_point(vertex.reshape(-1).astype(np.float64))
        if search.point is None:
            search.round(x0.reshape(-1))
        if search.point is None:
            raise NonFiniteError("f is not finite at any integer point that was tried, nor", x0)
        return search.point.reshape(problem.set.shape)

    def step(self, problem: Problem, state: State, oracles: TreeOracles) -> State:
        chosen, rest = self._select(state, oracles.max_nodes - state.k)
        aim = self._aim(state.at.value)
        outcomes = oracles.solve(state.k, chosen, aim, state.costs, self.rules)
        state = state._replace(k=state.k + len(chosen), m=len(chosen))
        for outcome in outcomes:
            if outcome.fun < state.at.value:
                x = outcome.point.reshape(problem.set.shape)
                at = problem.evaluate(x)
                state = state._replace(x=x, at=at) if at.value < state.at.value else state
        cutoff = self._aim(state.at.value).cutoff
        closed, costs, made = state.closed, state.costs, state.made
        following = [node for node in rest if node.bound < cutoff]
        closed = min([closed, *(node.bound for node in rest if node.bound >= cutoff)])
        last: list[int] = []
        for node, outcome in zip(chosen, outcomes, strict=True):
            if node.entry >= 0 and math.isfinite(node.bound):
                gain = min(outcome.bound, cutoff) - node.bound
                costs = costs.learned(node.entry, node.up, gain, node.shift)
            if outcome.entry < 0 or outcome.bound >= cutoff:
                closed = min(closed, outcome.bound)
                continue
            for part in _parts(problem, node, outcome):
                insort(following, part._replace(number=made), key=_order)
                last.append(made)
                made += 1
        return state._replace(
            open=tuple(following), closed=closed, costs=costs, made=made, last=tuple(last)
        )

    def lower_bound(self, problem: Problem, state: State, oracles: TreeOracles) -> float:
        """Return the smallest bound of a node."""
        return min(state.bound, state.at.value)

    def _aim(self, fun: float) -> Aim:
        """Return what nodes are compared with."""
        return Aim(fun, max(self.gap, (self.rtol or 0.0) * abs(fun)))

    def _select(self, state: State, allowed: float) -> tuple[list[Node], list[Node]]:
        """Return the nodes of the next round, and the other ones in their order.

        ``allowed`` is how many nodes the limit leaves.
        """
        nodes = list(state.open)
        if self.search == "depth":
            ranked = sorted(nodes, key=lambda node: (-node.depth, node.bound, node.number))
        elif self.search == "hybrid":
            ranked = sorted(nodes, key=lambda node: (node.number not in state.last, *_order(node)))
        else:
            ranked = nodes
        chosen = ranked[: int(min(self.batch, max(allowed, 1)))]
        taken = {node.number for node in chosen}
        return chosen, [node for node in nodes if node.number not in taken]


def _order(node: Node) -> tuple[float, int]:
    return node.bound, node.number


def _parts(problem: Problem, node: Node, outcome: Outcome) -> tuple[Node, Node]:
    K: Any = problem.set
    at = float(np.clip(outcome.x[K.integer], outcome.low, outcome.high)[outcome.entry])
    return split(
        node,
        outcome.low,
        outcome.high,
        outcome.entry,
        at,
        outcome.vertices,
        outcome.weights,
        outcome.bound,
    )
