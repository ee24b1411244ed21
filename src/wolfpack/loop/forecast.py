"""How long a run may still take, from how its gap has fallen so far, and how people say it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

_MAX_GAPS, _CLEARLY_BETTER = 512, 4.0
"""How many gaps are kept, and how many times better a fit must be for the other to be ignored."""


@dataclass
class GapForecast:
    """How the gap has fallen with time, and how long it may take to reach the target.

    The gap of a sublinear method falls about as c t^-p, that of a linear one as c exp(-q t). A line
    through log gap against log t, and one against t, over the last three quarters of the time, give
    p and q. If one line fits much better, only its estimate counts, else both.
    """

    times: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def see(self, seconds: float, gap: float) -> None:
        """Add a gap; when there are too many, drop every other one."""
        if seconds > 0 and 0 < gap < math.inf:
            self.times.append(seconds)
            self.gaps.append(gap)
        if len(self.times) > _MAX_GAPS:
            del self.times[::2], self.gaps[::2]

    def left(self, target: float) -> tuple[float, float] | None:
        """Return the least and the most seconds until the gap is ``target``.

        None if there is no estimate. Infinite if it would take more than a hundred times as long
        as the run has taken so far: such an estimate is not reliable.
        """
        if not (target > 0 and len(self.times) >= 8):
            return None
        t, gap = np.array(self.times), np.log(np.array(self.gaps))
        late = t >= t[-1] / 4
        if late.sum() < 4 or not np.ptp(t[late]):
            return None
        now = float(t[-1])
        distance = max(0.0, float(gap[-1]) - math.log(target))
        power, power_error = _slope(np.log(t[late]), gap[late])
        rate, rate_error = _slope(t[late], gap[late])
        if power < 0.05 or rate <= 0:  # the gap stalls
            return None
        good = _CLEARLY_BETTER * min(power_error, rate_error) + 1e-12
        ends = [now * math.expm1(min(distance / power, 50.0))] if power_error <= good else []
        ends += [distance / rate] if rate_error <= good else []
        likely = [end if end <= 100 * now else math.inf for end in ends]
        return min(likely), max(likely)

    def until(self, target: float, limits: Sequence[float]) -> tuple[float, float] | None:
        """Return `left`, or the seconds until the first of the ``limits`` if these are fewer."""
        end = max(0.0, min(limits, default=math.inf))
        expected = self.left(target)
        if expected is None:
            return (end, end) if limits else None
        return min(expected[0], end), min(expected[1], end)


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the slope at which y falls with x, and the squared error of that line."""
    x, y = x - x.mean(), y - y.mean()
    fall = -float(x @ y) / float(x @ x)
    return fall, float(((y + fall * x) ** 2).sum())


def left_words(left: tuple[float, float] | None) -> str:
    """Return how long it may still take, as precisely as it is known."""
    if left is None:
        return ""
    low, high = left
    if low == math.inf:
        return "  long to go"
    if high == math.inf:
        return f"  at least {clock(low)} left"
    wide = high > 1.5 * low and high - low > 1.0
    return f"  {clock(low)} to {clock(high)} left" if wide else f"  about {clock(high)} left"


def clock(seconds: float) -> str:
    """Return a time as people say it."""
    short = f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    return in_units(seconds, {"d": 86400.0, "h": 3600.0, "min": 60.0}) or short


def in_units(amount: float, units: Mapping[str, float]) -> str:
    """Return an amount in the first unit that it fills, empty if it is too small for all."""
    unit = next((unit for unit, size in units.items() if amount >= size), None)
    return f"{amount / units[unit]:.3g} {unit}" if unit else ""
