r"""How `anytime` chooses the factor kappa of its smoothing.

Two rules. Where smoothing is exact, `passes_step_test` is Proposition A2 of docs/theory/anytime.md:
a round whose step passes it loses nothing against the theorem, whatever kappa, L and the set are.
So kappa may fall a little every round; when the test fails it is doubled and the round repeated.

Where answers are sampled, `Control.adapted` follows the certificate, a heuristic. The bias of
smoothing is at most alpha s_1(0). A gap well below that bias shows that alpha may be smaller; a gap
that has stopped falling shows that alpha is too small, hence the steps too long. The gap is checked
about four times per doubling of k. A failure is remembered for a while, as a floor below which
kappa may not fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...arrays import Array, epsilon, lazy_inner
from ...problem import Evaluation
from ...smoothing import Smoothing

FIRST_KAPPA = 0.3
_LOW, _SHRINK = 0.3, 0.85  # a gap below _LOW times the bias multiplies kappa by _SHRINK
_SLOW, _GROW = 0.95, 1.5  # a gap above _SLOW times that of the last check multiplies it by _GROW
_FLOOR_DECAY = 0.95  # multiplies the floor at every check
_EARLY = 16  # kappa does not grow before: the first certificates fall slowly whatever it is


class Step(NamedTuple):
    """One step of the anytime method, before it is accepted.

    ``v`` is the query point and ``answer`` the (mean) answer, -grad G(v) for G(y) = s_alpha(-y);
    ``variance`` is the measured variance of one answer. ``numbers`` is what the step test, or the
    estimate of L, is computed from: arrays until they are fetched. The other fields are those of
    the state after the step.
    """

    v: Array
    answer: Array
    x: Array
    y: Array
    dual: Array | float
    at: Evaluation
    alpha: float
    variance: float
    numbers: Sequence[float] = ()


def compared_numbers(smoothing: Smoothing, x: Array, y: Array, step: Step) -> list[Array | float]:
    """Return the numbers that the step test compares, not yet fetched from another device."""
    return [
        *smoothing.supports((step.v, step.y, y), step.alpha),
        lazy_inner(step.answer, step.y - step.v),
        lazy_inner(step.answer, y - step.v),
        lazy_inner(step.at.gradient, x - step.x),
    ]


def passes_step_test(tau: float, value: float, step: Step) -> bool:
    r"""Tell whether a step from f(x_k) = ``value`` satisfies (7) of docs/theory/anytime.md.

    .. math:: D_G(y_{k+1}, v_k) \le (1 - \tau_k) (D_f(x_k, x_{k+1}) + D_G(y_k, v_k))

    with D the Bregman divergences and :math:`G(y) = s_\alpha(-y)`, up to rounding errors.
    """
    G_v, G_next, G_y, ahead, behind, slope = step.numbers
    D_next, D_y = G_next - G_v + ahead, G_y - G_v + behind
    D_f = value - step.at.value - slope
    rounding = 32.0 * epsilon(step.y) * (abs(G_v) + abs(value))
    return D_next <= (1 - tau) * (D_f + D_y) + rounding


class Control(NamedTuple):
    """What the rules remember: part of a solver's state.

    ``kappa`` is the factor. ``floor`` is how far it may fall, or the last kappa that failed the
    step test; it fades. ``fun`` and ``lower_bound`` are the best value and bound, ``gap`` is the
    certified gap at the last check, ``next_check`` the round of the next one. ``variance`` is the
    running mean of the measured variance of one perturbed answer.
    """

    kappa: float
    fun: float
    floor: float = 0.0
    next_check: int = 4
    lower_bound: float = -math.inf
    gap: float = math.inf
    variance: float = math.nan

    def updated(self, value: float, variance: float) -> Control:
        """Return the memory after a round with this value and measured variance."""
        if math.isnan(variance):
            if value >= self.fun:
                return self
            variance = self.variance
        elif not math.isnan(self.variance):
            variance = 0.9 * self.variance + 0.1 * variance
        return self._replace(fun=min(self.fun, value), variance=variance)

    def adapted(self, k: int, bound: float, bias: float) -> Control:
        """Return the memory after a check: the certificate's bound and the bias alpha s_1(0)."""
        lower_bound = max(self.lower_bound, bound)
        gap = self.fun - lower_bound
        kappa, floor = self.kappa, _FLOOR_DECAY * self.floor
        if gap > _SLOW * self.gap and k >= _EARLY:
            kappa = min(1.0, _GROW * kappa)
            floor = max(floor, kappa)
        elif gap < _LOW * bias:
            kappa = max(_SHRINK * kappa, min(floor, kappa))
        next_check = max(k + 1, math.ceil(1.25 * k))
        return self._replace(
            kappa=kappa, floor=floor, next_check=next_check, lower_bound=lower_bound, gap=gap
        )
