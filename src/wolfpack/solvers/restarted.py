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
from typing import ClassVar

from ..arrays import Array
from ..problem import Problem, Solver
from ..problem.checks import between, checked, choice, count, either, extent, optional
from ..smoothing import Oracles
from ..theory.norms import NormLike
from .parallel_fw import CONSTANTS, ParallelFrankWolfe, Stage, State

_MAX_STAGE = 2.0**62


@checked(
    shrink=between(0, 1, low_open=True, high_open=True),
    alpha=extent,
    length=extent,
    restart=choice("schedule", "certificate"),
    m=either(count, "theory", "best", "exact"),
    M=optional(either(extent, *CONSTANTS)),
    constants=choice(*CONSTANTS),
    R=optional(extent),
)
@dataclass(frozen=True)
class RestartedParallelFrankWolfe(Solver[State]):
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
    m : int, "theory", "best" or "exact"
        Oracles a round: a number, 1/sqrt(alpha), as many as save rounds, or the closed form.
    M, constants, R, norm : as in `ParallelFrankWolfe`
    """

    shrink: float = 0.5
    alpha: float = 1.0
    length: float = 1.0
    restart: str = "schedule"
    m: int | str = "theory"
    M: float | str | None = None
    constants: str = "sharp"
    R: float | None = None
    norm: NormLike = "l2"
    name: ClassVar[str] = "r-pfw"
    samples: ClassVar[bool] = True
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _ = self.inner  # refuses a norm that is none

    @cached_property
    def inner(self) -> ParallelFrankWolfe:
        """Algorithm 2 with the options of this run."""
        return ParallelFrankWolfe(
            self.alpha, self.m, self.M, self.constants, self.R, norm=self.norm
        )

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        state = self.inner.init(problem, x0, oracles)
        stage = Stage(self._rounds(problem, self.alpha, oracles), state.at.value, -math.inf)
        return state._replace(stage=stage)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        assert state.stage is not None
        end, fun, bound = state.stage
        if state.k >= end:
            alpha = max(self.shrink * state.alpha, 1e-250)  # a long run must not reach zero
            state = self.inner.restart(problem, state.k, state.x, state.at, alpha, oracles)
            end = state.k + self._rounds(problem, alpha, oracles)
        state = self.inner.step(problem, state, oracles)
        fun = min(fun, state.at.value)
        # the certificate costs an oracle call: every eighth round
        if self.restart == "certificate" and state.k % 8 == 0:
            assert oracles.smoothing is not None
            bound = max(bound, self.lower_bound(problem, state, oracles))
            if fun - bound <= 0.5 * state.alpha * oracles.bias:
                end = state.k
        return state._replace(stage=Stage(end, fun, bound))

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the dual value at y_k of the stage."""
        return self.inner.lower_bound(problem, state, oracles)

    def _rounds(self, problem: Problem, alpha: float, oracles: Oracles) -> int:
        """Return T_alpha, at least 1."""
        L = self.inner.constant_L(problem, oracles)
        needed = self.length * math.sqrt(L / alpha) * math.log(1.0 / alpha)
        return max(1, math.ceil(min(_MAX_STAGE, needed)))  # a float may overflow, or be NaN
