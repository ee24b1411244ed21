r"""Alternating projections onto two sets.

Problem
    min 1/2 ||x - y||^2 over x in K_1 and y in K_2, both convex and compact, as a function of the
    pair (x, y) in the product of K_1 and K_2.

Iteration
    With the Euclidean projections P_1 and P_2,

    .. math::

        x_{k+1} = P_1(y_k), \qquad y_{k+1} = P_2(x_{k+1}).

    A set without a projection gets one from its linear oracle, by Wolfe's method for the nearest
    point of a hull. It begins with the vertices that made up the last projection. It ends when the
    oracle proves that half the squared distance exceeds the least one by at most a hundredth of
    what the last round has gained.

Guarantee
    The distance falls to that of the two sets (Cheney and Goldstein 1959), linearly where they meet
    in interior points or are polytopes.

Symbols
    (x_k, y_k) ``state.x``, the vertices of the last projections ``state.hulls``, what the last
    round gained ``state.gain``.

Cost of a round
    Two projections and one gradient. A projection by oracles takes as many calls as vertices enter,
    and one. A certificate is one call of both oracles.

Sources
    E. W. Cheney, A. A. Goldstein, Proximity maps for convex sets, Proceedings of the American
    Mathematical Society 10, 1959.
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array, inner, same_type
from ..atoms import join_blocks, split_blocks
from ..problem import CapabilityError, Evaluation, Problem, Solver, tick
from ..smoothing import Oracles
from .parts.decomposition import MOST, reweighed
from .parts.hull import Hull, Metric
from .parts.stall import Stall

_SHARE = 0.01  # of what the last round gained, which a projection by oracles may miss


class State(NamedTuple):
    """The pair with its evaluation, and the hulls of projections by oracles (None by formulas)."""

    k: int
    x: Array
    at: Evaluation
    hulls: tuple[Hull | None, ...]
    gain: float
    stall: Stall

    stalled = property(attrgetter("stall.reached"))


@dataclass(frozen=True)
class AlternatingProjections(Solver[State]):
    """Projections onto two sets in turn; for `wolfpack.between`."""

    name: ClassVar[str] = "projections"
    certificate_calls: ClassVar[int] = 1
    round_calls: ClassVar[int] = 2  # a projection costs about as much as an oracle call, or more

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        K, at = problem.set, problem.evaluate(x0)
        if len(K.factors) != 2 or not getattr(problem.objective, "half_square", False):
            raise CapabilityError(
                "method 'projections' finds nearest points of two sets, and this is another "
                "problem: call wp.between(K1, K2, method='projections')"
            )
        blocks = _blocks(problem, x0)
        hulls = tuple(
            None if part.has("project") and part.cheap_projection else _begun(block)
            for part, block in zip(K.factors, blocks, strict=True)
        )
        return State(0, x0, at, hulls, at.value, Stall(at.value, -math.inf))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        hulls, point = list(state.hulls), _blocks(problem, state.x)[1]
        found = []
        for i, part in enumerate(problem.set.factors):
            tick()
            known = hulls[i]
            if known is None:
                nearest = same_type(part.project(point), state.x)
            else:
                hulls[i] = known = _nearest(problem, part, known, point, _SHARE * state.gain)
                nearest = known.point()
            found.append(nearest)
            point = nearest
        x_next = join_blocks(found, [part.shape for part in problem.set.factors])
        at_next = problem.evaluate(x_next)
        gain, stall = state.at.value - at_next.value, state.stall.updated(at_next.value, -math.inf)
        return State(state.k + 1, x_next, at_next, tuple(hulls), max(gain, 0.0), stall)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound that the answers of both oracles to x - y give."""
        at = state.at
        return problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))


def _blocks(problem: Problem, x: Array) -> list[Array]:
    return split_blocks(x, [part.shape for part in problem.set.factors])


def _metric(hull: Hull) -> Metric:
    """Return the Euclidean products of the points less the first one, wherever K lies."""
    origin = hull.origin
    return Metric(lambda v: same_type(v.to_dense(), origin) - origin, centred=True)


def _begun(x0: Array) -> Hull:
    hull = Hull.start(x0)
    return Hull.start(x0, _metric(hull))


def _nearest(problem: Problem, K: Any, hull: Hull, target: Array, slack: float) -> Hull:
    """Return the hull at a point of K nearest to the target, up to ``slack`` in half its square."""
    metric = _metric(hull)
    for _ in range(MOST):
        tick()
        hull = reweighed(hull, hull.point() - target)
        off = hull.point() - target
        problem.counts.ask()
        answer, known = K._lmo(off), len(hull.weights)
        if inner(off, hull.point()) - float(answer.dot(off)) <= slack:
            break
        hull, place = hull.add(answer, metric)
        if place < known:
            break  # rounding hides what is left
    return hull.pruned(hull.weights)
