r"""Lazy Frank-Wolfe: a vertex seen before, where it is good enough.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex with an expensive oracle.

Iteration
    Phi_k estimates the Frank-Wolfe gap from above. A vertex v is good enough if
    :math:`\langle \nabla f(x_k), x_k - v\rangle \ge \Phi_k/J`.

    .. math::

        &v_k = \text{the best cached vertex if it is good enough, otherwise }
            \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle \\
        &\Phi_{k+1} = \Phi_k \text{ if } v_k \text{ is good enough, otherwise }
            \tfrac12 \langle \nabla f(x_k), x_k - v_k\rangle \\
        &x_{k+1} = x_k + \gamma_k (v_k - x_k), \qquad \gamma_k \in [0, 1].

    The paper's weak separation oracle says no and halves Phi in a round without a step. Here the
    oracle that says no has solved its linear problem, so its answer gives the gap and a step.

Guarantee
    That of Frank-Wolfe up to the factor J^2: O(J^2 L D^2/k) (Braun, Pokutta, Zink 2019). With short
    step or line search f decreases in every round.

Symbols
    Phi_k ``state.phi``, the cached vertices ``state.cache``: a hull whose ages count the rounds
    since each vertex was used.

Cost of a round
    One gradient, one pass over the cache, and an oracle call in those rounds where the cache fails.
    Memory: ``size`` vertices.

Sources
    G. Braun, S. Pokutta, D. Zink, Lazifying conditional gradient algorithms, Journal of Machine
    Learning Research 20, 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, inner, same_type
from ..problem import Evaluation, Problem
from ..problem.checks import check_count, check_positive
from ..smoothing import Oracles
from .parts.active_set import towards
from .parts.hull import Hull
from .parts.stall import Stall
from .parts.step_rules import LineSearch, Memory, Ray, Rule, as_rule


class State(NamedTuple):
    """Iterate with its evaluation, then what is known of the gap, then what is remembered."""

    k: int
    x: Array
    at: Evaluation
    bound: float
    phi: float
    cache: Hull
    memory: Memory
    stall: Stall

    @property
    def stalled(self) -> bool:
        """Whether rounding errors keep the method from going on."""
        return self.stall.reached


@dataclass(frozen=True)
class LazyFrankWolfe:
    """Frank-Wolfe with a cache of vertices.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    J : float
        Laziness, at least 1: vertices that promise Phi/J are good enough.
    size : int
        How many vertices to keep; the one unused for longest goes first.
    """

    rule: Rule | str = LineSearch()
    J: float = 2.0
    size: int = 1000
    name: ClassVar[str] = "lazy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))
        check_positive("J", self.J)
        check_count("size", self.size)
        if self.J < 1:
            raise ValueError(f"J must be at least 1, found {self.J!r}")

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        """Return the state of round 0."""
        at = problem.evaluate(x0)
        vertex = oracles.lmo(at.gradient)
        bound = problem.dual_bound(at.gradient, at.dual, vertex)
        phi = 0.5 * (inner(at.gradient, x0) - float(vertex.dot(at.gradient)))
        cache = self._used(*Hull.start(x0).add(vertex))
        memory = as_rule(self.rule).start(problem, x0, at)
        return State(0, x0, at, bound, phi, cache, memory, Stall(at.value, bound))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state after one more round."""
        x, at, bound, phi, cache = state.x, state.at, state.bound, state.phi, state.cache
        g, here = at.gradient, inner(at.gradient, x)
        scores = cache.scores(g)
        i = cache.best(scores)
        assert cache.atoms is not None
        if here - scores[i] >= phi / self.J:
            vertex = cache.atoms.take(i - 1)
        else:
            vertex = oracles.lmo(g)
            cache, i = cache.add(vertex)
            bound = max(bound, problem.dual_bound(g, at.dual, vertex))
            gap = here - float(vertex.dot(g))
            phi = phi if gap >= phi / self.J else 0.5 * gap
        ray = Ray(state.k, x, at, towards(vertex, x), 1.0, state.memory)
        gamma, memory = as_rule(self.rule)(problem, ray)
        x_next = same_type(vertex.add_scaled(x, 1.0 - gamma, gamma), x)
        at_next = problem.evaluate(x_next)
        stall = state.stall.updated(at_next.value, bound)
        cache = self._used(cache, i)
        return State(state.k + 1, x_next, at_next, bound, phi, cache, memory, stall)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best bound of the oracle's answers so far."""
        return state.bound

    def _used(self, cache: Hull, i: int) -> Hull:
        """Return the cache after a round that used vertex i, which alone has weight."""
        weights = np.zeros(len(cache.weights))
        weights[i] = 1.0
        cache = cache.reweighted(weights)
        return cache.trimmed(1 + self.size, math.inf, cache.idle)
