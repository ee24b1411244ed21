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
    Phi_k ``state.phi``, the cached vertices ``state.cache``.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, inner, same_type, to_host
from ..atoms import Atoms, join
from ..problem import Evaluation, Problem
from ..problem.checks import check_count, check_positive
from ..smoothing import Oracles
from .parts.active_set import digest
from .parts.moves import Patience, towards
from .parts.step_rules import LineSearch, Ray, as_rule


class Cache(NamedTuple):
    """Vertices, the digests of their identities, and the round in which each was last used."""

    atoms: Atoms | None
    keys: tuple[str, ...]
    used: Array

    def best(self, g: Array) -> tuple[int, float]:
        """Return the position and the value of the cached vertex with the smallest <g, v>."""
        if self.atoms is None:
            return -1, math.inf
        values = to_host(self.atoms.dot(g))
        i = int(values.argmin())
        return i, float(values[i])

    def touch(self, i: int, k: int) -> Cache:
        """Return the cache with vertex ``i`` used in round ``k``."""
        used = self.used.copy()
        used[i] = k
        return self._replace(used=used)

    def add(self, atom: Atoms, k: int, size: int) -> Cache:
        """Return the cache with ``atom``; when full, in the place of the one unused for longest."""
        key = digest(atom.key())
        if key in self.keys:
            return self.touch(self.keys.index(key), k)
        atoms, keys, used = self
        if atoms is not None and len(keys) >= size:
            kept = np.delete(np.arange(len(keys)), used.argmin())
            atoms, keys, used = atoms.take(kept), tuple(keys[i] for i in kept), used[kept]
        joined = join([atom] if atoms is None or not keys else [atoms, atom])
        return Cache(joined, (*keys, key), np.append(used, k))


class State(NamedTuple):
    """Iterate with its evaluation, then what is known of the gap, then what is remembered."""

    k: int
    x: Array
    at: Evaluation
    bound: float
    phi: float
    cache: Cache
    memory: Any
    patience: Patience

    @property
    def stalled(self) -> bool:
        """Whether rounding errors keep the method from going on."""
        return self.patience.over


@dataclass(frozen=True)
class LazyFrankWolfe:
    """Frank-Wolfe with a cache of vertices.

    Parameters
    ----------
    rule : Rule or str
        Step rule of `wolfpack.solvers.step_rules`; exact line search by default.
    J : float
        Laziness, at least 1: vertices that promise Phi/J are good enough.
    size : int
        How many vertices to keep; the one unused for longest goes first.
    """

    rule: Any = LineSearch()
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
        cache = Cache(None, (), np.zeros(0, dtype=np.int64)).add(vertex, 0, self.size)
        memory = self.rule.start(problem, x0, at)
        return State(0, x0, at, bound, phi, cache, memory, Patience(at.value, bound))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state after one more round."""
        k, x, at, bound, phi, cache, memory, patience = state
        g, here = at.gradient, inner(at.gradient, x)
        i, value = cache.best(g)
        if cache.atoms is not None and here - value >= phi / self.J:
            vertex, cache = cache.atoms.take(i), cache.touch(i, k + 1)
        else:
            vertex = oracles.lmo(g)
            cache = cache.add(vertex, k + 1, self.size)
            bound = max(bound, problem.dual_bound(g, at.dual, vertex))
            gap = here - float(vertex.dot(g))
            phi = phi if gap >= phi / self.J else 0.5 * gap
        d = towards(vertex, x)
        gamma, memory = self.rule(problem, Ray(k, x, at, d, 1.0, memory))
        x_next = same_type(vertex.add_scaled(x, 1.0 - gamma, gamma), x)
        at_next = problem.evaluate(x_next)
        patience = patience.saw(at_next.value, bound)
        return State(k + 1, x_next, at_next, bound, phi, cache, memory, patience)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best bound of the oracle's answers so far."""
        return state.bound
