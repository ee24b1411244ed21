"""Solving one node: its relaxation, integer points, tighter bounds, and the entry to branch on.

What a node shows depends on its arguments alone, so that nodes can be solved anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...problem import Counts, NonFiniteError, Problem
from .node import Aim, Node, Outcome, PseudoCosts, Rules, fractions, inside, split
from .relaxation import Relaxation
from .search import Search

_CANDIDATES = 8
"""Entries that strong branching tries."""

_PROBES = 4
"""Rounds of the relaxations that strong branching makes."""


def solve_node(problem: Problem, node: Node, aim: Aim, costs: PseudoCosts, rules: Rules) -> Outcome:
    """Return what the relaxation of a node shows. It depends on the arguments alone."""
    region: Any = problem.set
    n, counts = region.dimension, Counts()
    outer = problem.counts
    counts.allow(outer.deadline, outer.max_lmo - outer.nlmo)
    known = inside(node, region)
    first = node.vertices[known][0] if known.any() else None
    K = region.within(node.low, node.high, first)
    if K is None:
        nothing = np.full(n, np.nan)
        empty = np.zeros((0, n)), np.zeros(0)
        return Outcome(
            np.inf, np.inf, np.inf, -1, 0, 0, 1, 0.0, nothing, nothing, node.low, node.high, *empty
        )
    part = Problem(problem.objective, K, problem.L, counts, problem.convex)
    try:
        relaxed = Relaxation(part, node)
    except NonFiniteError:
        return _unsolved(part, node)
    search = Search(relaxed.problem, aim.fun)
    relaxed.run(aim, rules.sigma)
    search.look(relaxed, bool(node.number % 4 == 0 or node.depth < 4))
    x = relaxed.flat[K.integer]
    aim = aim._replace(fun=min(aim.fun, search.fun))
    low, high, entry = K.low[K.integer], K.high[K.integer], -1
    if relaxed.bound < aim.cutoff:
        tight = relaxed.tightened(aim)
        if (tight[0] > tight[1]).any():
            relaxed.bound = max(relaxed.bound, aim.cutoff)
        else:
            # Where tighter bounds leave nothing fractional, the old ones are branched on, so that
            # the part that is left is solved as a node of its own.
            fractional = (fractions(np.clip(x, *tight))[0] > 0).any()
            low, high = tight if fractional else (low, high)
            entry = _branching_entry(relaxed, np.clip(x, low, high), aim, costs, rules)
    vertices, weights = relaxed.heaviest()
    return Outcome(
        bound=max(node.bound, relaxed.bound),
        value=relaxed.value,
        fun=search.fun,
        entry=entry,
        nfev=counts.nfev,
        njev=counts.njev,
        nlmo=counts.nlmo,
        rounding=counts.rounding,
        x=relaxed.flat,
        point=np.full(n, np.nan) if search.point is None else search.point,
        low=low,
        high=high,
        vertices=vertices,
        weights=weights,
    )


def _unsolved(problem: Problem, node: Node) -> Outcome:
    """Return the outcome of a node where no point with a finite f was found.

    It is branched on its widest entry. A single point has the value infinity.
    """
    K: Any = problem.set
    low, high = K.low[K.integer], K.high[K.integer]
    wide, counts = high - low, problem.counts
    single = bool((K.low == K.high).all())
    middle = 0.5 * (K.low + K.high)
    return Outcome(
        bound=np.inf if single else node.bound,
        value=np.inf,
        fun=np.inf,
        entry=int(wide.argmax()) if (wide > 0).any() else -1,
        nfev=counts.nfev,
        njev=counts.njev,
        nlmo=counts.nlmo,
        rounding=counts.rounding,
        x=middle,
        point=np.full(len(middle), np.nan),
        low=low,
        high=high,
        vertices=node.vertices,
        weights=node.weights,
    )


def _branching_entry(
    relaxed: Relaxation, x: Array, aim: Aim, costs: PseudoCosts, rules: Rules
) -> int:
    """Return the integer entry to branch on, -1 if x has no fractional one."""
    down, up = fractions(x)
    if not (down > 0).any():
        return -1
    away = np.minimum(down, up)
    if rules.branching == "fractional" or not costs.counts.any():
        entry = int(away.argmax())
    else:
        scores = np.where(away > 0, costs.scores(down, up), -1.0)
        entry = int(scores.argmax())
    if rules.branching == "strong":
        entry = _strongest(relaxed, x, away, aim, rules)
    return entry


def _strongest(relaxed: Relaxation, x: Array, away: Array, aim: Aim, rules: Rules) -> int:
    """Return the entry whose two branches raise the bound most, by short relaxations of both."""
    best, entry = -1.0, int(away.argmax())
    vertices, weights = relaxed.heaviest()
    for j in np.argsort(-away, kind="stable")[:_CANDIDATES]:
        if away[j] == 0.0:
            break
        gains: list[float] = []
        for part in branches(relaxed.node, relaxed.K, int(j), x, vertices, weights):
            known = inside(part, relaxed.K)
            first = part.vertices[known][0] if known.any() else None
            K = relaxed.K.within(part.low, part.high, first)
            if K is None:
                gains.append(max(aim.cutoff - relaxed.bound, 1.0))
                continue
            counts = relaxed.problem.counts
            inner = Counts()
            problem = relaxed.problem
            probe = Relaxation(
                Problem(problem.objective, K, problem.L, inner, problem.convex),
                part._replace(bound=relaxed.bound),
            )
            probe.run(aim, rules.sigma, _PROBES)
            counts.nfev, counts.njev = counts.nfev + inner.nfev, counts.njev + inner.njev
            counts.nlmo += inner.nlmo
            gains.append(min(probe.bound, aim.cutoff) - relaxed.bound)
        score = max(gains[0], 1e-9) * max(gains[1], 1e-9)
        if score > best:
            best, entry = score, int(j)
    return entry


def branches(
    node: Node, K: Any, entry: int, x: Array, vertices: Array, weights: Array
) -> tuple[Node, Node]:
    """Return the parts of a node where an integer entry is at most, or at least, its neighbours."""
    low, high = K.low[K.integer], K.high[K.integer]
    return split(node, low, high, entry, float(x[entry]), vertices, weights, node.bound)
