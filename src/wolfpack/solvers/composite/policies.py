r"""What may be added to Algorithm 1: a step bound, a search for beta, and restarts.

Each policy is an object with one method. `minimize_composite` chooses them from the problem and its
gradients; a plain `StochasticComposite` has none, and is Algorithm 1 as printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ...arrays import Array, inner
from ...theory import unchecked

LOOK_EVERY = 4
"""Rounds between two measurements of the curvature or the drift."""

_MIN_PASSES = 5  # a restart comes after so many passes at the earliest
_MIN_BETA = 1e-12  # smallest searched beta, relative to the first one


def opposes(v: Array, y: Array, y_next: Array) -> bool:
    """Tell whether the step from v to y_next goes against the step from y to y_next."""
    return inner(v - y_next, y_next - y) > 0.0


class Spell(NamedTuple):
    """What is known since the last restart, in round ``begun``.

    ``drift`` sums <z_k - z_{k+1}, z_k - y_k> over the measured rounds of a pass, ``last`` is the
    drift that caused that restart, and ``stalls`` counts restarts that did not find it halved.
    """

    begun: int = 0
    drift: float = 0.0
    last: float = math.inf
    stalls: int = 0


@dataclass(frozen=True)
class StepBound:
    r"""Bounds steps by what the noise of gradients allows (Theorem C4 of docs/theory).

    :math:`A_{k+1} - A_k \le \eta (\mu A_k + \beta\nu)`.

    Parameters
    ----------
    eta : float
        The largest step of z_k along a gradient.
    shrink : float
        Factor by which the steps shrink when a run with fixed blocks stalls.
    """

    eta: float
    shrink: float = 1.0

    def limit(
        self, A_k: float, A_next: float, tau: float, mu: float, drag: float, stalls: int
    ) -> tuple[float, float]:
        """Return A_{k+1} and tau_k within the bound; ``drag`` is beta nu."""
        return unchecked.capped_weight(A_k, A_next, tau, self.eta * self.shrink**stalls, mu, drag)

    def damping(self, mu: float, beta: float) -> float:
        r"""Return rho, for which noise lifts F by at most sigma^2 / (2 rho) in the long run.

        :math:`1/\eta - \beta\tau` (Proposition P2), :math:`\tau = \mu\eta/(1+\mu\eta)` in the end.
        """
        return 1.0 / self.eta - beta * mu * self.eta / (1.0 + mu * self.eta)

    def slows(self, mu: float, beta: float) -> bool:
        """Tell whether noise allows less than a smoothness ``beta`` of G, in the long run."""
        return self.eta * math.sqrt(mu) * math.sqrt(beta) < 1.0


@dataclass(frozen=True)
class BetaSearch:
    """Replaces beta by the curvature that a run meets.

    The next beta is the curvature along the last step times a safety factor, changed by a factor of
    2 at most. With exact gradients a round is repeated with a larger beta if it fails the test of
    Theorem C3 (`SearchedComposite`). With minibatches nothing can be tested: the curvature of a
    round's own rows stands for that of G, which is a heuristic.

    Parameters
    ----------
    factor : float
        The safety factor.
    """

    factor: float

    def next(self, beta: float, curvature: float, first: float) -> float:
        """Return the next beta after a round with ``beta``; ``first`` is where the search began."""
        lowest = max(self.factor * curvature, 0.5 * beta, _MIN_BETA * first)
        return min(lowest, 2.0 * beta)


@dataclass(frozen=True)
class DriftRestart:
    """Restarts a run that noise slows down, once its averages have moved uphill for a pass.

    The drift <z_k - z_{k+1}, z_k - y_k> has the mean of <grad F, z_k - y_k> times a step. A restart
    comes after five passes at the earliest, and after half as many rounds as the run had before the
    last one: however noisy a run is, restarts become rare. That restarts pay is measured, not
    proved.

    Parameters
    ----------
    impatient : bool
        Whether to restart at once when the drift has grown since the last restart.
    """

    impatient: bool = False

    def after(self, spell: Spell, k: int, drift: float, rounds: int) -> tuple[bool, Spell]:
        """Tell whether to restart before round ``k``, and what is known then.

        ``spell`` is what was known before the last round, ``drift`` what that round adds to the
        drift, and ``rounds`` the number of rounds in a pass.
        """
        drift += spell.drift
        if (k - spell.begun) % rounds:
            return False, spell._replace(drift=drift)
        due = k - spell.begun >= max(_MIN_PASSES * rounds, spell.begun // 2)
        if not (drift > 0.0 and (due or (self.impatient and drift > spell.last))):
            return False, spell._replace(drift=0.0)
        return True, Spell(k, 0.0, drift, spell.stalls + (drift > 0.5 * spell.last))


class Policies(NamedTuple):
    """What is added to Algorithm 1; ``raises_beta`` where beta is an estimate to be raised."""

    bound: StepBound | None = None
    search: BetaSearch | None = None
    restart: DriftRestart | None = None
    raises_beta: bool = False
