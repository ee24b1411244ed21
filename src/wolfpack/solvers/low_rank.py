r"""Corrective Frank-Wolfe on sets of low-rank matrices.

Problem
    min f(X) over X in K, the hull of rank-one matrices r u v' (trace-norm ball) or r u u'
    (spectrahedron), f convex and smooth.

Iteration
    :math:`X_k = U_k \operatorname{diag}(s_k) V_k^\top` with orthonormal columns, and
    :math:`G = \nabla f(X_k)`.

    .. math::

        &u_i, v_i: \text{ the } m \text{ leading singular pairs of } G
            \text{, one of them of an average of gradients} \\
        &P = \operatorname{orth}[U_k,\ u_1, \dots, u_m,\ G V_k], \qquad
         Q = \operatorname{orth}[V_k,\ v_1, \dots, v_m,\ G^\top U_k] \\
        &S \approx \arg\min \{ f(P S Q^\top) : P S Q^\top \in K \}, \qquad
         X_{k+1} = P S Q^\top.

    The correction over the small matrix S is an accelerated projected gradient method, whose
    projection is that of a small spectral set: one SVD of S. The columns of G V_k and G'U_k cost
    two products and turn the singular vectors that X has, as a projected gradient step would; of
    many, those of the largest singular values of the block are kept. Where the set's matrices are
    symmetric, P = Q.

Guarantee
    That of Frank-Wolfe (Theorem R2 of docs/theory/corrective.md), since each correction begins with
    a step to the clean vertex that lowers f by a guaranteed amount, and never increases f.
    Convergence is linear in practice, which is not proved.

Symbols
    U_k, s_k, V_k ``state.factors``; G ``state.at.gradient``; u_i, v_i ``state.answers``.

Cost of a round
    One SVD oracle for m pairs, and per step of the correction one gradient. X stays factored, and
    with an objective that takes it so (``factored``) no p x q array is made:
    O((p + q) rank) memory beside the gradient's.

Sources
    M. Jaggi, M. Sulovsky, A simple algorithm for nuclear norm regularized problems, ICML 2010.
    B. Mishra, G. Meyer, F. Bach, R. Sepulchre, Low-rank optimization with trace norm penalty, SIAM
    J. Optimization 23, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import (
    Array,
    LowRank,
    as_type,
    concat,
    epsilon,
    full,
    inner,
    is_foreign,
    library,
    like,
    namespace,
    take,
    to_host,
    wide_dtype,
)
from ..atoms import RankOne, join
from ..problem import CapabilityError, Evaluation, Problem, Solver
from ..problem.checks import checked, count, positive
from ..smoothing import Oracles
from .parts.armijo import descend
from .parts.average import Average
from .parts.factors import sweeps, swept
from .parts.projected_gradient import Motion, Probe, Space, minimize, rounding_of
from .parts.stall import Stall

MAX_TURNS = 32
"""Columns of G V_k, at most, that join the basis."""

_STEPS_BEFORE_SWEEPS = 3
"""Steps of a correction, at most, where sweeps over the factors follow."""

_HOST = np.zeros(0)
_INDEPENDENT = 1e-8
_NEGLIGIBLE = 1e-13
_ROUNDING = 2.0**-50


class Smoothness(NamedTuple):
    """Whether gradients are affine in X, that is f is quadratic, and the last estimate of L."""

    affine: bool
    L: float = 0.0


class State(NamedTuple):
    """Iterate with its evaluation and factors, the oracle's answers, and what is remembered."""

    k: int
    x: Array
    at: Evaluation
    factors: LowRank
    answers: RankOne
    average: Average
    stall: Stall
    smoothness: Smoothness
    m: int

    stalled = property(attrgetter("stall.reached"))


@checked(m=count, accuracy=positive, max_rank=count, inner=count)
@dataclass(frozen=True)
class LowRankCorrective(Solver[State]):
    """Corrective Frank-Wolfe with X = U S V', for sets that have a ``core``.

    Parameters
    ----------
    m : int
        Singular pairs asked for in each round.
    accuracy : float
        Of a correction, as a fraction of the gap.
    max_rank : int
        Rank up to which a starting point is kept; one of higher rank is replaced by a vertex.
    inner : int
        Limit on the steps of a correction.
    """

    m: int = 1
    accuracy: float = 0.1
    max_rank: int = 100
    inner: int = 200
    name: ClassVar[str] = "corrective"
    samples: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        if not problem.set.has("core"):
            raise CapabilityError(
                f"LowRankCorrective needs a set of low-rank matrices, found {problem.set}: use "
                "method='corrective'"
            )
        whole = _factors(home(x0))
        x = like(whole, x0) if problem.objective.factored else x0
        at = problem.evaluate(x)
        smoothness = Smoothness(problem.objective.curvature(x, x) is not None)
        answers, bound = self._ask(problem, at, None)
        # the first vertex replaces a start of too high rank
        factors = whole if whole.rank <= self.max_rank else _vertex(home(answers))
        stall = Stall.beyond_rounding(at.value, bound, x)
        return State(0, x, at, factors, answers, Average.start(at), stall, smoothness, self.m)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        quick = self._sweeps(problem, state)
        space = _Core(problem, state, turns=not quick)
        # without the projection, rounding errors would add up and push X out of K
        S = space.K.project(space.coordinates(state.factors))
        clean = space.coordinates(_vertex(home(state.answers)))
        probe = space.evaluate(S)
        # the tolerance must exceed the rounding error of inner products
        rounding = 64.0 * space.epsilon * abs(inner(probe.gradient, S))
        tol = max(self.accuracy * (state.at.value - state.stall.bound), rounding)
        d, S_0 = clean - S, S
        down = descend(lambda t: space.evaluate(S_0 + t * d), probe.value, inner(probe.gradient, d))
        if down.found is not None:
            S, probe = S_0 + down.step * d, down.found
        L = state.smoothness.L or down.bend / max(inner(d, d), 1e-300) or 1.0
        start = Motion.start(S, probe, L)

        def corrected(start: Motion[Evaluation], steps: int) -> Motion[Evaluation]:
            return minimize(space, start, lambda m: space.gap(m) <= tol, steps, _ROUNDING)

        motion = corrected(start, min(self.inner, _STEPS_BEFORE_SWEEPS) if quick else self.inner)
        factors, at = space.factors(motion.x), motion.at.details
        if quick:
            kept = swept(problem, factors, at, state.at.value - state.stall.bound)
            if kept is None:
                motion = corrected(motion, self.inner)
                kept = space.factors(motion.x), motion.at.details
            factors, at = kept
        x = space.point(factors)
        if x.dtype != at.gradient.dtype:  # the certificate must be that of the x handed back
            at = problem.evaluate(x)
        average = state.average.updated(at)
        answers, bound = self._ask(problem, at, average if self.m > 1 else None)
        return state._replace(
            k=state.k + 1,
            x=x,
            at=at,
            factors=factors,
            answers=answers,
            average=average,
            stall=state.stall.updated(at.value, bound),
            smoothness=state.smoothness._replace(L=motion.L),
        )

    def _sweeps(self, problem: Problem, state: State) -> bool:
        """Tell whether corrections end with sweeps over the factors."""
        symmetric = state.answers.u is state.answers.v
        if symmetric or not isinstance(state.x, LowRank) or is_foreign(state.x):
            return False
        return sweeps(problem, state.factors.rank + self.m)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best bound of the clean answers so far."""
        return state.stall.bound

    def _ask(
        self, problem: Problem, at: Evaluation, average: Average | None
    ) -> tuple[RankOne, float]:
        """Return the leading pairs of the gradient at X, and the best of their bounds.

        With an ``average``, one of the m pairs is that of the averaged gradient.
        """
        K, count = problem.set, self.m - (average is not None)
        problem.counts.ask(self.m)
        answers = K.k_best(at.gradient, count)
        fun = float(at.value)
        bound = problem.dual_bound(at.gradient, at.dual, answers.take(0), fun=fun)
        if average is not None:
            pair = K.k_best(average.y, 1)
            mean = problem.dual_bound(average.y, average.dual, pair.take(0), averaged=True, fun=fun)
            bound = max(bound, mean)
            answers = join([answers, pair])
        assert isinstance(answers, RankOne)
        return answers, bound


def home(x: Any) -> Any:
    """Return an array, or something made of arrays, where the small matrices are dealt with.

    That is where it is, but for JAX, which would compile every operation anew for each rank: there
    f and the oracle alone stay with JAX, and factors are the host's.
    """
    if isinstance(x, RankOne):
        if library(x.u) != "jax":
            return x
        u = like(to_host(x.u), _HOST)
        # symmetric matrices are known by their factors being the same array
        return RankOne(u, u if x.v is x.u else like(to_host(x.v), _HOST), x.scale)
    return to_host(x) if library(x) == "jax" else x


def _factors(x: Array) -> LowRank:
    """Return the singular value decomposition of x."""
    if isinstance(x, LowRank):
        return x
    space = namespace(x)
    if not space.any(x != 0):
        return LowRank.zeros(x.shape, x) if is_foreign(x) else LowRank.zeros(x.shape)
    wide = as_type(x, wide_dtype(x))
    U, s, Vt = space.linalg.svd(wide, full_matrices=False)
    singular = to_host(s)
    rank = int((singular > _NEGLIGIBLE * singular[0]).sum())
    parts = U[:, :rank], s[:rank], Vt[:rank, :].T
    return LowRank(*(as_type(part, x.dtype) if is_foreign(x) else part for part in parts))


def _vertex(answers: RankOne) -> LowRank:
    """Return the clean answer."""
    u, v = answers.u[:1, :], answers.v[:1, :]
    scale = float(answers.scale)
    s = full((1,), scale, u) if is_foreign(u) else np.full(1, scale)
    return LowRank(u.T, s, v.T)


def _bases(state: State, turns: bool) -> tuple[Array, Array]:
    """Return P and Q with orthonormal columns; the same array where matrices are symmetric.

    Without ``turns`` they hold the singular vectors of X and of the answers alone.
    """
    X, G, answers = state.factors, home(state.at.gradient), home(state.answers)
    if not turns:
        return _orthonormal(X.U, answers.u.T), _orthonormal(X.V, answers.v.T)
    left = [answers.u.T, _leading(G @ X.V, X.U)]
    right = [answers.v.T, _leading(G.T @ X.U, X.V)]
    if answers.u is answers.v:
        P = _orthonormal(X.U, concat([*left, right[1]], axis=1))
        return P, P
    return _orthonormal(X.U, concat(left, axis=1)), _orthonormal(X.V, concat(right, axis=1))


def _leading(block: Array, basis: Array) -> Array:
    """Return the leading left singular vectors of a block, without what the basis has."""
    block = block - basis @ (basis.T @ block)
    if block.shape[1] <= MAX_TURNS:
        return block
    if is_foreign(block):
        # the same span, from the small Gram matrix: decompositions of long blocks are slow there
        wide = as_type(block, wide_dtype(block))
        vectors = namespace(block).linalg.eigh(wide.T @ wide)[1][:, -MAX_TURNS:]
        return as_type(wide @ vectors, block.dtype)
    return np.linalg.svd(block, full_matrices=False)[0][:, :MAX_TURNS]


def _orthonormal(basis: Array, columns: Array) -> Array:
    """Return ``basis``, which is orthonormal, extended by what is new in ``columns``."""
    space = namespace(columns)
    length = space.sqrt(space.sum(columns * columns, axis=0))
    columns, length = _kept(columns, to_host(length) > 0), _kept(length, to_host(length) > 0)
    columns = columns / length
    # twice is enough for orthogonality to rounding
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
        columns, R = space.linalg.qr(columns)
        new = max(_INDEPENDENT, 64.0 * epsilon(columns))
        columns = _kept(columns, abs(to_host(space.linalg.diagonal(R))) > new)
    return concat([basis, columns], axis=1)


def _kept(columns: Array, kept: np.ndarray) -> Array:
    """Return the columns of a matrix, or the entries of a vector, that are kept."""
    if type(columns) is np.ndarray:
        return columns[..., kept]
    if kept.all():
        return columns
    places = like(np.flatnonzero(kept), columns)
    return take(columns, places) if columns.ndim == 1 else take(columns.T, places).T


class _Core(Space[Evaluation]):
    """The matrices P S Q' of K, by their coordinates S, in double precision where there is any."""

    def __init__(self, problem: Problem, state: State, turns: bool) -> None:
        self.problem, self.like = problem, state.x
        self.P, self.Q = _bases(state, turns)
        self.wide, self.dtype = wide_dtype(self.P), self.P.dtype
        core: Any = problem.set.core((self.P.shape[1], self.Q.shape[1]))
        self.K = core.at(as_type(self.P[:1, :1], self.wide))
        self.dense = not problem.objective.factored
        self.affine = state.smoothness.affine
        # f is evaluated in its own precision, S is in double precision
        values = state.at.gradient if is_foreign(state.x) else self.P
        self.epsilon, self.rounding = epsilon(values), rounding_of(values)

    def coordinates(self, X: LowRank) -> Array:
        """Return S with P S Q' = X, for X in the span."""
        return as_type(((self.P.T @ X.U) * X.s) @ (X.V.T @ self.Q), self.wide)

    def factors(self, S: Array) -> LowRank:
        """Return P S Q' with orthonormal factors."""
        space = namespace(S)
        if self.P is self.Q:
            s, U = space.linalg.eigh(0.5 * (S + S.T))
            V = U
        else:
            U, s, Vt = space.linalg.svd(S)
            V = Vt.T
        values = to_host(s)
        kept = values > _NEGLIGIBLE * values.max(initial=0.0)
        U, V = (as_type(_kept(part[:, : len(values)], kept), self.dtype) for part in (U, V))
        U, V = self.P @ U, self.Q @ V
        return LowRank(U, as_type(_kept(s, kept), self.dtype), U if self.P is self.Q else V)

    def evaluate(self, x: Array) -> Probe[Evaluation]:
        S = as_type(x, self.dtype)
        X = LowRank(self.P @ S, full((x.shape[1],), 1.0, S), self.Q)
        at = self.problem.evaluate(like(X.to_dense() if self.dense else X, self.like))
        gradient = self.P.T @ (home(at.gradient) @ self.Q)
        return Probe(at.value, as_type(gradient, self.wide), at)

    def point(self, factors: LowRank) -> Array:
        """Return the iterate: in factors, or as an array of the type of those before."""
        if not self.dense:
            return like(factors, self.like)
        x = like(factors.to_dense(), self.like)
        return as_type(x, self.like.dtype)

    def gap(self, motion: Motion[Evaluation]) -> float:
        """Return the Frank-Wolfe gap over the small set."""
        gradient = motion.at.gradient
        return inner(gradient, motion.x) - float(self.K.lmo(gradient).dot(gradient))

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        return self.K.project(y - (1.0 / L) * gradient)
