"""Which rounds are certified and recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..problem.checks import count, either

_SHARE = 10
"""What certificates may cost: one part in so many of a run."""

_DELAY = 20
"""By how much they may delay the end: one round in so many."""

CLOSED_FORM_CALLS = 3
"""Oracle calls that a smoothed argmax in closed form counts for."""


@dataclass(frozen=True)
class Schedule:
    r"""Rounds to certify: every so many, or by what a certificate costs.

    With ``every="auto"`` and certificates that cost p times as much as a round, those of the rounds
    0, 1, 2, 4, 8, ... are certified, and every s-th round, s being a power of two,

    .. math:: s = \max\{10 p,\ \min(k/20, \sqrt{2 p k})\}.

    The first number limits certificates to a tenth of a run. A run that meets its tolerance between
    two certificates goes on for up to s rounds. The square root makes both losses equal, and k/20
    limits the second to a twentieth of the rounds. The rule depends on k and on declared costs
    alone, never on measured time: the same seed gives the same bits.

    Parameters
    ----------
    every : int or "auto"
        Rounds from one certificate to the next.
    unit : int
        Rounds that count as one for "auto".
    patient : bool
        Whether "auto" limits the cost to a tenth from the first rounds on, or only the delay.
    """

    every: int | str = "auto"
    unit: int = 1
    patient: bool = True

    def __post_init__(self) -> None:
        either(count, "auto")(self.every, "record_every")

    def due(self, k: int, price: float) -> bool:
        """Tell whether round ``k`` is certified, at ``price`` times the cost of a round."""
        if not isinstance(self.every, str):
            return k % self.every == 0
        if self.unit > 1:
            if k % self.unit:
                return False
            k //= self.unit
        if price == 0.0 or k & (k - 1) == 0:
            return True
        least = _power_above(_SHARE * price) if self.patient else 1
        grown = int(min(k / _DELAY, math.sqrt(2.0 * price * k)))
        spacing = max(least, 1 << max(0, grown.bit_length() - 1))
        return k % spacing == 0


def _power_above(number: float) -> int:
    """Return the smallest power of two that is at least ``number``."""
    return 1 << max(0, math.ceil(number) - 1).bit_length()
