r"""Parallel corrective Frank-Wolfe: m oracles a round find vertices, a correction weighs them.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes with sparse
    solutions and for oracles that cost more than gradients.

Iteration
    P_k is a set of vertices, x_k a point of its hull, h_k a bound on f(x_k) - min f, r_k the
    largest distance so far of an iterate from its vertex.

    .. math::

        &v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        v_{k,i} = \arg\min_{v\in K} \langle \nabla f(x_k)
            - \sigma_i \tfrac{h_k}{r_k} \Delta_i, v\rangle, \quad i = 1, \dots, m - 1 \\
        &x_{k+1} \approx \arg\min \{ f(x) : x \in \operatorname{conv}(P_{k+1}) \}, \qquad
            P_{k+1} = P_k \cup \{v_k, v_{k,1}, \dots, v_{k,m-1}\}.

    Sets that can list their k best vertices do so instead of being perturbed. One of the m - 1
    questions is the average of the gradients so far, without noise: its answer is a vertex like the
    others, and gives a second lower bound. The scales sigma_i are learned (`parts.scales`): those
    whose answers got weight in the correction are used more. On sets of low-rank matrices another
    solver takes over, which corrects a small matrix instead of weights (`low_rank`).

Guarantee
    That of fully corrective Frank-Wolfe, whatever m and the noise (docs/theory/corrective.md):
    f(x_k) - min f = O(L D^2 / k), Theorem R2, and linear for strongly convex f on a polytope,
    Theorem R3. Theorem R4 bounds the rounds as a function of m where the optimal vertices are
    answered with a positive probability; that the learned noise does so is measured.

Symbols
    P_k ``state.hull``, v_k the first of ``state.answers.vertices``, h_k f(x_k) less the best bound,
    which is ``state.stall.bound``, r_k ``state.scales.reach``.

Cost of a round
    m oracle calls, which may run in parallel. Quadratics: one gradient and m products with the
    Hessian, or gradients where f is a callable; otherwise a few gradients more
    (`parts.correction`). Memory: P_k and its Gram matrix.

Sources
    C. Holloway, An extension of the Frank and Wolfe method of feasible directions, Mathematical
    Programming 6, 1974.
    S. Lacoste-Julien, M. Jaggi, On the global linear convergence of Frank-Wolfe optimization
    variants, NeurIPS 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, epsilon, inner, norm
from ..atoms import Atoms, join
from ..problem import Evaluation, NonFiniteError, Problem, Region, Solver
from ..problem.checks import between, checked, count
from ..smoothing import Oracles
from .low_rank import LowRankCorrective
from .parts.average import Average
from .parts.correction import (
    Corrected,
    CorrectionKind,
    correct,
    correction_kind,
    extended,
    first_hull,
    is_affine,
    is_predicted,
    metric_of,
)
from .parts.hull import Hull
from .parts.scales import Scales
from .parts.stall import Stall

_FIRST_RUNG = -3
_SPARE = 64
_NO_RUNGS = np.zeros(0, dtype=int)


class Answers(NamedTuple):
    """The oracles' answers to the gradient at x, the clean vertex first.

    ``rungs`` holds the scale of each perturbed answer, which are the last ones; ``alpha`` is the
    current scale of the noise, ``m`` the number of questions a round.
    """

    vertices: Atoms
    rungs: Array
    alpha: float
    m: int


class State(NamedTuple):
    """Iterate with its evaluation and hull, the oracles' answers to it, and what is remembered.

    ``anchor`` is the gradient at the starting point, where gradients are affine.
    """

    k: int
    x: Array
    at: Evaluation
    hull: Hull
    answers: Answers
    scales: Scales
    average: Average
    stall: Stall
    kind: CorrectionKind
    anchor: Array | None = None

    stalled = property(attrgetter("stall.reached"))
    step = property(lambda self: "correction" if self.k else "start")
    alpha = property(attrgetter("answers.alpha"))
    m = property(attrgetter("answers.m"))


@checked(
    m=count,
    accuracy=between(0, 1, low_open=True, high_open=True),
    max_pool=count,
    max_age=count,
    max_rank=count,
)
@dataclass(frozen=True)
class Corrective(Solver[State]):
    """Fully corrective Frank-Wolfe with m oracle calls a round.

    Parameters
    ----------
    m : int
        Vertices asked for in each round.
    accuracy : float
        Of a correction, as a fraction of the gap, in (0, 1).
    max_pool : int
        Vertices to remember at most, and no more than 64 and twice those with weight. Those with
        weight are kept in any case.
    max_age : int
        Rounds after which a vertex without weight is forgotten.
    max_rank : int
        For sets of low-rank matrices, the rank up to which a starting point is carried along.
    """

    m: int = 1
    accuracy: float = 0.03
    max_pool: int = 2000
    max_age: int = 200
    max_rank: int = 100
    name: ClassVar[str] = "corrective"
    samples: ClassVar[bool] = True

    def for_set(self, K: Region) -> Corrective | LowRankCorrective:
        """Return the solver for K: `LowRankCorrective` where K consists of low-rank matrices."""
        if not K.has("core"):
            return self
        return LowRankCorrective(self.m, max(self.accuracy, 0.1), self.max_rank)

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        at, kind = problem.evaluate(x0), correction_kind(problem, x0)
        vertex, anchor = oracles.lmo(at.gradient), None
        if kind == "gradient" and is_affine(problem, x0, at.gradient, vertex):
            kind, anchor = "affine", at.gradient
        bound = problem.dual_bound(at.gradient, at.dual, vertex)
        reach = norm(vertex.to_dense() - x0) or problem.set.diameter
        state = State(
            k=0,
            x=x0,
            at=at,
            hull=first_hull(kind, problem, x0, anchor),
            answers=Answers(join([vertex]), _NO_RUNGS, math.nan, self.m),
            scales=Scales.start(_FIRST_RUNG, reach),
            average=Average.start(at),
            stall=Stall.beyond_rounding(at.value, bound, x0),
            kind=kind,
            anchor=anchor,
        )
        return self._ask(problem, state, oracles) if self.m > 1 else state

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        x, at, kind = state.x, state.at, state.kind
        vertices, rungs = state.answers.vertices, state.answers.rungs
        hull = state.hull
        limit = min(self.max_pool - self.m, _SPARE + 2 * int(np.count_nonzero(hull.weights)))
        # without products with the Hessian each vertex in the hull may cost gradients
        max_age = min(self.max_age, max(2, 32 // self.m) if kind == "gradient" else self.max_age)
        if hull.overfull(limit, max_age):
            hull = hull.trimmed(limit, max_age, hull.scores(at.gradient))
        known = len(hull.weights)
        here = Corrected(hull.weights, x, at)
        try:
            hull, places = extended(kind, problem, hull, vertices, here, state.anchor)
        except NonFiniteError:
            if kind != "affine":
                raise
            kind = "gradient"
            hull, places = extended(kind, problem, hull, vertices, here)
        scores = hull.scores(at.gradient)
        clean = float(scores[places[0]])
        gap = min(inner(at.gradient, x) - clean, at.value - state.stall.bound)
        # the tolerance must exceed the rounding error of the slopes
        rounding = 16.0 * epsilon(x) * max(abs(clean), float(abs(scores).max()))
        tol = max(self.accuracy * gap, rounding)
        here = Corrected(hull.weights, x, at)
        found = correct(kind, problem, hull, here, int(places[0]), tol, scores)
        if kind == "affine" and not is_predicted(problem, hull, scores, found, at.value):
            kind = "gradient"
            found = correct(kind, problem, hull, here, int(places[0]), tol, scores)
        hull = hull.reweighted(found.weights, found.face)
        if found.gram is not None:
            hull = hull.with_gram(found.gram)
        scales, average = state.scales, state.average
        if len(rungs):
            perturbed = places[len(places) - len(rungs) :]
            new = perturbed >= known
            scales = scales.learned(rungs, new, new & (hull.weights[perturbed] > 0))
        if self.m > 1:  # otherwise no question asks for it
            average = average.updated(found.at)
        state = State(
            k=state.k + 1,
            x=found.x,
            at=found.at,
            hull=hull,
            answers=state.answers,
            scales=scales,
            average=average,
            stall=state.stall,
            kind=kind,
            anchor=state.anchor,
        )
        return self._ask(problem, state, oracles)

    def moved_to(
        self, problem: Problem, state: State, x: Array, at: Evaluation, oracles: Oracles
    ) -> State:
        """Return the state that goes on from another point, with the vertices of this one."""
        if state.kind in ("gradient", "affine"):  # whose Gram matrices belong to the old point
            return self.init(problem, x, oracles)
        hull = state.hull.moved_to(x, metric_of(state.kind, problem, x))
        state = state._replace(x=x, at=at, hull=hull, average=Average.start(at))
        return self._ask(problem, state, oracles)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best bound of the clean answers so far."""
        return state.stall.bound

    def _ask(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state with the oracles' answers to the gradient at x, and their bounds."""
        at, average, scales = state.at, state.average, state.scales
        y = average.y if self.m > 1 and state.k > 0 else None
        found = self._collect(problem, state, oracles, y)
        bound = problem.dual_bound(at.gradient, at.dual, found.clean)
        vertices = [found.clean, *found.others]
        if found.average is not None:
            mean = problem.dual_bound(average.y, average.dual, found.average, averaged=True)
            bound = max(bound, mean)
            vertices.insert(1, found.average)
        reach = max(scales.reach, norm(found.clean.add_scaled(state.x, -1.0, 1.0)))
        return state._replace(
            answers=Answers(join(vertices), found.rungs, found.alpha, self.m),
            stall=state.stall.updated(at.value, bound),
            scales=scales._replace(reach=reach),
        )

    def _collect(self, problem: Problem, state: State, oracles: Oracles, y: Array | None) -> _Found:
        """Return the m answers of a round, one of them to y unless that is None."""
        K, g, count = problem.set, state.at.gradient, self.m - (y is not None)
        if self.m > 1 and oracles.punctual and not K.has("k_best"):
            rungs, noise, alpha = self._noise(problem, state, oracles, count - 1)
            parts = oracles.answers(g, np.concatenate([[0.0], noise]), count, state.k, y)
            average = None if y is None else parts.pop().take(0)
            return _Found(parts[0].take(0), average, parts, rungs, alpha)
        average = None if y is None else oracles.lmo(y)
        if count == 1:
            return _Found(oracles.lmo(g), average)
        if K.has("k_best"):
            problem.counts.ask(count)
            best = K.k_best(g, count)
            return _Found(best.take(0), average, [best])
        # perturbed answers may come late or not at all, so the clean one is asked by itself
        _, noise, alpha = self._noise(problem, state, oracles, count - 1)
        others = oracles.answers(g, noise, count - 1, state.k)
        return _Found(oracles.lmo(g), average, others, alpha=alpha)

    def _noise(
        self, problem: Problem, state: State, oracles: Oracles, count: int
    ) -> tuple[Array, Array, float]:
        """Return the rungs and scales of ``count`` perturbed questions, and the current scale.

        Noise of scale ``unit`` changes the values of vertices ``reach`` apart by about the gap.
        """
        smoothing, scales = oracles.smoothing, state.scales
        assert smoothing is not None
        unit = max(0.0, state.at.value - state.stall.bound)
        if smoothing.name != "lifted":
            # Where K is a single point, as far as x can tell, no noise finds another vertex.
            reach = smoothing.stretch * scales.reach
            unit *= 1.0 / reach if reach > 0.0 else 0.0
        rungs = scales.rungs(count, state.k)
        return rungs, unit * np.exp2(rungs), unit * 2.0**scales.rung


class _Found(NamedTuple):
    """A round's clean answer, that to the average, the others (which may hold the clean one again),
    the rungs of the last of them, and the current scale of noise.
    """

    clean: Atoms
    average: Atoms | None
    others: Sequence[Atoms] = ()
    rungs: Array = _NO_RUNGS
    alpha: float = math.nan
