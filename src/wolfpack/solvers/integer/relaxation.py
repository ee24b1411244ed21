r"""The relaxation of a node: min f over the hull of its integer points, with a proved bound.

It is solved by `wolfpack.solvers.Corrective`, from the vertices of the node above that satisfy the
new bounds. The solve ends early:

- when its lower bound reaches the incumbent, because nothing better is in the node;
- when f(x) is below the incumbent and the gap is a small part of the distance between bound and
  incumbent, because then no accuracy closes the node, and it must be branched.

The bound of the node is the largest of the relaxation's and, for sigma-strongly convex f, of

.. math:: f(x) + \min_{v} \langle \nabla f(x), v - x\rangle
          + \frac{\sigma}{2} \sum_{j \in J} \operatorname{dist}(x_j, \mathbb{Z})^2,

which holds for integer points alone: f(y) is at least f(x) + <grad f(x), y - x> +
(sigma/2) ||y - x||^2, and an integer y_j is at least dist(x_j, Z) away from x_j. Both rest on
`Problem.dual_bound`, so they hold whatever the accuracy of the solve, in floating point too.

Integer entries are tightened by prices (reduced costs) r of the linear bound at x: a y_j that is t
steps away from the end that r_j favours has f(y) at least as large as that bound plus t |r_j|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...atoms import Dense
from ...problem import Evaluation, NonFiniteError, Problem
from ...smoothing import Oracles
from ..corrective import Corrective
from ..corrective import State as RelaxationState
from ..parts.correction import Corrected, extended
from .node import KEPT, Aim, Node, fractions, inside

_EARLY = 0.1
"""A node that must be branched is solved to this part of its distance from the incumbent."""

_ROUNDS = 400
"""Limit on the rounds of a relaxation."""

_DEEP = 64
"""Answers to random directions, whose mean is a start deep inside a node."""


class Relaxation:
    """The solve of one node's relaxation."""

    def __init__(self, problem: Problem, node: Node) -> None:
        self.problem, self.node = problem, node
        self.K: Any = problem.set
        self.oracles, self.solver = Oracles(problem), Corrective()
        self.state: RelaxationState = self._first_state()
        self.bound = node.bound

    def _first_state(self) -> RelaxationState:
        """Return the corrective method's state, with the vertices that are known already."""
        problem, shape = self.problem, self.K.shape
        known_here = inside(self.node, self.K)
        known, weights = self.node.vertices[known_here], self.node.weights[known_here]
        if not len(known):
            state = self._begun(self._new_start())
            self.inherited = len(state.hull.weights)
            return state
        total = float(weights.sum())
        weights = weights / total if total > 0 else np.full(len(known), 1.0 / len(known))
        state = self._begun((weights @ known).reshape(shape))
        atoms = Dense(known.reshape(-1, *shape), shape)
        here = Corrected(state.hull.weights, state.x, state.at)
        hull, _ = extended(state.kind, problem, state.hull, atoms, here, state.anchor)
        self.inherited = len(hull.weights)
        return state._replace(hull=hull)

    def _begun(self, x0: Array) -> RelaxationState:
        """Return the first state, from a point deep inside the node where f is infinite at x0."""
        try:
            return self.solver.init(self.problem, x0, self.oracles)
        except NonFiniteError:
            g = np.random.default_rng(0).standard_normal((_DEEP, *self.K.shape))
            self.problem.counts.ask(_DEEP)
            return self.solver.init(self.problem, self.K._lmo(g).mean(), self.oracles)

    def _new_start(self) -> Array:
        """Return a vertex of the node near to where the relaxation above had its solution."""
        problem, node = self.problem, self.node
        if not len(node.weights):
            return self.K.start()
        above = (node.weights @ node.vertices) / node.weights.sum()
        try:
            gradient = problem.gradient(above.reshape(self.K.shape))
        except NonFiniteError:
            return self.K.start()
        return self.oracles.lmo(gradient).to_dense()

    @property
    def at(self) -> Evaluation:
        """The evaluation of f at the iterate."""
        return self.state.at

    @property
    def value(self) -> float:
        """The value of f at the iterate, which the relaxation's minimum is not above."""
        return float(self.state.at.value)

    @property
    def flat(self) -> Array:
        """The iterate as a vector."""
        return np.asarray(self.state.x, dtype=np.float64).reshape(-1)

    def run(self, aim: Aim, sigma: float, rounds: int = _ROUNDS) -> None:
        """Make rounds until the node is closed, must be branched, or is solved."""
        for _ in range(rounds):
            self._update(sigma)
            if self.bound >= aim.cutoff or self.state.stalled:
                return
            gap, room = self.value - self.bound, aim.cutoff - self.bound
            fractional = max(map(float, _largest(self.flat[self.K.integer]))) > 0.0
            if gap <= 0.25 * aim.goal or (
                fractional and self.value < aim.cutoff and gap <= _EARLY * room
            ):
                return
            self.state = self.solver.step(self.problem, self.state, self.oracles)
        self._update(sigma)

    def _update(self, sigma: float) -> None:
        """Take the bounds of the last round."""
        state = self.state
        self.bound = max(self.bound, state.stall.bound)
        if sigma > 0.0:
            vertex = state.answers.vertices.take(0)
            linear = self.problem.dual_bound(state.at.gradient, state.at.dual, vertex)
            down, up = fractions(self.flat[self.K.integer])
            away = float((np.minimum(down, up) ** 2).sum())
            self.bound = max(self.bound, linear + (0.5 - 1e-9) * sigma * away)

    def tightened(self, aim: Aim) -> tuple[Array, Array]:
        """Return bounds on the integer entries that no better integer point violates."""
        K, g = self.K, np.asarray(self.at.gradient, dtype=np.float64).reshape(-1)
        low, high = K.low[K.integer], K.high[K.integer]
        found = K.prices(self.at.gradient)
        if found is None or aim.fun == np.inf:
            return low, high
        level, r = found
        slope = float(g @ self.flat)
        size = abs(self.value) + abs(slope) + abs(level)
        errors = 2.0 * self.problem.counts.rounding + 1e-9 * size
        room = aim.cutoff - (self.value - slope + level) + errors
        if room < 0.0:
            return low, high  # the bound of the relaxation says so as well
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = np.floor(room / abs(r[K.integer]) + 1e-9)
        prices = r[K.integer]
        return (
            np.where(prices < 0, np.maximum(low, high - steps), low),
            np.where(prices > 0, np.minimum(high, low + steps), high),
        )

    def heaviest(self) -> tuple[Array, Array]:
        """Return the vertices of largest weight, flat, and their weights."""
        hull, n = self.state.hull, self.K.dimension
        if hull.atoms is None:
            return self.flat[None, :].copy(), np.ones(1)
        weights = hull.weights[1:]
        best = np.argsort(-weights, kind="stable")[:KEPT]
        best = np.sort(best[weights[best] > 0])
        if not len(best):
            best = np.zeros(1, dtype=int)
        dense = np.asarray(hull.atoms.take(best).to_dense(), dtype=np.float64).reshape(-1, n)
        return dense, np.maximum(weights[best], 1e-12)

    def new_vertices(self) -> Array:
        """Return the vertices that this node has found, flat, those of largest weight first."""
        hull, first = self.state.hull, max(self.inherited - 1, 0)
        answer = self.state.answers.vertices.to_dense().reshape(-1, self.K.dimension)
        if hull.atoms is None or len(hull.keys) <= first:
            return answer
        order = first + np.argsort(-hull.weights[1 + first :], kind="stable")
        found = hull.atoms.take(order).to_dense().reshape(-1, self.K.dimension)
        return np.concatenate([found, answer])


def _largest(x: Array) -> tuple[float, float]:
    down, up = fractions(x)
    return float(down.max(initial=0.0)), float(up.max(initial=0.0))
