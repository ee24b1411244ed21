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
    Phi_k ``state.phi``, the cached vertices ``state.active``: a hull whose ages count the rounds
    since each vertex was used; ``state.vertex`` is v_{k-1}.

Cost of a round
    One gradient, one pass over the cache, and an oracle call in those rounds where the cache fails.
    Memory: ``size`` vertices.

Sources
    G. Braun, S. Pokutta, D. Zink, Lazifying conditional gradient algorithms, Journal of Machine
    Learning Research 20, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arrays import Array, inner, same_type
from ..problem import Evaluation, Problem
from ..problem.checks import checked, count
from ..smoothing import Oracles
from .parts.active_set import ActiveSetMethod, State, laziness, towards
from .parts.cache import used
from .parts.domain import shortened
from .parts.stall import Stall


@checked(J=laziness, size=count)
@dataclass(frozen=True)
class LazyFrankWolfe(ActiveSetMethod):
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

    J: float = 2.0
    size: int = 1000
    name: ClassVar[str] = "lazy"

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        state = super().init(problem, x0, oracles)
        vertex, g = state.vertex, state.at.gradient
        assert vertex is not None
        phi = 0.5 * (inner(g, x0) - float(vertex.dot(g)))
        stall = Stall(state.at.value, state.bound)
        return state._replace(
            active=used(*state.active.add(vertex), self.size), stall=stall, phi=phi
        )

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        x, at, bound, phi, cache = state.x, state.at, state.bound, state.phi, state.active
        g, here = at.gradient, inner(at.gradient, x)
        scores = cache.scores(g)
        i = cache.best(scores)
        assert cache.atoms is not None
        step = "cached" if here - scores[i] >= phi / self.J else "fw"
        if step == "cached":
            vertex = cache.atoms.take(i - 1)
        else:
            vertex = oracles.lmo(g)
            cache, i = cache.add(vertex)
            bound = max(bound, problem.dual_bound(g, at.dual, vertex))
            gap = here - float(vertex.dot(g))
            phi = phi if gap >= phi / self.J else 0.5 * gap
        gamma, memory = self.stride(problem, state, towards(vertex, x))

        def moved(gamma: float) -> tuple[Array, Evaluation]:
            x_next = same_type(vertex.add_scaled(x, 1.0 - gamma, gamma), x)
            return x_next, problem.evaluate(x_next)

        _, (x_next, at_next) = shortened(moved, gamma, x, end=1.0)
        stall, cache = state.stall.updated(at_next.value, bound), used(cache, i, self.size)
        following = State(state.k + 1, x_next, at_next, vertex, bound, cache, memory, stall, phi)
        return following._replace(step=step)
