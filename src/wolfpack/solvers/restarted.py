r"""Restarted Parallel Frank-Wolfe (R-PFW): Algorithm 3 of the paper.

Problem
    min f(x) over x in K, as for Algorithm 2, to any accuracy.

Iteration
    For :math:`\alpha = 1, c, c^2, \dots` run Algorithm 2 with smoothing :math:`\alpha` for
    :math:`T_\alpha = \sqrt{L/\alpha}\,\log(1/\alpha)` rounds and
    :math:`m_\alpha = 1/\sqrt\alpha` (or 1) oracles a round, from where the last run ended.

    With ``restart="certificate"`` a stage also ends as soon as the certified gap is at most half of
    :math:`\alpha s_1(0)`, the bias below which Theorem 2 promises nothing for this :math:`\alpha`.

Guarantee
    None is proved in the paper for the schedule as a whole; each run obeys Theorem 2, and the
    certificate of every round is valid.

Symbols
    c ``shrink``, T_alpha ``length``. T_1 = 0 by the formula: every stage runs at least one round.

Cost of a round
    As Algorithm 2.

Sources
    As `wolfpack.solvers.parallel_fw`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from ..arrays import Array
from ..problem import Evaluation, Problem
from ..problem.checks import check_positive
from ..smoothing import Oracles
from .parallel_fw import ParallelFrankWolfe
from .parallel_fw import State as InnerState


class State(NamedTuple):
    """The inner run, the round at which the next one begins, the best value and the best bound."""

    inner: InnerState
    stage_end: int
    fun: float
    bound: float

    @property
    def k(self) -> int:
        """Rounds so far."""
        return self.inner.k

    @property
    def x(self) -> Array:
        """The iterate."""
        return self.inner.x

    @property
    def at(self) -> Evaluation:
        """The evaluation of f at the iterate."""
        return self.inner.at

    @property
    def alpha(self) -> float:
        """Smoothing of the stage."""
        return self.inner.alpha

    @property
    def m(self) -> int | str:
        """Oracles a round of the stage."""
        return self.inner.m


@dataclass(frozen=True)
class RestartedParallelFrankWolfe:
    """Algorithm 3 of the paper.

    Parameters
    ----------
    shrink : float
        Factor c in (0, 1) between the smoothings of consecutive stages.
    alpha : float
        Smoothing of the first stage.
    length : float
        Multiple of T_alpha that each stage runs; 1 is the paper's.
    restart : {"schedule", "certificate"}
        End stages after T_alpha rounds, or earlier when the certificate shows that alpha limits the
        gap no more.
    m : int, "theory" or "exact"
        Oracles a round: a number, 1/sqrt(alpha), or the closed form.
    M, constants, R : as in `ParallelFrankWolfe`
    """

    shrink: float = 0.5
    alpha: float = 1.0
    length: float = 1.0
    restart: str = "schedule"
    m: int | str = "theory"
    M: float | str | None = None
    constants: str = "sharp"
    R: float | None = None
    name: ClassVar[str] = "r-pfw"
    samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("length", self.length)
        check_positive("alpha", self.alpha)
        if not 0 < self.shrink < 1:
            raise ValueError(f"shrink must be between 0 and 1, found {self.shrink!r}")
        if self.restart not in ("schedule", "certificate"):
            raise ValueError(f"restart must be 'schedule' or 'certificate', found {self.restart!r}")
        _ = self.inner

    @cached_property
    def inner(self) -> ParallelFrankWolfe:
        """Algorithm 2 with the options of this run."""
        return ParallelFrankWolfe(
            alpha=self.alpha, m=self.m, M=self.M, constants=self.constants, R=self.R
        )

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        """Return the state of round 0."""
        inner = self.inner.init(problem, x0, oracles)
        return State(inner, self._rounds(problem, self.alpha), inner.at.value, -math.inf)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state after one more round, in a new stage if the last one is over."""
        inner, stage_end, fun, bound = state
        if inner.k >= stage_end:
            alpha = max(self.shrink * inner.alpha, 1e-250)  # a long run must not reach zero
            inner = self.inner.restart(problem, inner.k, inner.x, inner.at, alpha, oracles)
            stage_end = inner.k + self._rounds(problem, alpha)
        inner = self.inner.step(problem, inner, oracles)
        fun = min(fun, inner.at.value)
        # the certificate costs an oracle call: every eighth round
        if self.restart == "certificate" and inner.k % 8 == 0:
            assert oracles.smoothing is not None
            bound = max(bound, self.inner.lower_bound(problem, inner, oracles))
            if fun - bound <= 0.5 * inner.alpha * oracles.smoothing.bias:
                stage_end = inner.k
        return State(inner, stage_end, fun, bound)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the dual value at y_k of the inner run."""
        return self.inner.lower_bound(problem, state.inner, oracles)

    def _rounds(self, problem: Problem, alpha: float) -> int:
        """Return T_alpha, at least 1."""
        L = problem.need_L(self.name)
        return max(1, math.ceil(self.length * math.sqrt(L / alpha) * math.log(1.0 / alpha)))
