r"""Parallel corrective Frank-Wolfe: m oracles a round find vertices, a correction weighs them.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex; made for polytopes with sparse
    solutions and for oracles that cost more than gradients.

Iteration
    P_k is a pool of vertices, x_k a point of its hull, h_k a bound on f(x_k) - min f, r_k the
    largest distance so far of an iterate from its vertex.

    .. math::

        &v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        v_{k,i} = \arg\min_{v\in K} \langle \nabla f(x_k)
            - \sigma_i \tfrac{h_k}{r_k} \Delta_i, v\rangle, \quad i = 1, \dots, m - 1 \\
        &x_{k+1} \approx \arg\min \{ f(x) : x \in \operatorname{conv}(P_{k+1}) \}, \qquad
            P_{k+1} = P_k \cup \{v_k, v_{k,1}, \dots, v_{k,m-1}\}.

    Sets that can list their k best vertices do so instead of being perturbed. On sets of low-rank
    matrices the correction is over a small matrix instead of weights (`low_rank`). One of the m - 1
    questions is the average of the gradients so far, without noise: its answer is a vertex like the
    others, and gives a second lower bound. The scales sigma_i are learned (`_scales`): those whose
    answers got weight in the correction are used more.

Guarantee
    That of fully corrective Frank-Wolfe, whatever m and the noise (docs/theory/corrective.md):
    f(x_k) - min f = O(L D^2 / k), Theorem R2, and linear for strongly convex f on a polytope,
    Theorem R3. That m > 1 saves rounds is measured, not proved.

Symbols
    P_k ``state.pool``, v_k the first of ``state.answers``, h_k f(x_k) less the best bound, which is
    ``state.progress.bound``, r_k ``state.reach``.

Cost of a round
    m oracle calls, which may run in parallel. Quadratics: one gradient and m products with the
    Hessian; otherwise a few gradients more (`_correction`). Memory: the pool and its Gram matrix.

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
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, epsilon, inner, norm
from ..atoms import Atoms, join
from ..problem import Evaluation, Problem
from ..problem.checks import check_count, check_positive
from ..smoothing import Oracles
from .low_rank import LowRankCorrective
from .parts.average import Average
from .parts.correction import correct, metric_of, way_of
from .parts.pool import Pool
from .parts.progress import Progress
from .parts.scales import Scales

_FIRST_RUNG = -3


class State(NamedTuple):
    """Iterate with its evaluation, then the oracles' answers to it, then what is remembered.

    ``answers`` holds the clean vertex first, ``rungs`` the scale of each perturbed answer at its
    end; ``reach`` is the largest distance of an iterate from its clean vertex.
    """

    k: int
    x: Array
    at: Evaluation
    answers: Atoms
    rungs: Array
    pool: Pool
    way: str
    scales: Scales
    average: Average
    progress: Progress
    reach: float
    alpha: float
    m: int

    @property
    def stalled(self) -> bool:
        """Whether rounding errors keep the method from going on."""
        return self.progress.over


@dataclass(frozen=True)
class Corrective:
    """Fully corrective Frank-Wolfe with m oracle calls a round.

    Parameters
    ----------
    m : int
        Vertices asked for in each round.
    accuracy : float
        Of a correction, as a fraction of the gap, in (0, 1).
    max_pool : int
        Vertices to remember at most. Those with weight are kept in any case.
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

    def __post_init__(self) -> None:
        check_count("m", self.m)
        check_positive("accuracy", self.accuracy)
        if self.accuracy >= 1:
            raise ValueError(f"accuracy must be between 0 and 1, found {self.accuracy!r}")
        check_count("max_pool", self.max_pool)
        check_count("max_age", self.max_age)
        check_count("max_rank", self.max_rank)

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> Any:
        """Return the state of round 0."""
        if problem.set.has("core"):
            return self._spectral.init(problem, x0, oracles)
        at, way = problem.evaluate(x0), way_of(problem, x0)
        vertex = oracles.lmo(at.gradient)
        bound = problem.dual_bound(at.gradient, at.dual, vertex)
        state = State(
            k=0,
            x=x0,
            at=at,
            answers=join([vertex]),
            rungs=np.zeros(0, dtype=int),
            pool=Pool.start(x0, metric_of(way, problem, x0)),
            way=way,
            scales=Scales.start(_FIRST_RUNG),
            average=Average.start(at),
            progress=Progress.start(at.value, bound, x0),
            reach=norm(vertex.to_dense() - x0) or problem.set.diameter,
            alpha=math.nan,
            m=self.m,
        )
        return self._ask(problem, state, oracles) if self.m > 1 else state

    def step(self, problem: Problem, state: Any, oracles: Oracles) -> Any:
        """Return the state after one more round."""
        if problem.set.has("core"):
            return self._spectral.step(problem, state, oracles)
        x, at, pool, way = state.x, state.at, state.pool, state.way
        scores = pool.scores(at.gradient)
        pool = pool.trimmed(self.max_pool - self.m, self.max_age, scores)
        known = pool.size
        pool, places = pool.extend(state.answers, metric_of(way, problem, x))
        clean = float(state.answers.take(0).dot(at.gradient))
        gap = min(inner(at.gradient, x) - clean, at.value - state.progress.bound)
        # what rounding leaves of the slopes is no tolerance
        floor = 16.0 * epsilon(x) * max(abs(clean), float(abs(scores).max()))
        tol = max(self.accuracy * gap, floor)
        found = correct(way, problem, pool, x, at, (int(places[0]), tol))
        pool = pool.reweighted(found.weights)
        perturbed = places[len(places) - len(state.rungs) :]
        new = perturbed >= known
        state = state._replace(
            k=state.k + 1,
            x=found.x,
            at=found.at,
            pool=pool,
            scales=state.scales.learned(state.rungs, new, new & (pool.weights[perturbed] > 0)),
            average=state.average.saw(found.at),
        )
        return self._ask(problem, state, oracles)

    def lower_bound(self, problem: Problem, state: Any, oracles: Oracles) -> float:
        """Return the best bound of the clean answers so far."""
        return state.progress.bound

    @property
    def _spectral(self) -> LowRankCorrective:
        return LowRankCorrective(self.m, max(self.accuracy, 0.1), self.max_rank)

    def _ask(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state with the oracles' answers to the gradient at x, and their bounds."""
        at, average = state.at, state.average if self.m > 1 and state.k > 0 else None
        found = self._collect(problem, state, oracles, None if average is None else average.y)
        bound = problem.dual_bound(at.gradient, at.dual, found.clean)
        vertices = [found.clean, *found.others]
        if average is not None and found.average is not None:
            bound = max(bound, problem.dual_bound(average.y, average.dual, found.average))
            vertices.insert(1, found.average)
        return state._replace(
            answers=join(vertices),
            rungs=found.rungs,
            progress=state.progress.saw(at.value, bound),
            reach=max(state.reach, norm(found.clean.to_dense() - state.x)),
            alpha=found.alpha,
        )

    def _collect(self, problem: Problem, state: State, oracles: Oracles, y: Array) -> Found:
        """Return the m answers of a round, one of them to y unless that is None."""
        K, g, count = problem.set, state.at.gradient, self.m - (y is not None)
        if self.m > 1 and oracles.punctual and not K.has("k_best"):
            rungs, noise, alpha = self._noise(problem, state, oracles, count - 1)
            parts = oracles.answers(g, np.concatenate([[0.0], noise]), count, state.k, y)
            average = None if y is None else parts.pop().take(0)
            return Found(parts[0].take(0), average, parts, rungs, alpha)
        average = None if y is None else oracles.lmo(y)
        if count == 1:
            return Found(oracles.lmo(g), average)
        if K.has("k_best"):
            problem.counts.nlmo += count
            best = K.k_best(g, count)
            return Found(best.take(0), average, [best])
        # answers that may be late or missing leave the clean ones to be asked by themselves
        _, noise, alpha = self._noise(problem, state, oracles, count - 1)
        others = oracles.answers(g, noise, count - 1, state.k)
        return Found(oracles.lmo(g), average, others, alpha=alpha)

    def _noise(
        self, problem: Problem, state: State, oracles: Oracles, count: int
    ) -> tuple[Array, Array, float]:
        """Return the rungs and scales of ``count`` perturbed questions, and the current scale."""
        gap = max(0.0, state.at.value - state.progress.bound)
        unit = gap * _unit(problem, oracles, state.reach)
        rungs = state.scales.rungs(count, state.k)
        return rungs, unit * np.exp2(rungs), unit * 2.0**state.scales.rung


class Found(NamedTuple):
    """A round's clean answer, that to the average, the others (which may hold the clean one again),
    the rungs of the last of them, and the current scale of noise.
    """

    clean: Atoms
    average: Atoms | None
    others: Sequence[Atoms] = ()
    rungs: Array = np.zeros(0, dtype=int)
    alpha: float = math.nan


def _unit(problem: Problem, oracles: Oracles, reach: float) -> float:
    """Return the scale of noise that moves values of vertices ``reach`` apart by about one."""
    smoothing = oracles.smoothing
    assert smoothing is not None
    if smoothing.name == "lifted":
        return 1.0
    stretch = 1.0 if smoothing.name == "ambient" else smoothing.smoothness / problem.set.radius
    return 1.0 / max(stretch * reach, 1e-300)
