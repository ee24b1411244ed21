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
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import Array, LowRank, epsilon, inner
from ..atoms import RankOne, join
from ..problem import CapabilityError, Evaluation, Problem, Solver
from ..problem.checks import checked, count, positive
from ..smoothing import Oracles
from .parts.armijo import descend
from .parts.average import Average
from .parts.projected_gradient import Motion, Probe, Space, minimize, rounding_of
from .parts.stall import Stall

MAX_TURNS = 32
"""Columns of G V_k, at most, that join the basis."""

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
        whole = _factors(x0)
        x = whole if problem.objective.factored else x0
        at = problem.evaluate(x)
        smoothness = Smoothness(problem.objective.curvature(x, x) is not None)
        answers, bound = self._ask(problem, at, None)
        # the first vertex replaces a start of too high rank
        factors = whole if whole.rank <= self.max_rank else _vertex(answers)
        stall = Stall.beyond_rounding(at.value, bound, x)
        return State(0, x, at, factors, answers, Average.start(at), stall, smoothness, self.m)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        space = _Core(problem, state)
        # without the projection, rounding errors would add up and push X out of K
        S = space.K.project(space.coordinates(state.factors))
        clean = space.coordinates(_vertex(state.answers))
        probe = space.evaluate(S)
        # the tolerance must exceed the rounding error of inner products
        rounding = 64.0 * epsilon(S) * abs(inner(probe.gradient, S))
        tol = max(self.accuracy * (state.at.value - state.stall.bound), rounding)
        d, S_0 = clean - S, S
        down = descend(lambda t: space.evaluate(S_0 + t * d), probe.value, inner(probe.gradient, d))
        if down.found is not None:
            S, probe = S_0 + down.step * d, down.found
        L = state.smoothness.L or down.bend / max(inner(d, d), 1e-300) or 1.0
        start = Motion.start(S, probe, L)
        motion = minimize(space, start, lambda m: space.gap(m) <= tol, self.inner, _ROUNDING)
        factors, at = space.factors(motion.x), motion.at.details
        x = factors.to_dense().astype(state.x.dtype, copy=False) if space.dense else factors
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
        bound = problem.dual_bound(at.gradient, at.dual, answers.take(0))
        if average is not None:
            pair = K.k_best(average.y, 1)
            mean = problem.dual_bound(average.y, average.dual, pair.take(0), averaged=True)
            bound = max(bound, mean)
            answers = join([answers, pair])
        assert isinstance(answers, RankOne)
        return answers, bound


def _factors(x: Array) -> LowRank:
    """Return the singular value decomposition of x."""
    if isinstance(x, LowRank):
        return x
    if not x.any():
        return LowRank.zeros(x.shape)
    U, s, Vt = np.linalg.svd(x.astype(np.float64, copy=False), full_matrices=False)
    rank = int((s > _NEGLIGIBLE * s[0]).sum())
    return LowRank(U[:, :rank], s[:rank], Vt[:rank].T)


def _vertex(answers: RankOne) -> LowRank:
    """Return the clean answer."""
    return LowRank(answers.u[:1].T, np.full(1, float(answers.scale)), answers.v[:1].T)


def _bases(state: State) -> tuple[Array, Array]:
    """Return P and Q with orthonormal columns; the same array where matrices are symmetric."""
    X, G, answers = state.factors, state.at.gradient, state.answers
    left = [answers.u.T, _leading(G @ X.V, X.U)]
    right = [answers.v.T, _leading(G.T @ X.U, X.V)]
    if answers.u is answers.v:
        P = _orthonormal(X.U, np.hstack([*left, right[1]]))
        return P, P
    return _orthonormal(X.U, np.hstack(left)), _orthonormal(X.V, np.hstack(right))


def _leading(block: Array, basis: Array) -> Array:
    """Return the leading left singular vectors of a block, without what the basis has."""
    block = block - basis @ (basis.T @ block)
    if block.shape[1] <= MAX_TURNS:
        return block
    return np.linalg.svd(block, full_matrices=False)[0][:, :MAX_TURNS]


def _orthonormal(basis: Array, columns: Array) -> Array:
    """Return ``basis``, which is orthonormal, extended by what is new in ``columns``."""
    length = np.linalg.norm(columns, axis=0)
    columns = columns[:, length > 0] / length[length > 0]
    # twice is enough for orthogonality to rounding
    for _ in range(2):
        columns = columns - basis @ (basis.T @ columns)
        columns, R = np.linalg.qr(columns)
        columns = columns[:, abs(R.diagonal()) > _INDEPENDENT]
    return np.hstack([basis, columns])


class _Core(Space[Evaluation]):
    """The matrices P S Q' of K, by their coordinates S."""

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem = problem
        self.P, self.Q = _bases(state)
        self.K = problem.set.core((self.P.shape[1], self.Q.shape[1]))
        self.dense = not problem.objective.factored
        self.affine = state.smoothness.affine
        self.rounding = rounding_of(self.P)

    def coordinates(self, X: LowRank) -> Array:
        """Return S with P S Q' = X, for X in the span."""
        return ((self.P.T @ X.U) * X.s) @ (X.V.T @ self.Q)

    def factors(self, S: Array) -> LowRank:
        """Return P S Q' with orthonormal factors."""
        if self.P is self.Q:
            s, U = np.linalg.eigh(0.5 * (S + S.T))
            V = U
        else:
            U, s, Vt = np.linalg.svd(S)
            V = Vt.T
        kept = np.flatnonzero(s > _NEGLIGIBLE * s.max(initial=0.0))
        U, V = self.P @ U[:, kept], self.Q @ V[:, kept]
        return LowRank(U, s[kept], U if self.P is self.Q else V)

    def evaluate(self, x: Array) -> Probe[Evaluation]:
        X = LowRank(self.P @ x, np.ones(x.shape[1]), self.Q)
        at = self.problem.evaluate(X.to_dense() if self.dense else X)
        return Probe(at.value, self.P.T @ (at.gradient @ self.Q), at)

    def gap(self, motion: Motion[Evaluation]) -> float:
        """Return the Frank-Wolfe gap over the small set."""
        gradient = motion.at.gradient
        return inner(gradient, motion.x) - float(self.K.lmo(gradient).dot(gradient))

    def project(self, y: Array, gradient: Array, L: float) -> Array:
        return self.K.project(y - (1.0 / L) * gradient)
