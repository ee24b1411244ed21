"""When to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..problem.checks import checked, nonnegative, optional, whole
from .status import Status

DEFAULT_ROUNDS = 100_000
"""Round limit of a run for which the user set no limit at all, and of rounds without oracle calls
where these alone are limited."""


SHARE = 1e-6
"""Gap, as a share of what could be gained at the start, that is small enough by default."""

TINY = 1e-9
"""The same as a share of the value of f, for a start where there is nothing to gain."""

WITHOUT_BOUND = 1e-4
"""What is small enough by default where no lower bound is known."""


@checked(
    tol=nonnegative,
    rtol=optional(nonnegative),
    max_rounds=optional(whole(0)),
    max_seconds=optional(nonnegative),
    max_lmo=optional(whole(0)),
    max_passes=optional(nonnegative),
)
@dataclass(frozen=True)
class Limits:
    """Tolerances and limits of a run.

    Parameters
    ----------
    tol : float
        Stop when the certified gap is at most ``tol``.
    rtol : float, optional
        Stop also when it is at most ``rtol * |f(x)|``.
    max_rounds : int, optional
        Limit on rounds.
    max_lmo : int, optional
        Limit on oracle calls, of which certificates and estimates of constants are a part.
    max_seconds : float, optional
        Limit on the user's clock: all that happens from the call on counts.
    max_passes : float, optional
        Limit on what the rounds of a composite problem read, in passes over the data.
    relative : bool
        Stop when the gap is at most 1e-6 (f(x0) - bound), or 1e-9 |f(x)|, or what rounding errors
        allow, in place of ``tol``.
    root : bool
        Whether all tolerances are of d = sqrt(2 f), for f that is half the square of a distance.
    """

    tol: float = 1e-4
    rtol: float | None = None
    max_rounds: int | None = None
    max_seconds: float | None = None
    max_lmo: int | None = None
    max_passes: float | None = None
    relative: bool = False
    root: bool = False

    def __post_init__(self) -> None:
        given = (self.max_rounds, self.max_seconds, self.max_lmo, self.max_passes)
        if all(limit is None for limit in given):
            object.__setattr__(self, "max_rounds", DEFAULT_ROUNDS)

    def exceeded(self, k: int, seconds: float, nlmo: int) -> Status | None:
        """Return the limit that is reached, if any.

        Methods that seldom ask the oracle need many rounds to spend their calls: they end where
        100,000 more rounds than calls have been made, unless rounds or seconds are limited.
        """
        if self.max_rounds is not None and k >= self.max_rounds:
            return Status.MAX_ROUNDS
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.MAX_SECONDS
        if self.max_lmo is not None:
            if nlmo >= self.max_lmo:
                return Status.MAX_LMO
            others = (self.max_rounds, self.max_seconds, self.max_passes)
            if k >= DEFAULT_ROUNDS + nlmo and all(limit is None for limit in others):
                return Status.MAX_ROUNDS
        return None

    def goal(self, fun: float, gain: float, floor: float) -> float:
        """Return the gap that is small enough at a value of f.

        ``gain`` is f(x0) less the best bound, ``floor`` what rounding errors allow to claim.
        """
        if self.root:
            return self._goal_of_root(math.sqrt(2.0 * max(fun, 0.0)), gain, floor)
        goal = self.tol
        if self.relative:
            goal = max(SHARE * gain, TINY * abs(fun), 2.0 * floor)
            goal = goal if math.isfinite(goal) else WITHOUT_BOUND
        return goal if self.rtol is None else max(goal, self.rtol * abs(fun))

    def _goal_of_root(self, d: float, gain: float, floor: float) -> float:
        """Return the gap of d^2/2 at which d is known up to the tolerance t.

        Where f is proved to be at least d^2/2 - t d + t^2/2 = (d - t)^2/2, d falls by at most t.
        """
        t, least = self.tol, 0.0
        if self.relative:
            gained = math.sqrt(2.0 * max(gain, 0.0)) if math.isfinite(gain) else 0.0
            t, least = max(SHARE * gained, TINY * d), 2.0 * floor
        if self.rtol is not None:
            t = max(t, self.rtol * d)
        return math.inf if d <= t else max(t * (d - 0.5 * t), least)
