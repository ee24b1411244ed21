"""Which rounds are certified and recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..problem.checks import count, either

_SHARE = 10
"""What certificates may cost: one part in so many of a run."""

NEAR = 16.0
"""Up to how many times its goal a gap is close to it."""

_FIRST = 3
"""Certificates that may fail in any run, besides that tenth and those of powers of two."""

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
    limits the second to a twentieth of the rounds. Where the gaps so far let a run expect its end
    before the next of these rounds, it is certified there as well (see `expected`). The rule
    depends on k, on gaps and on declared costs, never on measured time: the same seed gives the
    same bits.

    Parameters
    ----------
    every : int or "auto"
        Rounds from one certificate to the next.
    unit : int
        Rounds that count as one for "auto".
    patient : bool
        Whether "auto" limits the cost to a tenth from the first rounds on, or only the delay.
    begins : int
        Units before which "auto" certifies no round but the first.
    """

    every: int | str = "auto"
    unit: int = 1
    patient: bool = True
    begins: int = 0

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
        if 0 < k < self.begins:
            return False
        if price == 0.0 or k & (k - 1) == 0:
            return True
        least = _power_above(_SHARE * price) if self.patient else 1
        grown = int(min(k / _DELAY, math.sqrt(2.0 * price * k)))
        spacing = max(least, 1 << max(0, grown.bit_length() - 1))
        return k % spacing == 0


def near(k: int, gap: float, k0: int, gap0: float, goal: float) -> int:
    """Return the round from which the end is looked for, where a look costs little.

    That is a third of the way to where the gap is expected to reach its goal, or to where twice as
    many rounds are made if that is far away. Close to the goal it is the next round, because gaps
    go up and down.
    """
    if gap <= NEAR * goal:
        return k + 1
    ends = expected(k, gap, k0, gap0, goal)
    end = min(ends) if ends else k + max(1, k - k0)
    return k + max(1, (end - k) // 3)


def spare(k: int, count: int) -> bool:
    """Tell whether ``count`` certificates until round ``k`` leave room for one that may fail."""
    return count < k / _SHARE + k.bit_length() + _FIRST


def expected(k: int, gap: float, k0: int, gap0: float, goal: float) -> tuple[int, ...]:
    """Return the rounds in which a gap may be expected to reach its goal, at most two.

    Between the rounds k0 < k it has fallen from gap0 to gap. One round continues a fall by equal
    factors in equal times, the later one a power of k.
    """
    if not (0.0 < goal < gap < gap0 < math.inf and 0 < k0 < k):
        return ()
    left = math.log(gap / goal) / math.log(gap0 / gap)
    if left > 2.0:
        return ()  # far ahead: certificates before that will tell more
    ends = k + left * (k - k0), k * (k / k0) ** left
    return tuple(sorted({max(k + 1, math.ceil(end)) for end in ends}))


def _power_above(number: float) -> int:
    """Return the smallest power of two that is at least ``number``."""
    return 1 << max(0, math.ceil(number) - 1).bit_length()
