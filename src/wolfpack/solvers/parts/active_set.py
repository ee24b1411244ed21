"""What methods with one vertex a round share: state, oracle, step and products with the Hessian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from ...arrays import Array, all_finite, epsilon, inner, namespace, norm
from ...atoms import Atoms
from ...problem import Evaluation, NonFiniteError, Problem, Solver, tick
from ...problem.checks import between
from ...smoothing import Oracles
from .carried import Carried, Shift, begin, evaluate, shift
from .domain import shortened
from .hull import Hull
from .rules import as_rule
from .stall import Stall
from .step_rules import LineSearch, Memory, Rule, SearchLine, Stride

STALLED_AFTER = 100
"""Rounds without progress after which a run has stalled, or as many as it has active vertices."""


_NAMES = {(True, False): "fw", (False, True): "away", (False, False): "pairwise"}
"""Names of steps, by whether they take from x and whether they give to x."""


class State(NamedTuple):
    """Iterate with its evaluation, then what is known of the oracle, then what is remembered.

    ``vertex`` is the oracle's answer to the gradient at x, None before it is asked; ``bound`` is
    its lower bound, ``phi`` a lazy method's estimate of the gap. ``carried`` is the product of f's
    matrix with x, for methods that keep it. ``step`` is what the last round did, one of
    `wolfpack.problem.STEPS`.
    """

    k: int
    x: Array
    at: Evaluation
    vertex: Atoms | None
    bound: float
    active: Hull
    memory: Memory
    stall: Stall
    phi: float = 0.0
    carried: Carried | None = None
    step: str = "start"

    stalled = property(attrgetter("stall.reached"))

    def moved(self, problem: Problem, active: Hull, memory: Memory, k: int) -> State:
        """Return the state of round k at the point of another active set, without an answer."""
        x = active.point()
        at = evaluate(problem, active, active.weights, x)
        return self.at_point(x, at, None, active, memory, k)

    def at_point(
        self,
        x: Array,
        at: Evaluation,
        carried: Carried | None,
        active: Hull,
        memory: Memory,
        k: int,
    ) -> State:
        """Return the state of round k at a point that was evaluated, without an answer."""
        # a pass over a large active set takes as many rounds, and need not show in f before its end
        limit = max(STALLED_AFTER, len(active.weights))
        stall = self.stall.updated(at.value, self.bound, limit)
        return State(k, x, at, None, self.bound, active, memory, stall, self.phi, carried)


laziness = between(1, math.inf, high_open=True)
"""J, the factor of at least 1 by which phi may exceed the gap."""


@dataclass(frozen=True)
class ActiveSetMethod(Solver[State]):
    """A method that keeps x as a convex combination of an active set.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    """

    rule: Rule | str = LineSearch()

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        as_rule(self.rule).check(problem)
        return first_state(problem, Hull.start(x0), oracles)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the lower bound that the oracle's answers give."""
        return state.bound

    def stride(
        self,
        problem: Problem,
        state: State,
        d: Array,
        max_step: float = 1.0,
        carried: Shift | None = None,
    ) -> Stride:
        """Return how far the rule goes from x along d."""
        ray = SearchLine(state.k, state.x, state.at, d, max_step, state.memory, carried)
        return as_rule(self.rule)(problem, ray)

    def move(
        self, problem: Problem, state: State, *, source: int | None, target: int | None
    ) -> State:
        """Return the state after a step of the rule from source to target, None standing for x."""
        x, active, step = state.x, state.active, _NAMES[source is None, target is None]
        d, max_step = active.direction(x, source, target), active.max_step(source, target)
        carrier, along = problem.objective.carrier(x), None
        if carrier is not None and state.carried is not None:
            along = shift(carrier, state.carried, active, source, target)
        gamma, memory = self.stride(problem, state, d, max_step, along)

        def moved(gamma: float) -> State:
            hull = active.transfer(gamma, source, target)
            if along is None:
                found = state.moved(problem, hull, memory, k=state.k + 1)
            else:
                x_next = hull.point()
                at, carried = along.step(problem, x, d, gamma, x_next)
                found = state.at_point(x_next, at, carried, hull, memory, state.k + 1)
            return found._replace(step=step)

        return shortened(moved, gamma, x, end=max_step)[1]


def first_state(problem: Problem, hull: Hull, oracles: Oracles) -> State:
    """Return the state of round 0 at the point of a hull."""
    x = hull.point()
    carrier, carried = problem.objective.carrier(x), None
    if carrier is None:
        at = problem.evaluate(x)
    else:
        at, carried = begin(problem, carrier, x)
    stall = Stall(at.value, -math.inf)
    state = State(0, x, at, None, stall.bound, hull, None, stall, carried=carried)
    return ask_oracle(problem, state, oracles)


def ask_oracle(problem: Problem, state: State, oracles: Oracles) -> State:
    """Return the state with the oracle's answer to the gradient at x, and its bound."""
    at = state.at
    vertex = oracles.lmo(at.gradient)
    bound = problem.dual_bound(at.gradient, at.dual, vertex, drift=at.drift)
    return state._replace(vertex=vertex, bound=bound)


@dataclass(frozen=True)
class LazyMethod(ActiveSetMethod):
    """A method that may ask the oracle only when its active set has too little to offer.

    It asks in every round unless it is ``lazy``; then phi, an estimate of the Frank-Wolfe gap, says
    what is too little. It is halved when the oracle's answer offers less than phi/J.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    lazy : bool
        Whether to ask the oracle only when the active set has too little to offer.
    J : float
        Laziness: the factor >= 1 by which the gap may fall below phi before phi follows.
    """

    lazy: bool = False
    J: float = 2.0

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        return super().init(problem, x0, oracles)._replace(phi=math.inf)

    def asked(
        self, problem: Problem, state: State, oracles: Oracles
    ) -> tuple[State, Atoms, float, float]:
        """Return the state with the oracle's answer and its phi, the answer, its value, its gap."""
        if state.vertex is None:
            state = ask_oracle(problem, state, oracles)
        g, vertex = state.at.gradient, state.vertex
        assert vertex is not None
        value = float(vertex.dot(g))
        gap = inner(g, state.x) - value
        if gap < state.phi / self.J:
            state = state._replace(phi=0.5 * gap)
        return state, vertex, value, gap

    def ended(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state at the end of a round, with the oracle's answer unless it is lazy."""
        return state if self.lazy else ask_oracle(problem, state, oracles)


def towards(vertex: Atoms, x: Array) -> Array:
    """Return v - x in the precision of x."""
    d = vertex.add_scaled(x, -1.0, 1.0)
    return d if d.dtype == x.dtype else namespace(x).astype(d, x.dtype)


def hessian_product(problem: Problem, x: Array, at: Evaluation, d: Array) -> Array:
    """Return Hess f(x) d, for d that leads from x to a point of K.

    Where the objective does not know it, it comes from a difference of gradients, to about half of
    the digits; gradients are asked between x and x + d only.
    """
    tick()
    product = problem.objective.hessian_product(x, d)
    if product is not None:
        return product
    length = norm(d)
    if length == 0.0:
        return 0.0 * d

    def gradient(t: float) -> Array:
        found = problem.gradient(x + t * d)
        if not all_finite(found):
            raise NonFiniteError("f returned a NaN or infinite gradient", x + t * d)
        return found

    first = min(1.0, math.sqrt(epsilon(d)) * max(1.0, norm(x)) / length)
    t, found = shortened(gradient, first, x)
    return (found - at.gradient) / t
