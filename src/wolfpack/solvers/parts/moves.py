"""What methods on active sets share: their state, and the round once it is known where to go."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...arrays import Array, namespace
from ...atoms import Atoms
from ...problem import Evaluation, Problem
from ...smoothing import Oracles
from .active_set import ActiveSet
from .step_rules import Ray

LIMIT = 100
"""Rounds without any improvement after which a monotone method has met its rounding errors."""


class Patience(NamedTuple):
    """The best value and bound so far, and for how many rounds neither has improved.

    Descent methods improve f in every round until rounding hides it. Then f and the bound wander
    among few numbers, which this counter notices although steps may still be taken.
    """

    fun: float
    bound: float
    idle: int = 0

    def saw(self, fun: float, bound: float) -> Patience:
        """Return the count after a round with this value and bound."""
        if fun < self.fun or bound > self.bound:
            return Patience(min(fun, self.fun), max(bound, self.bound))
        return self._replace(idle=self.idle + 1)

    @property
    def over(self) -> bool:
        """Whether the rounds without improvement have reached the limit."""
        return self.idle >= LIMIT


class State(NamedTuple):
    """Iterate with its evaluation, then what is known of the oracle, then what is remembered.

    ``vertex`` is the oracle's answer to the gradient at x, None before it is asked; ``bound`` is
    the lower bound of the last answer, ``phi`` a lazy method's estimate of the gap.
    """

    k: int
    x: Array
    at: Evaluation
    vertex: Atoms | None
    bound: float
    active: ActiveSet
    memory: Any
    patience: Patience
    phi: float = 0.0

    @property
    def stalled(self) -> bool:
        """Whether rounding errors keep the method from going on."""
        return self.patience.over


def towards(vertex: Atoms, x: Array) -> Array:
    """Return v - x in the precision of x."""
    d = vertex.add_scaled(x, -1.0, 1.0)
    return d if d.dtype == x.dtype else namespace(x).astype(d, x.dtype)


def begin(problem: Problem, x0: Array, oracles: Oracles, rule: Any) -> State:
    """Return the state of round 0."""
    at = problem.evaluate(x0)
    memory = rule.start(problem, x0, at)
    patience = Patience(at.value, -math.inf)
    start = State(0, x0, at, None, -math.inf, ActiveSet.start(x0), memory, patience)
    return ask(problem, start, oracles)


def ask(problem: Problem, state: State, oracles: Oracles) -> State:
    """Return the state with the oracle's answer to the gradient at x, and its bound."""
    at = state.at
    vertex = oracles.lmo(at.gradient)
    return state._replace(vertex=vertex, bound=problem.dual_bound(at.gradient, at.dual, vertex))


def travel(problem: Problem, state: State, rule: Any, move: tuple[Any, Any]) -> State:
    """Return the state after a step from source to target, the positions that ``move`` names."""
    k, x, at, _, bound, active, memory, patience, phi = state
    d = active.direction(x, *move)
    gamma, memory = rule(problem, Ray(k, x, at, d, active.max_step(*move), memory))
    active_next = active.transfer(gamma, *move)
    x_next = active_next.point()
    at_next = problem.evaluate(x_next)
    patience = patience.saw(at_next.value, bound)
    return State(k + 1, x_next, at_next, None, bound, active_next, memory, patience, phi)
