r"""Parallel Frank-Wolfe (PFW): Algorithm 2 of the paper.

Problem
    min f(x) over x in K, f convex and L-smooth, K compact and convex with
    R_K = max ||x|| over K, or the radius about another centre.

Iteration
    With :math:`\beta = R_K M/\alpha`, :math:`\mu = \nu = 1/L`, :math:`A_0 = 0`, :math:`d_0 = 0`,
    :math:`y_0 = \nabla f(x_0)`:

    .. math::

        &A_{k+1}: \text{ larger root of } \beta (A'-A_k)^2 + \sqrt{\mu\beta} A'(A'-A_k)
            = A'(\mu A_k + \beta\nu), \qquad \tau_k = 1 - A_k/A_{k+1} \\
        &v_k = (1-\tau_k) y_k + \tau_k \nabla f(x_k) \\
        &g_k = -\tfrac1m \sum_{i=1}^m \arg\max_{u\in K} \langle u, -v_k + \alpha\Delta_i\rangle \\
        &d_{k+1} = d_k + (A_{k+1}-A_k) g_k \\
        &x_{k+1} = \tfrac{\beta}{A_{k+1}+\beta} x_0 - \tfrac{1}{A_{k+1}+\beta} d_{k+1} \\
        &y_{k+1} = (1-\tau_k) y_k + \tau_k \nabla f(x_{k+1})

Guarantee
    Theorem 2: E[f(x_k) - d(y_k)] decreases like exp(-k sqrt(alpha/(L R_K M))/8) down to
    2 R_K^2 sqrt(alpha L/(R_K M))/m + alpha s_1(0); see `wolfpack.theory.bound_pfw`.

Symbols
    A_k grows geometrically and would overflow, so the state holds the average ``d`` = d_k / A_k,
    which stays in -K: d_{k+1}/A_{k+1} = (1-tau_k) d_k/A_k + tau_k g_k. Other letters are the
    paper's; ``at`` is the evaluation of f at x_k, ``dual`` the certificate's running dual point.

Cost of a round
    One gradient, m oracle calls; memory O(d) beside the answers of a block. A round that ends
    outside the domain of f is repeated with half the A_{k+1} - A_k: x_{k+1} comes nearer to x_k,
    and the certificate is one for these weights.

Sources
    B. Dubois-Taine, F. Bach, Q. Berthet, A. Taylor, Fast stochastic composite minimization and an
    accelerated Frank-Wolfe algorithm under parallelization, NeurIPS 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, NamedTuple

from .. import theory
from ..arrays import Array, same_type
from ..problem import Evaluation, Problem, Solver
from ..problem.checks import checked, choice, count, either, extent, optional
from ..smoothing import Oracles
from ..theory import unchecked
from ..theory.norms import NormLike
from .parts.domain import shortened

CONSTANTS = ("paper", "sharp")
MAX_M = 2**16
"""Largest m that "theory" chooses, so that a much too small alpha does not make rounds endless."""


class RunConstants(NamedTuple):
    """What does not change during a run of Algorithm 2."""

    x0: Array
    alpha: float
    m: int | str
    beta: float
    mu: float


class Stage(NamedTuple):
    """The round at which a stage of Algorithm 3 ends, and the best value and bound so far."""

    end: int
    fun: float
    bound: float


class State(NamedTuple):
    """Iterates of Algorithm 2, the constants of its run, and its stage of Algorithm 3."""

    k: int
    x: Array
    at: Evaluation
    y: Array
    dual: Array | float
    d: Array
    A_k: float
    run: RunConstants
    stage: Stage | None = None

    alpha = property(attrgetter("run.alpha"))
    m = property(attrgetter("run.m"))


@checked(
    alpha=optional(extent),
    m=either(count, "theory", "best", "exact"),
    M=optional(either(extent, *CONSTANTS)),
    constants=choice(*CONSTANTS),
    R=optional(extent),
    epsilon=extent,
)
@dataclass(frozen=True)
class ParallelFrankWolfe(Solver[State]):
    """Algorithm 2 of the paper, with a fixed smoothing alpha.

    Parameters
    ----------
    alpha : float, optional
        Smoothing. By default the value of Theorem 3 for the accuracy ``epsilon``.
    m : int, "theory", "best" or "exact"
        Perturbed oracles per round. "theory" is the paper's 1/sqrt(alpha), and at least
        1/sqrt(epsilon) where alpha was chosen for epsilon with that m. "best" is the number beyond
        which more oracles save no rounds (`wolfpack.theory.best_m`). Both are at most 65,536.
        "exact" is the closed form.
    M : float, "paper" or "sharp", optional
        Constant of the noise: a number, the paper's sqrt(E||grad eta||^2), or its sharp form, the
        root of the largest eigenvalue of the Fisher information (1 for standard laws).
    constants : "paper" or "sharp"
        What M is when it is not given.
    R : float, optional
        Radius of K in ``norm`` (of AK with smoothing="image"). By default the set's own: the radius
        about a good centre when sharp, and max ||x||, as in the paper, when M is "paper" or a
        number.
    epsilon : float
        Target accuracy that chooses alpha when alpha is not given.
    norm : str, float or pair of floats
        The norm of Theorems 2 and 3 (`wolfpack.theory.norm_of`): "l2", "l1", "linf", an exponent,
        or (c, C) with c ||x||_2 <= ||x|| <= C ||x||_2. It changes the constants L, R and M, not the
        iteration. "l1" suits exact smoothing on the simplex and the l1 ball, where L B then does
        not grow with the dimension. R and a number M are measured in this norm.

    Notes
    -----
    L is the user's, else the objective's own, in the Euclidean norm; ``norm`` converts it. With
    smoothing="image" the function that is minimised is the loss over AK, so that the loss's own
    constant is used and a user's L does not enter.
    """

    alpha: float | None = None
    m: int | str = "theory"
    M: float | str | None = None
    constants: str = "sharp"
    R: float | None = None
    epsilon: float = 1e-3
    norm: NormLike = "l2"
    name: ClassVar[str] = "pfw"
    samples: ClassVar[bool] = True
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        theory.norm_of(self.norm, 1)

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        at, alpha, least_m = problem.evaluate(x0), self.alpha, 1
        if alpha is None:
            alpha, least_m = self._for_epsilon(problem, oracles)
        return self.restart(problem, 0, x0, at, alpha, oracles, least_m)

    def restart(
        self,
        problem: Problem,
        k: int,
        x0: Array,
        at: Evaluation,
        alpha: float,
        oracles: Oracles,
        least_m: int = 1,
    ) -> State:
        """Return the state that begins Algorithm 2 at ``x0``, counted as round ``k``."""
        L, B, R = self._constants_of(problem, oracles)
        m = self.m
        if m == "theory":
            m = max(least_m, math.ceil(min(MAX_M, 1.0 / math.sqrt(alpha))))
        elif m == "best":
            m = self._best_m(oracles, L, B, R, alpha=alpha)
        # s_alpha of a single point is linear: it is smooth with every constant
        beta = B / alpha if B > 0.0 else 1.0 / L
        run = RunConstants(x0, alpha, m, beta, mu=1.0 / L)
        return State(k, x0, at, at.gradient, at.dual, 0.0 * x0, 0.0, run)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        A_k, beta, mu = state.A_k, state.run.beta, state.run.mu
        A_next, tau = unchecked.next_weight(A_k, beta, mu, mu)

        def attempt(share: float) -> State:
            if share == 1.0:
                return self._advance(problem, state, oracles, A_next, tau)
            A_less = A_k + share * (A_next - A_k)
            return self._advance(problem, state, oracles, A_less, 1.0 - A_k / A_less)

        return shortened(attempt, 1.0, state.x)[1]

    def _advance(
        self, problem: Problem, state: State, oracles: Oracles, A_next: float, tau: float
    ) -> State:
        """Return the state after a round with the weight A_{k+1}."""
        x0, beta = state.run.x0, state.run.beta
        past = (1 - tau) * state.y
        v = past + tau * state.at.gradient
        answer = same_type(oracles.mean(v, state.alpha, state.m, state.k), x0)
        d_next = (1 - tau) * state.d - tau * answer
        anchor = beta / (A_next + beta)
        x_next = anchor * x0 - (1 - anchor) * d_next
        at_next = problem.evaluate(x_next)
        y_next = past + tau * at_next.gradient
        dual_next = (1 - tau) * state.dual + tau * at_next.dual
        return State(state.k + 1, x_next, at_next, y_next, dual_next, d_next, A_next, state.run)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the dual value at y_k, with the conjugate bounded as in docs/theory."""
        return problem.dual_bound(state.y, state.dual, oracles.lmo(state.y), averaged=True)

    def constant_L(self, problem: Problem, oracles: Oracles) -> float:
        """Return L of the problem that the theorems are about, in ``norm``."""
        assert oracles.smoothing is not None
        L = oracles.smoothing.need_L(problem, self.name, self._norm(problem))
        return L or 1.0  # every constant is one of a linear f

    def _norm(self, problem: Problem) -> theory.Norm:
        return theory.norm_of(self.norm, problem.set.dimension)

    def _constants_of(self, problem: Problem, oracles: Oracles) -> tuple[float, float, float]:
        """Return L, B and R: s_alpha is B/alpha-smooth, and answers lie in a ball of radius R."""
        smoothing, norm = oracles.smoothing, self._norm(problem)
        assert smoothing is not None
        M = self.constants if self.M is None else self.M
        R = self.R or smoothing.radius(self._strength, norm)
        if not isinstance(M, str):
            B = (self.R or smoothing.radius("paper", norm)) * M
        elif self.R is None:
            B = smoothing.curvature(M, norm)
        else:
            B = self.R * smoothing.noise_constant(M, norm)
        return self.constant_L(problem, oracles), B, R

    @property
    def _strength(self) -> str:
        """Which form of the theorems the constants belong to."""
        return self.M if isinstance(self.M, str) else self.constants

    def _for_epsilon(self, problem: Problem, oracles: Oracles) -> tuple[float, int]:
        """Return Theorem 3's alpha for ``epsilon``, and its m."""
        L, B, R = self._constants_of(problem, oracles)
        if min(B, R) <= 0.0:
            return self.epsilon, 1
        assert oracles.smoothing is not None
        if self.m == "theory":
            m = math.ceil(min(MAX_M, 1.0 / math.sqrt(self.epsilon)))
        elif self.m == "best":
            m = self._best_m(oracles, L, B, R, epsilon=self.epsilon)
        else:
            m = math.inf if isinstance(self.m, str) else self.m
        settings = theory.parameters_for(
            self.epsilon,
            L=L,
            R=R,
            M=B / R,
            m=m,
            initial_gap=0.0,  # it bears on the number of rounds, which nobody asks for here
            s1=oracles.bias,
            constants=self._strength,
            norm=self._norm(problem),
        )
        return settings.alpha, 1 if m == math.inf else int(m)

    def _best_m(self, oracles: Oracles, L: float, B: float, R: float, **target: float) -> int:
        """Return the best m for ``alpha=`` or ``epsilon=``, at most `MAX_M`."""
        assert oracles.smoothing is not None
        if min(B, R) <= 0.0:
            return 1
        s1, norm = oracles.bias, theory.norm_of(self.norm, oracles.smoothing.K.dimension)
        best = theory.best_m(
            L=L, R=R, M=B / R, s1=s1, constants=self._strength, norm=norm, **target
        )
        return min(MAX_M, best)
