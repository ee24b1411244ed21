r"""Block-coordinate Frank-Wolfe: one factor of a product in a round, or all of them side by side.

Problem
    min f(x) over :math:`x = (x^1, \dots, x^p)` in :math:`K_1 \times \dots \times K_p`, f convex and
    smooth, all factors compact and convex.

Iteration
    With the blocks :math:`\nabla_i f` of the gradient, for the block i of the round

    .. math::

        v^i = \arg\min_{v\in K_i} \langle \nabla_i f(x_k), v\rangle, \qquad
        x^i_{k+1} = x^i_k + \gamma_k (v^i - x^i_k),

    while the other blocks stay as they are. ``order`` says which block comes next: "cyclic" takes
    them in turn, "shuffled" in a new random order in every pass, "random" draws one uniformly, and
    "gap" draws i in proportion to the last gap :math:`g_i = \langle \nabla_i f, x^i - v^i\rangle`
    that was seen of it; all gaps are measured anew in every tenth pass. "parallel" moves all blocks
    in a round, each as far as its own quadratic model says,

    .. math:: d^i = s_i (v^i - x^i_k), \qquad s_i = \min(1, g_i / (M \|v^i - x^i_k\|^2)),

    and the step rule says how far x goes along d. M is the curvature that the rule remembers, or L.

Guarantee
    :math:`f(x_k) - \min f \le 2p\,(C + h_0) / (k + 2p)` in expectation for random blocks, with C
    the sum of the curvature constants L_i D_i^2 of the blocks and h_0 the gap of the start
    (Lacoste-Julien et al. 2013); O(p/k) for cyclic ones (Beck, Pauwels, Sabach 2015), and for any
    order that takes all blocks in a bounded time (Braun, Pokutta, Woodstock 2024). f decreases in
    every round, except with open loops.

Symbols
    x_k ``state.x``, g_i ``state.gaps``, the rule's memory of block i ``state.memory[i]``.

Cost of a round
    One gradient, and one call of one block's oracle, p of them for "parallel". A certificate needs
    the answers of all blocks to one gradient: p calls, unless the round has asked them. ``nlmo``
    counts the calls of the blocks' oracles. With ``lazy`` an oracle is asked where no vertex seen
    before promises Phi_i/J (see `lazy`), which needs memory for up to 100 vertices of each block.
    The gap of a block grows while the others move, so every tenth pass measures all gaps anew and
    takes half of each as its Phi_i.

Sources
    S. Lacoste-Julien, M. Jaggi, M. Schmidt, P. Pletscher, Block-coordinate Frank-Wolfe optimization
    for structural SVMs, ICML 2013.
    A. Beck, E. Pauwels, S. Sabach, The cyclic block conditional gradient method for convex
    optimization problems, SIAM Journal on Optimization 25, 2015.
    A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. Dokania, S. Lacoste-Julien, Minding the gaps for
    block Frank-Wolfe optimization of structured SVMs, ICML 2016.
    G. Braun, S. Pokutta, Z. Woodstock, Flexible block-iterative analysis for the Frank-Wolfe
    algorithm, 2024.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, inner, same_type
from ..atoms import Atoms, BlockAtoms, join_blocks, split_blocks
from ..problem import CapabilityError, Evaluation, Problem, Region, Solver
from ..problem.checks import checked, choice, flag, whole
from ..smoothing import Oracles
from .parts.active_set import laziness, towards
from .parts.cache import used
from .parts.domain import shortened
from .parts.hull import Hull
from .parts.rules import as_rule
from .parts.stall import Stall
from .parts.step_rules import Memory, Rule, SearchLine, Secant

ORDERS = ("cyclic", "shuffled", "random", "gap", "parallel")
"""The orders in which blocks take their turns."""

_REFRESH = 10  # passes after which order="gap" and lazy methods measure all gaps anew
_CACHE = 100  # vertices that a lazy method keeps of each block


class State(NamedTuple):
    """Iterate with its evaluation, what is known of each block, and the answer of all of them.

    ``gaps`` are the last Frank-Wolfe gaps seen of the blocks, ``memory`` is the step rule's of each
    block. ``caches`` and ``phi`` are a lazy method's vertices and estimates of the gaps.
    ``answer`` holds the answers of all blocks to the gradient at x, where all have been asked.
    """

    k: int
    x: Array
    at: Evaluation
    gaps: Array
    memory: tuple[Memory, ...]
    stall: Stall
    answer: Atoms | None = None
    caches: tuple[Hull, ...] = ()
    phi: Array | None = None

    stalled = property(attrgetter("stall.reached"))

    @property
    def certificate_calls(self) -> int:
        """Oracle calls that certify this state."""
        return len(self.gaps) if self.answer is None else 0


@checked(order=choice(*ORDERS), lazy=flag, J=laziness, blocks=whole(0))
@dataclass(frozen=True)
class BlockCoordinate(Solver[State]):
    """Frank-Wolfe on the blocks of a product.

    Parameters
    ----------
    order : "cyclic", "shuffled", "random", "gap" or "parallel"
        Which block comes next.
    rule : Rule or str
        Step rule of `wolfpack.solvers`, or its name, with a memory for each block. "backtracking"
        and "adaptive" estimate a smoothness constant for each block, "short-step" uses L for all.
        By default exact steps: in closed form for quadratics, else secant steps.
    lazy : bool
        Whether vertices seen before are used again where they are good enough.
    J : float
        Laziness, at least 1: vertices that promise Phi/J are good enough.
    blocks : int
        The number of blocks, which `for_set` writes here.
    """

    order: str = "cyclic"
    rule: Rule | str = Secant()
    lazy: bool = False
    J: float = 2.0
    blocks: int = 0
    name: ClassVar[str] = "block"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))

    @property
    def certificate_calls(self) -> int:
        """Oracle calls of `lower_bound`: those of all blocks, if the round has not made them."""
        return 0 if self.order == "parallel" and not self.lazy else max(1, self.blocks)

    @property
    def round_calls(self) -> int:
        """Oracle calls of a round."""
        return max(1, self.blocks) if self.order == "parallel" else 1

    def for_set(self, K: Region) -> BlockCoordinate:
        """Return the method for K, a product."""
        return replace(self, blocks=len(_factors(K)))

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        as_rule(self.rule).check(problem)
        p, at = len(_factors(problem.set)), problem.evaluate(x0)
        answer = _ask_all(problem, at.gradient, oracles)
        gaps = np.array(_gaps(_blocks(problem, x0), _blocks(problem, at.gradient), answer))
        state = State(0, x0, at, gaps, (None,) * p, Stall(at.value, -math.inf, limit=100 + 10 * p))
        if self.lazy:
            hulls = map(Hull.start, _blocks(problem, x0))
            known = zip(hulls, answer.parts, strict=True)
            caches = tuple(used(*hull.add(vertex), _CACHE) for hull, vertex in known)
            state = state._replace(caches=caches, phi=0.5 * gaps)
        return state._replace(answer=answer)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        p, k = len(state.gaps), state.k
        turns = 1 if self.order == "parallel" else p
        if (self.order == "gap" or self.lazy) and k % (_REFRESH * turns) == 0:
            state = self._measured(problem, state, oracles)
        chosen = list(range(p)) if self.order == "parallel" else [self._next(state, oracles)]
        vertices, state = self._answers(problem, state, chosen)
        xs, gs = _blocks(problem, state.x), _blocks(problem, state.at.gradient)
        ds = [0.0 * x for x in xs]
        gaps, steps = state.gaps.copy(), np.zeros(p)
        for i, vertex in zip(chosen, vertices, strict=True):
            ds[i] = towards(vertex, xs[i])
            gaps[i] = -inner(gs[i], ds[i])
            steps[i] = self._share(problem, state.memory[i], gaps[i], ds[i])
        steps = steps if len(chosen) > 1 and steps.any() else np.ones(p)
        d = self._joined(problem, [float(s) * d for s, d in zip(steps, ds, strict=True)])
        longest, memory = 1.0 / float(steps.max()), state.memory[chosen[0]]
        # open loops count passes, in which each block has one turn
        line = SearchLine(k // (p // len(chosen)), state.x, state.at, d, longest, memory)
        gamma, memory = as_rule(self.rule)(problem, line)

        def moved(gamma: float) -> tuple[Array, Evaluation]:
            blocks = list(xs)
            for i, vertex in zip(chosen, vertices, strict=True):
                share = gamma * float(steps[i])
                blocks[i] = same_type(vertex.add_scaled(xs[i], 1.0 - share, share), xs[i])
            x_next = self._joined(problem, blocks)
            return x_next, problem.evaluate(x_next)

        _, (x_next, at_next) = shortened(moved, gamma, state.x, end=longest)
        memories = tuple(memory if i in chosen else old for i, old in enumerate(state.memory))
        free = self.order == "parallel" and not self.lazy
        return State(
            k + 1,
            x_next,
            at_next,
            gaps,
            memories,
            state.stall.updated(at_next.value, -math.inf),
            _ask_all(problem, at_next.gradient, oracles) if free else None,
            state.caches,
            state.phi,
        )

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound that the answers of all blocks to the gradient at x give."""
        g, answer = state.at.gradient, state.answer
        answer = _ask_all(problem, g, oracles) if answer is None else answer
        return problem.dual_bound(g, state.at.dual, answer)

    def _next(self, state: State, oracles: Oracles) -> int:
        """Return the block whose turn it is."""
        k, p = state.k, len(state.gaps)
        if self.order == "shuffled":
            return int(oracles.streams.at(k // p).permutation(p)[k % p])
        if self.order == "random":
            return int(oracles.streams.at(k).integers(p))
        total = float(np.maximum(state.gaps, 0.0).sum())
        if self.order == "gap" and 0.0 < total < math.inf:
            shares = np.cumsum(np.maximum(state.gaps, 0.0))
            drawn = oracles.streams.at(k).random() * shares[-1]
            return min(int(np.searchsorted(shares, drawn, side="right")), p - 1)
        return k % p

    def _answers(
        self, problem: Problem, state: State, chosen: Sequence[int]
    ) -> tuple[list[Atoms], State]:
        """Return a vertex of each chosen block, a vertex seen before where it is good enough."""
        parts, gs = _factors(problem.set), _blocks(problem, state.at.gradient)
        if not self.lazy or state.phi is None:
            known = state.answer
            if isinstance(known, BlockAtoms):
                return [known.parts[i] for i in chosen], state
            problem.counts.ask(len(chosen))
            return [parts[i]._lmo(gs[i]) for i in chosen], state
        xs, caches, phi = _blocks(problem, state.x), list(state.caches), state.phi.copy()
        vertices = []
        for i in chosen:
            cache, here = caches[i], inner(gs[i], xs[i])
            scores = cache.scores(gs[i])
            j = cache.best(scores)
            assert cache.atoms is not None
            if here - scores[j] >= phi[i] / self.J:
                vertex = cache.atoms.take(j - 1)
            else:
                problem.counts.ask()
                vertex = parts[i]._lmo(gs[i])
                cache, j = cache.add(vertex)
                gap = here - float(vertex.dot(gs[i]))
                phi[i] = phi[i] if gap >= phi[i] / self.J else 0.5 * gap
            caches[i] = used(cache, j, _CACHE)
            vertices.append(vertex)
        return vertices, state._replace(caches=tuple(caches), phi=phi)

    def _measured(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state with the gaps of all blocks at x."""
        if state.answer is not None:
            return state
        answer = _ask_all(problem, state.at.gradient, oracles)
        xs, gs = _blocks(problem, state.x), _blocks(problem, state.at.gradient)
        gaps = np.array(_gaps(xs, gs, answer))
        return state._replace(answer=answer, gaps=gaps, phi=0.5 * gaps if self.lazy else None)

    def _share(self, problem: Problem, memory: Memory, gap: float, d: Array) -> float:
        """Return s_i, how far a block would go by its own quadratic model; at most 1."""
        M = memory or problem.L or problem.objective.L
        square = inner(d, d)
        if M is None or square == 0.0:
            return 1.0
        return 1.0 if gap >= M * square else max(gap, 0.0) / (M * square)

    def _joined(self, problem: Problem, blocks: list[Array]) -> Array:
        return join_blocks(blocks, [part.shape for part in _factors(problem.set)])


def block(
    order: str = "cyclic", rule: Rule | str = "secant", lazy: bool = False, J: float = 2.0
) -> BlockCoordinate:
    """Block-coordinate Frank-Wolfe; `minimize` tells it the number of blocks."""
    return BlockCoordinate(order, rule, lazy, J)


def _factors(K: Region) -> Sequence[Any]:
    """Return the factors of a product; refuse other sets."""
    if not K.factors:
        raise CapabilityError(
            f"method 'block' needs a product of sets, whose blocks it moves one by one, and K is "
            f"{K}: pass wp.sets.Product(K_1, K_2, ...), or choose another method"
        )
    return K.factors


def _blocks(problem: Problem, x: Array) -> list[Array]:
    return split_blocks(x, [part.shape for part in _factors(problem.set)])


def _gaps(xs: list[Array], gs: list[Array], answer: BlockAtoms) -> list[float]:
    """Return <g^i, x^i - v^i> for all blocks."""
    triples = zip(xs, gs, answer.parts, strict=True)
    return [inner(g, x) - float(vertex.dot(g)) for x, g, vertex in triples]


def _ask_all(problem: Problem, g: Array, oracles: Oracles) -> BlockAtoms:
    """Return the answers of all blocks, each of which counts as a call."""
    problem.counts.ask(len(_factors(problem.set)) - 1)
    answer = oracles.lmo(g)
    assert isinstance(answer, BlockAtoms)
    return answer
