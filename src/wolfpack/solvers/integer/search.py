"""Integer points that are found beside the bound: vertices, roundings and their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...problem import Counts, NonFiniteError, Problem
from .node import FRACTIONAL, Aim, Node, fractions
from .relaxation import Relaxation


class Search:
    """The best integer point of a node that was found so far, and ways to find better ones."""

    def __init__(self, problem: Problem, best: float) -> None:
        self.problem, self.best = problem, best
        self.K: Any = problem.set
        self.fun, self.point = np.inf, None

    def look(self, relaxed: Relaxation, thoroughly: bool) -> None:
        """Try the vertices of a relaxation, then what is near to its solution."""
        for vertex in relaxed.new_vertices()[:6]:
            self.try_point(vertex)
        x, K = relaxed.flat, self.K
        down, _ = fractions(x[K.integer])
        if not (down > 0).any():
            whole = x.copy()
            whole[K.integer] = np.round(whole[K.integer])
            if self._contains(whole):
                self.try_point(whole)
        elif thoroughly:
            self.round(x)
        if self.point is not None and (thoroughly or self.fun < self.best):
            self._polish()
            self._descend()
            if self.fun < self.best and K.integer.all():
                self._exchange()

    def try_point(self, point: Array) -> bool:
        """Keep a point of K if it is the best; return whether it is."""
        try:
            value = float(self.problem.value(point.reshape(self.K.shape)))
        except NonFiniteError:
            return False
        if not value < self.fun:
            return False
        self.fun, self.point = value, np.array(point, dtype=np.float64)
        return True

    def _contains(self, point: Array) -> bool:
        outside = float(self.K.violation(point.reshape(self.K.shape)))
        return outside <= 1e-9 * max(1.0, self.K.radius)

    def round(self, x: Array) -> None:
        """Try the integer point of K nearest to x among those that round each entry up or down."""
        K = self.K
        low, high = np.floor(x[K.integer] + FRACTIONAL), np.ceil(x[K.integer] - FRACTIONAL)
        near = K.within(low, high)
        if near is None:
            return
        # for entries one apart, ||y - x||^2 is linear in y: (low + high - 2 x) y and a constant
        c = np.zeros(K.dimension)
        c[K.integer] = low + high - 2.0 * x[K.integer]
        self.problem.counts.ask()
        self.try_point(near._lmo(c.reshape(K.shape)).to_dense().reshape(-1))

    def _polish(self) -> None:
        """Minimise over the other entries with the integers of the best point fixed."""
        K, point = self.K, self.point
        if K.integer.all() or point is None:
            return
        whole = np.round(point[K.integer])
        fixed = K.within(whole, whole, point)
        if fixed is None:
            return
        none = np.zeros((0, K.dimension))
        node = Node(whole, whole, -np.inf, 0, 0, -1, 0, 0.0, none, np.zeros(0))
        inner = Counts()
        problem = Problem(self.problem.objective, fixed, self.problem.L, inner, True)
        relaxed = Relaxation(problem, node)
        limit = min(self.fun, self.best)
        relaxed.run(Aim(limit, 1e-6 * (1.0 + abs(limit))), 0.0, 100)
        self.problem.counts.nfev += inner.nfev
        self.problem.counts.njev += inner.njev
        self.problem.counts.nlmo += inner.nlmo
        found = relaxed.flat.copy()
        found[K.integer] = whole
        if self._contains(found):
            self.try_point(found)

    def _descend(self) -> None:
        """Follow the oracle's answers to the gradient at the best point while they are better."""
        for _ in range(4):
            assert self.point is not None
            try:
                gradient = self.problem.gradient(self.point.reshape(self.K.shape))
            except NonFiniteError:
                return
            self.problem.counts.ask()
            if not self.try_point(self.K._lmo(gradient).to_dense().reshape(-1)):
                return

    def _exchange(self, tries: int = 40) -> None:
        """Move single entries by one, or two entries in opposite directions, while it is better."""
        for _ in range(4):
            assert self.point is not None
            point, K = self.point, self.K
            g = np.asarray(self.problem.gradient(point.reshape(K.shape))).reshape(-1)
            if not any(self._try_move(point, move) for move in _moves(g, point, K)[:tries]):
                return

    def _try_move(self, point: Array, move: tuple[tuple[int, float], ...]) -> bool:
        moved = point.copy()
        for j, step in move:
            moved[j] += step
        return self._contains(moved) and self.try_point(moved)


def _moves(g: Array, point: Array, K: Any) -> list[tuple[tuple[int, float], ...]]:
    """Return small changes of an integer point within the bounds, the most promising first."""
    up = [j for j in np.argsort(g, kind="stable")[:10] if point[j] < K.high[j]]
    down = [j for j in np.argsort(-g, kind="stable")[:10] if point[j] > K.low[j]]
    single = [((int(j), 1.0),) for j in up] + [((int(j), -1.0),) for j in down]
    pairs = [((int(i), 1.0), (int(j), -1.0)) for i in up for j in down if i != j]
    return sorted(single + pairs, key=lambda move: sum(float(g[j]) * step for j, step in move))
