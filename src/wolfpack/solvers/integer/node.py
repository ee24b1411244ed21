r"""One node of the tree: a relaxation with a proved bound, and integer points found on the way.

A node is K with bounds on the integer entries. Its relaxation, min f over the hull of its integer
points, is solved by `wolfpack.solvers.Corrective`, from the vertices of the node above that satisfy
the new bounds. The solve ends early:

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

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...arrays import Array
from ...atoms import Dense
from ...problem import Counts, Evaluation, NonFiniteError, Problem, Region
from ...smoothing import Oracles
from ..corrective import Corrective
from ..corrective import State as RelaxationState
from ..parts.correction import Corrected, extended

KEPT = 24
"""Vertices, those of largest weight, that the nodes below begin with."""

FRACTIONAL = 1e-6
"""Distance from the nearest integer from which on an entry counts as fractional."""

_EARLY = 0.1
"""A node that must be branched is solved to this part of its distance from the incumbent."""

_ROUNDS = 400
"""Limit on the rounds of a relaxation."""

_CANDIDATES = 8
"""Entries that strong branching tries."""

_DEEP = 64
"""Answers to random directions, whose mean is a start deep inside a node."""

_PROBES = 4
"""Rounds of the relaxations that strong branching makes."""


class IntegerRegion(Region, Protocol):
    """A set of which bounds on the integer entries give a part; entries are counted flat."""

    integer: Array
    low: Array
    high: Array

    def within(self, low: Array, high: Array, known: Array | None = None) -> Any:
        """Return the part with integer entries in [low, high], None if it is empty."""
        ...

    def prices(self, g: Array) -> tuple[float, Array] | None:
        """Return a level and prices of a linear lower bound on <g, x>, None if unknown."""
        ...


class Node(NamedTuple):
    """Bounds on the integer entries, and what the node above has left.

    ``bound`` is proved for all integer points of the node. ``entry`` is the position among integer
    entries that the node above was branched on, -1 at the root; ``up`` whether this is the part
    above, and ``shift`` by how much the entry was moved.
    """

    low: Array
    high: Array
    bound: float
    depth: int
    number: int
    entry: int
    up: int
    shift: float
    vertices: Array
    weights: Array


class Outcome(NamedTuple):
    """What a node has shown.

    ``fun`` is f at the best integer ``point`` found, infinite without one. ``entry`` is the integer
    entry to branch on, -1 where the node is closed; ``x`` is the solution of the relaxation. The
    counts are what the node cost, ``rounding`` what its bound allows for rounding errors.
    """

    bound: float
    value: float
    fun: float
    entry: int
    nfev: int
    njev: int
    nlmo: int
    rounding: float
    x: Array
    point: Array
    low: Array
    high: Array
    vertices: Array
    weights: Array


class PseudoCosts(NamedTuple):
    """Sums of bound gained per unit of an entry moved down (column 0) and up, and their counts."""

    gains: Array
    counts: Array

    @classmethod
    def none(cls, q: int) -> PseudoCosts:
        """Return the costs of q entries of which nothing is known."""
        return cls(np.zeros((q, 2)), np.zeros((q, 2)))

    def learned(self, entry: int, side: int, gain: float, shift: float) -> PseudoCosts:
        """Return the costs after a branch has raised the bound by ``gain``."""
        gains, counts = self.gains.copy(), self.counts.copy()
        gains[entry, side] += max(gain, 0.0) / max(shift, FRACTIONAL)
        counts[entry, side] += 1.0
        return PseudoCosts(gains, counts)

    def scores(self, down: Array, up: Array) -> Array:
        """Return how much both branches of each entry promise, as a product."""
        total = self.counts.sum(axis=0)
        typical = np.where(total > 0, self.gains.sum(axis=0) / np.maximum(total, 1.0), 1.0)
        mean = np.where(self.counts > 0, self.gains / np.maximum(self.counts, 1.0), typical)
        least = 1e-6 * max(float(typical.max()), 1e-300)
        return np.maximum(mean[:, 0] * down, least) * np.maximum(mean[:, 1] * up, least)


class Aim(NamedTuple):
    """What a node is to be compared with: f at the best integer point, and the gap allowed."""

    fun: float
    goal: float

    @property
    def cutoff(self) -> float:
        """The bound from which on a node cannot improve the incumbent by more than the gap."""
        return self.fun - 0.9 * self.goal


@dataclass(frozen=True)
class Rules:
    """How nodes are solved: see `wolfpack.solvers.integer.BranchAndBound`."""

    branching: str = "pseudo-cost"
    sigma: float = 0.0


def solve_node(problem: Problem, node: Node, aim: Aim, costs: PseudoCosts, rules: Rules) -> Outcome:
    """Return what the relaxation of a node shows. It depends on the arguments alone."""
    region: Any = problem.set
    n, counts = region.dimension, Counts()
    outer = problem.counts
    counts.allow(outer.deadline, outer.max_lmo - outer.nlmo)
    known = _inside(node, region)
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
        relaxed = _Relaxation(part, node)
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


def _inside(node: Node, region: IntegerRegion) -> Array:
    """Return which vertices of the node above satisfy this node's bounds."""
    entries = node.vertices[:, region.integer]
    inside = (entries >= node.low - FRACTIONAL) & (entries <= node.high + FRACTIONAL)
    return inside.all(axis=1)


def fractions(x: Array) -> tuple[Array, Array]:
    """Return how far each entry is above the integer below it, and below the one above."""
    whole = abs(x - np.round(x)) <= FRACTIONAL
    down = np.where(whole, 0.0, x - np.floor(x))
    return down, np.where(whole, 0.0, np.ceil(x) - x)


class _Relaxation:
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
        inside = _inside(self.node, self.K)
        known, weights = self.node.vertices[inside], self.node.weights[inside]
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


def _branching_entry(
    relaxed: _Relaxation, x: Array, aim: Aim, costs: PseudoCosts, rules: Rules
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


def _strongest(relaxed: _Relaxation, x: Array, away: Array, aim: Aim, rules: Rules) -> int:
    """Return the entry whose two branches raise the bound most, by short relaxations of both."""
    best, entry = -1.0, int(away.argmax())
    vertices, weights = relaxed.heaviest()
    for j in np.argsort(-away, kind="stable")[:_CANDIDATES]:
        if away[j] == 0.0:
            break
        gains: list[float] = []
        for part in branches(relaxed.node, relaxed.K, int(j), x, vertices, weights):
            known = _inside(part, relaxed.K)
            first = part.vertices[known][0] if known.any() else None
            K = relaxed.K.within(part.low, part.high, first)
            if K is None:
                gains.append(max(aim.cutoff - relaxed.bound, 1.0))
                continue
            counts = relaxed.problem.counts
            inner = Counts()
            problem = relaxed.problem
            probe = _Relaxation(
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


def split(
    node: Node,
    low: Array,
    high: Array,
    entry: int,
    at: float,
    vertices: Array,
    weights: Array,
    bound: float,
) -> tuple[Node, Node]:
    """Return the two parts of a node with these bounds; ``at`` is the entry's value."""
    floor = np.floor(at)
    if floor >= high[entry]:  # integral at the upper end
        floor = high[entry] - 1.0
    below, above = high.copy(), low.copy()
    below[entry], above[entry] = floor, floor + 1.0
    common = {"bound": bound, "depth": node.depth + 1, "number": -1, "entry": entry}
    known = {"vertices": vertices, "weights": weights}
    return (
        Node(low=low, high=below, up=0, shift=at - floor, **common, **known),
        Node(low=above, high=high, up=1, shift=floor + 1.0 - at, **common, **known),
    )


class Search:
    """Integer points that are found beside the bound: vertices, roundings and their neighbours."""

    def __init__(self, problem: Problem, best: float) -> None:
        self.problem, self.best = problem, best
        self.K: Any = problem.set
        self.fun, self.point = np.inf, None

    def look(self, relaxed: _Relaxation, thoroughly: bool) -> None:
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
        relaxed = _Relaxation(problem, node)
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
