"""How `anytime` follows its certificate: the factor kappa of the smoothing.

The bias of smoothing is at most alpha s_1(0). A gap well below that bias shows that alpha may be
smaller; a gap that stays well above it shows that alpha, hence the steps, are too bold, or that
sampling noise dominates, where a larger alpha does no harm. The rule looks about four times per
doubling of k, and remembers a failure for a while as a floor below which kappa may not fall.
This is a heuristic; the certificate is what makes its result true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple


class Control(NamedTuple):
    """What the rule remembers: part of a solver's state.

    Attributes
    ----------
    kappa, floor : float
        The factor, and how far it may fall.
    next_look : int
        Round of the next look at the certificate.
    fun, lower_bound : float
        Best value of f and best bound seen.
    variance : float
        Running mean of the measured variance of one perturbed answer.
    """

    kappa: float
    floor: float
    next_look: int
    fun: float
    lower_bound: float
    variance: float

    def saw(self, value: float, variance: float) -> Control:
        """Return the memory after a round with this value and measured variance."""
        if not math.isnan(variance):
            known = not math.isnan(self.variance)
            variance = 0.9 * self.variance + 0.1 * variance if known else variance
        else:
            variance = self.variance
        return self._replace(fun=min(self.fun, value), variance=variance)


@dataclass(frozen=True)
class Tuner:
    """The rule.

    Parameters
    ----------
    kappa : float
        Factor to begin with.
    active : bool
        Whether to change it at all.
    low, high : float
        Shrink when gap < low * bias, grow when gap > high * bias.
    shrink, grow : float
        By how much.
    decay : float
        How the floor fades from look to look.
    """

    kappa: float
    active: bool
    low: float = 0.3
    high: float = 4.0
    shrink: float = 0.7
    grow: float = 1.5
    decay: float = 0.95

    def start(self, value: float) -> Control:
        """Return the memory of round 0."""
        return Control(self.kappa, 0.0, 4, value, -math.inf, math.nan)

    def due(self, control: Control, k: int) -> bool:
        """Tell whether round ``k`` is one to look at the certificate."""
        return self.active and k >= control.next_look

    def adapt(self, control: Control, k: int, bound: float, bias: float) -> Control:
        """Return the memory after a look: ``bound`` is the certificate's, ``bias`` alpha s_1(0)."""
        lower_bound = max(control.lower_bound, bound)
        gap = control.fun - lower_bound
        kappa, floor = control.kappa, self.decay * control.floor
        if gap < self.low * bias:
            kappa = max(self.shrink * kappa, min(floor, kappa))
        elif gap > self.high * bias:
            kappa = min(1.0, self.grow * kappa)
            floor = min(1.0, max(floor, self.grow * kappa))
        next_look = max(k + 1, math.ceil(1.25 * k))
        return control._replace(
            kappa=kappa, floor=floor, next_look=next_look, lower_bound=lower_bound
        )
