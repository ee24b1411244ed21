r"""Parallel Frank-Wolfe (PFW): Algorithm 2 of the paper.

Problem
    min f(x) over x in K, f convex and L-smooth, K compact and convex with
    R_K = max ||x|| over K.

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
    One gradient, m oracle calls; memory O(d) beside the answers of a block.

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

CONSTANTS = ("paper", "sharp")
_MIN_L = 1e-290
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
    m=either(count, "theory", "exact"),
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
    m : int, "theory" or "exact"
        Perturbed oracles per round; "theory" is 1/sqrt(alpha), at most 65,536, "exact" the closed
        form.
    M : float, "paper" or "sharp", optional
        Constant of the noise: a number, the paper's sqrt(E||grad eta||^2), or its sharp form, the
        root of the largest eigenvalue of the Fisher information (1 for standard laws).
    constants : "paper" or "sharp"
        What M is when it is not given.
    R : float, optional
        Radius of K; the set's own by default.
    epsilon : float
        Target accuracy that chooses alpha when alpha is not given.
    """

    alpha: float | None = None
    m: int | str = "theory"
    M: float | str | None = None
    constants: str = "sharp"
    R: float | None = None
    epsilon: float = 1e-3
    name: ClassVar[str] = "pfw"
    samples: ClassVar[bool] = True

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        problem.need_L(self.name)
        alpha = self.alpha or self._alpha_for(problem, x0, oracles)
        return self.restart(problem, 0, x0, problem.evaluate(x0), alpha, oracles)

    def restart(
        self, problem: Problem, k: int, x0: Array, at: Evaluation, alpha: float, oracles: Oracles
    ) -> State:
        """Return the state that begins Algorithm 2 at ``x0``, counted as round ``k``."""
        beta = self.noise_constant(problem, oracles) / alpha
        m = math.ceil(min(MAX_M, 1.0 / math.sqrt(alpha))) if self.m == "theory" else self.m
        # f is also L-smooth for every larger L; that of tiny data may be 0
        mu = 1.0 / max(problem.need_L(self.name), _MIN_L)
        run = RunConstants(x0, alpha, m, beta, mu)
        return State(k, x0, at, at.gradient, at.dual, 0.0 * x0, 0.0, run)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        x0, beta, mu = state.run.x0, state.run.beta, state.run.mu
        A_next, tau = unchecked.next_weight(state.A_k, beta, mu, mu)
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
        return problem.dual_bound(state.y, state.dual, oracles.lmo(state.y))

    def noise_constant(self, problem: Problem, oracles: Oracles) -> float:
        """Return R_K M, the smoothness of s_alpha times alpha."""
        assert oracles.smoothing is not None
        M = self.constants if self.M is None else self.M
        if M == "sharp" and self.R is None:
            return oracles.smoothing.smoothness
        if isinstance(M, str):
            M = oracles.smoothing.law.M(problem.set.dimension, M)
        return (self.R or problem.set.radius) * M

    def _alpha_for(self, problem: Problem, x0: Array, oracles: Oracles) -> float:
        """Return Theorem 3's alpha for ``epsilon``, with the gap at x0 for f(x0) - min f."""
        at = problem.evaluate(x0)
        bound = problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient))
        assert oracles.smoothing is not None
        R = self.R or problem.set.radius
        m = self.m if isinstance(self.m, int) else math.ceil(1.0 / math.sqrt(self.epsilon))
        return theory.parameters_for(
            self.epsilon,
            L=problem.need_L(self.name),
            R=R,
            M=self.noise_constant(problem, oracles) / R,
            m=m,
            initial_gap=max(at.value - bound, self.epsilon),
            s1=oracles.smoothing.bias,
            constants=self.M if self.M in CONSTANTS else self.constants,
        ).alpha
