"""When a run of Algorithm 1 that noise slows down begins anew (docs/theory/composite.md)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

_LEAST = 5  # passes that a spell lasts at least


class Spell(NamedTuple):
    """What is known since the run last began anew.

    Attributes
    ----------
    begun : int
        The round of that beginning.
    drift : float
        <z_k - z_{k+1}, z_k - y_k>, summed over the looks of a pass.
    last : float
        The drift that ended the spell before.
    stuck : int
        How many spells have not halved it; where the problem says so, each makes steps shorter.
    """

    begun: int = 0
    drift: float = 0.0
    last: float = math.inf
    stuck: int = 0

    def after(self, k: int, look: float, rounds: int, problem: Any) -> tuple[bool, Spell]:
        """Return whether to begin anew before round ``k``, and what is known then.

        Parameters
        ----------
        k : int
            The next round.
        look : float
            What the last round adds to the drift.
        rounds : int
            Rounds in a pass.
        problem : Composite
            Whether noise sets its pace.
        """
        drift = self.drift + look
        if (k - self.begun) % rounds:
            return False, self._replace(drift=drift)
        # half of what went before: however noisy, beginning anew cannot go on for ever
        due = k - self.begun >= max(_LEAST * rounds, self.begun // 2)
        away = problem.shrink < 1.0 and drift > self.last
        if not (problem.paced and drift > 0.0 and (due or away)):
            return False, self._replace(drift=0.0)
        return True, Spell(k, 0.0, drift, self.stuck + (drift > 0.5 * self.last))
