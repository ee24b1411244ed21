r"""How `anytime` chooses the factor kappa of its smoothing.

Two rules. Where smoothing is exact, `passes_step_test` is Proposition A2 of docs/theory/anytime.md:
a round whose step passes it loses nothing against the theorem, whatever kappa, L and the set are.
So kappa may fall a little every round; when the test fails it is doubled and the round repeated.

Where answers are sampled, `Tuner` follows the certificate, a heuristic. The bias of smoothing is at
most alpha s_1(0). A gap well below that bias shows that alpha may be smaller; a gap that has
stopped falling shows that alpha is too small, hence the steps too long. The tuner checks about four
times per doubling of k, and remembers a failure for a while as a floor below which kappa may not
fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...arrays import Array, epsilon, lazy_inner
from ...problem import Evaluation
from ...smoothing import Smoothing


class Step(NamedTuple):
    """One step of the anytime method, before it is accepted.

    Attributes
    ----------
    v, answer : array
        The query point and the (mean) answer, -grad G(v) for G(y) = s_alpha(-y).
    x, y, dual : array
        The new iterates, and the dual point of the certificate.
    at : Evaluation
        f at the new x.
    alpha, variance : float
        Smoothing used, measured variance of one answer.
    numbers : sequence of float
        What the step test, or the estimate of L, is computed from; arrays until they are fetched.
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

    Attributes
    ----------
    kappa, floor : float
        The factor, and how far it may fall (or the last that failed the step test), which fades.
    next_check : int
        Round in which the certificate is checked next.
    fun, lower_bound : float
        Best value of f and best bound seen.
    gap : float
        Certified gap at the last check.
    variance : float
        Running mean of the measured variance of one perturbed answer.
    """

    kappa: float
    floor: float
    next_check: int
    fun: float
    lower_bound: float
    gap: float
    variance: float

    def updated(self, value: float, variance: float) -> Control:
        """Return the memory after a round with this value and measured variance."""
        if not math.isnan(variance):
            known = not math.isnan(self.variance)
            variance = 0.9 * self.variance + 0.1 * variance if known else variance
        else:
            variance = self.variance
        return self._replace(fun=min(self.fun, value), variance=variance)


@dataclass(frozen=True)
class Tuner:
    """The rule that follows the certificate.

    Parameters
    ----------
    kappa : float
        Factor to begin with.
    low, shrink : float
        When the gap is below ``low`` times the bias, kappa falls by the factor ``shrink``.
    slow, grow : float
        When the gap is above ``slow`` times that of the last check, kappa grows by ``grow``.
    decay : float
        Factor by which the floor falls from check to check.
    early : int
        Round before which kappa does not grow: the first certificates fall slowly whatever it is.
    """

    kappa: float = 0.3
    low: float = 0.3
    shrink: float = 0.85
    slow: float = 0.95
    grow: float = 1.5
    decay: float = 0.95
    early: int = 16

    def start(self, value: float) -> Control:
        """Return the memory of round 0."""
        return Control(self.kappa, 0.0, 4, value, -math.inf, math.inf, math.nan)

    def adapt(self, control: Control, k: int, bound: float, bias: float) -> Control:
        """Return the memory after a check: the certificate's bound and the bias alpha s_1(0)."""
        lower_bound = max(control.lower_bound, bound)
        gap = control.fun - lower_bound
        kappa, floor = control.kappa, self.decay * control.floor
        if gap > self.slow * control.gap and k >= self.early:
            kappa = min(1.0, self.grow * kappa)
            floor = max(floor, kappa)
        elif gap < self.low * bias:
            kappa = max(self.shrink * kappa, min(floor, kappa))
        return control._replace(
            kappa=kappa,
            floor=floor,
            next_check=max(k + 1, math.ceil(1.25 * k)),
            lower_bound=lower_bound,
            gap=gap,
        )
