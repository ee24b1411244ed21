r"""Anytime parallel Frank-Wolfe from random gradients: both noises in one recursion.

Problem
    min f(x) over x in K, K compact and convex, f convex, smooth and known through random gradients.

Iteration
    With :math:`x_1 = x_0`, a random gradient z_1 at x_1, :math:`y_1 = z_1` and, for k = 1, 2, ...,
    :math:`\tau_k = 3/(k+3)`:

    .. math::

        &\alpha_k = \kappa \max\Bigl( \frac{2 L C \tau_k^2}{(1-\theta)(1-\tau_k)},\
            s \sqrt{\frac{9 C}{2 b k}} \Bigr), \qquad
            s_\alpha \text{ being } C/\alpha\text{-smooth},\ b = s_1(0) \\
        &v_k = (1-\tau_k) y_k + \tau_k z_k \\
        &u_k = \tfrac1m \sum_{i=1}^m \arg\max_{u\in K} \langle u, -v_k + \alpha_k\Delta_i\rangle
            \ \text{or its limit } \nabla s_{\alpha_k}(-v_k) \\
        &x_{k+1} = (1-\tau_k) x_k + \tau_k u_k \\
        &z_{k+1} \text{ a random gradient at } x_{k+1}, \qquad
            y_{k+1} = (1-\tau_k) y_k + \tau_k z_{k+1}.

    For a sum :math:`\sum_i \ell_i(\langle a_i, x\rangle)` whose rows are at hand, a table of slopes
    (:math:`\theta_i \leftarrow \ell_i'(\langle a_i, x_k\rangle)` for the rows B of a round) makes
    the gradients better and better,

    .. math:: z_k = A'\theta + \tfrac{n}{|B|} \sum_{i\in B}
        \bigl( \ell_i'(\langle a_i, x_k\rangle) - \theta_i \bigr) a_i,

    and s is measured along the run. Smoothing makes the answers depend smoothly on gradients, so
    that their noise averages out.

Guarantee
    Theorem N3 (docs/theory/stochastic.md), for kappa = 1: E f(x_N) - min f is at most about
    5.1 s sqrt(b C) / sqrt(N), s^2 the variance of a round's gradient, plus twice the bound of
    Theorem A1 or less; see `wolfpack.theory.bound_stochastic`. It holds for gradients that are
    unbiased given the past, as those of a table are. Heuristic: kappa < 1, and constants that are
    estimated. A gap that is reported is proved in all cases.

Symbols
    The letters above; y_k is ``state.regret.slope``, z_k ``state.z``, theta
    ``state.slopes.current``, s ``state.noise``. Round k of the library is the theorem's k + 1.

Cost of a round
    One random gradient, m oracle calls or a closed form; memory O(d), and two numbers per row with
    a table. Where f declares neither L nor a variance, they are estimated from up to 31 and 32
    random gradients at x_0. A certificate costs a pass over the data for f at x_k, where f can be
    evaluated at all, and a second one where a table proves more than the gradient there.

Sources
    B. Dubois-Taine, F. Bach, Q. Berthet, A. Taylor, NeurIPS 2022, for the method with whole
    gradients that this extends.
    A. Defazio, F. Bach, S. Lacoste-Julien, SAGA, NIPS 2014, for the gradients from a table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array, inner, mix, same_type
from ..gradients import Slopes
from ..problem import Evaluation, Problem, Solver
from ..problem.checks import between, checked, choice, count, either, optional, positive
from ..smoothing import Oracles
from ..theory import unchecked
from .parts.draws import certified, drawn, promised, rounds_of_pass, steepness, variance
from .parts.regret import Regret

_LOOKS = 16
"""How often in a pass the noise of gradients from a table is measured."""

_NEWEST = 0.25
"""What the last measurement counts in their average."""


class State(NamedTuple):
    """Iterate, last random gradient and averages; then what the round used, the constants, and the
    table of slopes.
    """

    k: int
    x: Array
    at: Evaluation | None
    z: Array
    regret: Regret
    alpha: float
    m: int | str
    L: float
    noise: float
    slopes: Slopes | None = None


@checked(
    estimate=choice("auto", "saga", "plain"),
    m=either(count, "auto", "exact"),
    kappa=positive,
    theta=optional(between(0, 1, high_open=True)),
    batch=optional(count),
)
@dataclass(frozen=True)
class StochasticAnytime(Solver[State]):
    """Parallel Frank-Wolfe with shrinking smoothing, from random gradients.

    Parameters
    ----------
    estimate : {"auto", "saga", "plain"}
        Whether gradients are improved by a table of slopes, or are those of the round alone. "auto"
        is "saga" for sums whose rows are at hand.
    m : int, "auto" or "exact"
        Oracles a round: a number, "exact" for the closed form, or "auto" for the closed form where
        the set has one and 4 elsewhere.
    kappa : float
        Factor of alpha. 1 is the theorem's, smaller ones are faster in practice.
    theta : float, optional
        Share of the curvature kept for sampling noise, in [0, 1): by default 1/2, and 0 with exact
        smoothing.
    batch : int, optional
        Rows of a round (minibatches of a source, calls of a random gradient). By default what f
        declares, or a hundredth of the rows.
    """

    estimate: str = "auto"
    m: int | str = "auto"
    kappa: float = 0.1
    theta: float | None = None
    batch: int | None = None
    name: ClassVar[str] = "stochastic-anytime"
    random: ClassVar[bool] = True
    samples: ClassVar[bool] = True
    certificate_calls: ClassVar[int] = 3
    certificate_proofs: ClassVar[int] = 2

    @property
    def rows(self) -> str | None:
        """How the rows of a table are read: drawn anew in each round. None without a table."""
        return "uniform" if self.estimate == "saga" else None

    def for_rows(self, at_hand: bool) -> StochasticAnytime:
        """Return the solver with an estimate chosen, for a sum whose rows are at hand or not."""
        if self.estimate != "auto":
            return self
        return replace(self, estimate="saga" if at_hand else "plain")

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        draws: Any = oracles.gradients
        m = ("exact" if oracles.exact else 4) if self.m == "auto" else self.m
        if m == "exact":
            oracles.need_closed_form()
        L, slopes = steepness(problem, draws, x0), None
        if self.rows is not None:
            slopes = Slopes.none_seen(draws.objective.image_shape, x0)
            z, slopes, noise = self._read(problem, draws, slopes, x0, 0, math.nan)
        else:
            noise = math.sqrt(variance(problem, draws, x0))
            z = drawn(problem, draws, x0, 0)
        first = Regret.first(z, inner(z, x0))
        return State(0, x0, None, z, first, math.nan, m, L, noise, slopes)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        k, x, y, draws = state.k + 1, state.x, state.regret.slope, oracles.gradients
        tau, alpha = 3.0 / (k + 3.0), self.alpha(k, state, oracles)
        v = mix(y, state.z, tau)
        u = same_type(oracles.mean(v, alpha, state.m, state.k), x)
        x_next = mix(x, u, tau)
        slopes, noise = state.slopes, state.noise
        if slopes is None:
            z_next = drawn(problem, draws, x_next, k)
        else:
            z_next, slopes, noise = self._read(problem, draws, slopes, x_next, k, noise)
        regret = state.regret.plus(tau, z_next, inner(z_next, u))
        return State(k, x_next, None, z_next, regret, alpha, state.m, state.L, noise, slopes)

    def _read(
        self, problem: Problem, draws: Any, slopes: Slopes, x: Array, k: int, noise: float
    ) -> tuple[Array, Slopes, float]:
        """Return the gradient from the table with the rows of round k, and table and noise."""
        batch = draws.rows.of_round(k, draws.batch)
        problem.counts.read(len(batch.rows))
        fresh = batch.slopes(batch.part @ x)
        if k == 0:
            noise = math.sqrt(slopes.spread(batch, fresh))
        elif k % max(1, rounds_of_pass(draws) // _LOOKS) == 0:
            seen = slopes.spread(batch, fresh)
            noise = math.sqrt((1.0 - _NEWEST) * noise**2 + _NEWEST * seen)
        renewed = slopes.renewed(batch, fresh, _weight(k))
        z = slopes.gradient + batch.weights * (renewed.gradient - slopes.gradient)
        return z, renewed, noise

    def alpha(self, k: int, state: State, oracles: Oracles) -> float:
        """Return the smoothing of the theorem's round k."""
        assert oracles.smoothing is not None
        theta = (0.0 if state.m == "exact" else 0.5) if self.theta is None else self.theta
        C, b = oracles.smoothing.smoothness, oracles.bias
        return self.kappa * unchecked.stochastic_alpha(k, state.L, C, b, state.noise, theta)

    def observe(self, problem: Problem, state: State) -> State:
        """Return the state with f at x_k, as far as f tells its values."""
        return state._replace(at=problem.known(state.x))

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best of the dual values at the gradient at x_k and at the tables."""
        return certified(problem, state.at, state.slopes, _weight(state.k + 1), oracles)

    def promise(
        self, problem: Problem, state: State, oracles: Oracles
    ) -> tuple[float, float] | None:
        """Return what f(x_k) is not below, and what the tables may prove; None without tables."""
        if state.slopes is None:
            return None
        return promised(problem, state.slopes, _weight(state.k + 1), state.x, oracles)


def _weight(k: int) -> float:
    """Return A_k = k (k+1) (k+2) / 6."""
    return k * (k + 1.0) * (k + 2.0) / 6.0
