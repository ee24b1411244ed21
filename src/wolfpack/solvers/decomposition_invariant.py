r"""Decomposition-invariant conditional gradients (DICG): away steps without an active set.

Problem
    min f(x) over x in K, f convex and smooth, K a polytope that knows the minimal face F(x) around
    each of its points x.

Iteration
    .. math::

        &v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        a_k = \arg\max_{a\in F(x_k)} \langle \nabla f(x_k), a\rangle \\
        &x_{k+1} = x_k + \gamma_k (v_k - a_k), \qquad
        \gamma_k \le \max\{t : x_k + t (v_k - a_k) \in K\}.

    It is the pairwise step of the best of all active sets that x_k could have. With ``blended`` the
    round first looks into the face: with :math:`s_k = \arg\min_{s\in F(x_k)} \langle \nabla f(x_k),
    s\rangle` it goes along s_k - a_k if that promises at least as much as v_k - x_k, and along
    v_k - x_k otherwise. With ``lazy`` it asks for v_k only if s_k - a_k promises less than an
    estimate Phi of the gap, which is halved when v_k promises less than Phi/J.

Guarantee
    For strongly convex f over a polytope :math:`\{x \ge 0, A x = b\}` with 0-1 vertices
    :math:`f(x_k) - \min f \le C \exp(-\mu k / (8 L D^2 s))`, where s is the number of nonzeros of a
    solution: the dimension does not enter (Garber and Meshi 2016, with short steps limited to K).
    For other polytopes the rate is linear as well, with a constant of the polytope (Bashiri and
    Zhang 2017). f decreases in every round.

Symbols
    v_k ``state.vertex``, Phi ``state.phi``, gamma_k the rule's step.

Cost of a round
    One gradient, one oracle call and one on the face (two with ``blended``, and mostly no other
    with ``lazy``); all of them count in ``nlmo``. Memory O(d): no vertex is kept.

Sources
    D. Garber, O. Meshi, Linear-memory and decomposition-invariant linearly convergent conditional
    gradient algorithm for structured polytopes, NeurIPS 2016.
    M. Bashiri, X. Zhang, Decomposition-invariant conditional gradient for general polytopes with
    line search, NeurIPS 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, NamedTuple

from ..arrays import Array, inner, same_type
from ..atoms import Atoms
from ..problem import CapabilityError, Evaluation, Problem, Solver
from ..problem.checks import checked, flag
from ..smoothing import Oracles
from .parts.active_set import STALLED_AFTER, laziness, towards
from .parts.domain import shortened
from .parts.rules import as_rule
from .parts.stall import Stall
from .parts.step_rules import LineSearch, Memory, Rule, SearchLine


class State(NamedTuple):
    """Iterate with its evaluation, then what is known of the oracle, then what is remembered.

    ``vertex`` is the oracle's answer to the gradient at x, None before it is asked, and ``bound``
    is the best bound so far.
    """

    k: int
    x: Array
    at: Evaluation
    vertex: Atoms | None
    bound: float
    stall: Stall
    memory: Memory = None
    phi: float = math.inf
    step: str = "start"

    stalled = property(attrgetter("stall.reached"))


class Way(NamedTuple):
    """A direction, the longest step along it, and what it is called."""

    d: Array
    max_step: float
    step: str


@checked(blended=flag, lazy=flag, J=laziness)
@dataclass(frozen=True)
class DecompositionInvariant(Solver[State]):
    """Pairwise steps away from the worst vertex of the minimal face around x.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name; exact line search by default.
    blended : bool
        Whether steps within the face are taken where they promise more than a Frank-Wolfe step.
    lazy : bool
        Whether to ask the oracle only when the face has too little to offer; implies ``blended``.
    J : float
        Laziness: the factor >= 1 by which the gap may fall below phi before phi follows.
    """

    rule: Rule | str = LineSearch()
    blended: bool = False
    lazy: bool = False
    J: float = 2.0
    name: ClassVar[str] = "dicg"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        as_rule(self.rule).check(problem)
        K = problem.set
        if not (K.has("lmo_face") and K.has("max_step")):
            raise CapabilityError(
                f"method 'dicg' needs a set that knows its faces (K.has('lmo_face')), and {K} does "
                "not: choose another method, such as 'bpcg'"
            )
        at = problem.evaluate(x0)
        state = State(0, x0, at, None, -math.inf, Stall(at.value, -math.inf, limit=STALLED_AFTER))
        return self._asked(problem, state, oracles)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        way, state = self._way(problem, state, oracles)
        x = state.x
        line = SearchLine(state.k, x, state.at, way.d, way.max_step, state.memory)
        gamma, memory = as_rule(self.rule)(problem, line)

        def moved(gamma: float) -> tuple[Array, Evaluation]:
            x_next = same_type(x + gamma * way.d, x)
            return x_next, problem.evaluate(x_next)

        _, (x_next, at_next) = shortened(moved, gamma, x, end=way.max_step)
        stall = state.stall.updated(at_next.value, state.bound)
        following = state._replace(
            k=state.k + 1,
            x=x_next,
            at=at_next,
            vertex=None,
            stall=stall,
            memory=memory,
            step=way.step,
        )
        return following if self.lazy else self._asked(problem, following, oracles)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the lower bound that the oracle's answers give."""
        return state.bound

    def _asked(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state with the oracle's answer to the gradient at x, and its bound."""
        g = state.at.gradient
        vertex = oracles.lmo(g)
        bound = max(state.bound, problem.dual_bound(g, state.at.dual, vertex))
        return state._replace(vertex=vertex, bound=bound)

    def _way(self, problem: Problem, state: State, oracles: Oracles) -> tuple[Way, State]:
        """Return where to go from x, and the state with all answers that were needed for it."""
        g, x = state.at.gradient, state.x
        worst = same_type(self._on_face(problem, x, -g).to_dense(), x)
        inside, local = None, -math.inf
        if self.blended or self.lazy:
            best = self._on_face(problem, x, g)
            inside = towards(best, worst)
            local = -inner(g, inside)
            if self.lazy and local >= state.phi:
                way = Way(inside, problem.set.max_step(x, inside), "pairwise")
                if way.max_step > 0:
                    return way, state
        if state.vertex is None:
            state = self._asked(problem, state, oracles)
        vertex = state.vertex
        assert vertex is not None
        gap = inner(g, x) - float(vertex.dot(g))
        state = state._replace(phi=state.phi if gap >= state.phi / self.J else 0.5 * gap)
        d = towards(vertex, worst) if inside is None else inside
        if inside is None or local >= gap:
            way = Way(d, problem.set.max_step(x, d), "pairwise")
            if 0 < way.max_step < math.inf:
                return way, state
        # a Frank-Wolfe step, also where rounding leaves no room for another one
        return Way(towards(vertex, x), 1.0, "fw"), state

    def _on_face(self, problem: Problem, x: Array, g: Array) -> Atoms:
        """Return the best vertex of the minimal face around x, which counts as an oracle call."""
        problem.counts.ask()
        return problem.set.lmo_face(x, g)
