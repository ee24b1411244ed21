"""Compares rounds with what smoothness and convexity promise, and runs the checks of f and K."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field
from typing import Any

from ..arrays import Array
from ..checks import Audit, CompositeAudit, ConstrainedAudit, Finding, breach
from ..problem import LimitReached, Problem, unit_of
from ..problem.warn import warn_user
from ..smoothing import Oracles
from .status import Status
from .tracker import Tracker

CLAIMS = (
    Status.CONVERGED,
    Status.STATIONARY,
    Status.STALLED,
    Status.MAX_ROUNDS,
    Status.MAX_SECONDS,
    Status.MAX_LMO,
)
"""Statuses of a run that hands out its gap; before that the gap is checked."""


def noise_remark(value: float, slope: float) -> str:
    """Return what to say of measured errors of values and slopes that no model explains."""
    what = f"Values of f scatter by about {value:.1e}"
    if value <= 0.0:
        what = f"Gradients of f scatter, which changes lower bounds by about {slope:.1e},"
    return (
        f"{what} near this point, more than rounding of numbers of their size explains, and the "
        "gap counts that. Write f without differences of large numbers, or declare its errors with "
        "wolfpack.objectives.Function(f, absolute_error=..., gradient_error=...)."
    )


_WORTH_SAYING = 0.03
"""A part of the gap; smaller measured errors of f are counted and not mentioned."""

_FINE = 1e-3
"""A gap that is larger, as a share of the largest value of f, is not compared with its errors."""


class SmoothnessWarning(UserWarning):
    """The run has seen f grow faster than L allows."""


class ConvexityWarning(UserWarning):
    """The run has seen f below one of its tangents: f is not convex, no gap can be certified."""


@dataclass
class Monitor:
    """Warns once of each promise that was broken, and remembers the remarks.

    ``audit`` tests what is not the library's own, f or K or G; None where everything is. ``found``
    is what ends a run with a contradiction.
    """

    tracker: Tracker
    remarks: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    oracles: Oracles | None = None
    audit: Audit | None = None
    found: Finding | None = None
    _measured: Array = None  # the point where errors of f were measured last

    def watch(self, oracles: Any, checks: bool) -> None:
        """Set up the checks of a run; the clean answers of `minimize` come from ``oracles``."""
        if not checks:
            return
        audit = self._audit(oracles.lmo if isinstance(oracles, Oracles) else None)
        if not audit.active:
            return
        self.audit = audit
        if isinstance(audit, ConstrainedAudit):
            self.oracles, oracles.witness = oracles, audit.witness

    def _audit(self, lmo: Any) -> Audit:
        problem = self.tracker.problem
        if isinstance(problem, Problem):
            return ConstrainedAudit(problem, lmo)
        return CompositeAudit(problem)

    @property
    def asked(self) -> tuple[tuple[Array, float], ...]:
        """The last directions that an oracle of the user's own was asked, with its minima."""
        audit = self.audit
        if not (isinstance(audit, ConstrainedAudit) and audit.foreign):
            return ()
        return tuple(audit.witness.asked)

    def latest(self, state: Any) -> Any:
        """Return the last answer of the oracle; it is asked where there is none.

        None stands for the answer where there is no oracle.
        """
        oracles = self.oracles
        if oracles is None:
            return None
        return oracles.lmo(state.at.gradient) if oracles.last is None else oracles.last[1]

    def begin(self, state: Any) -> None:
        """Test the gradient at the starting point, once the oracle has answered something."""
        if self.audit is None or state.at is None or not self.audit.gradient:
            return
        self._take(self.audit.begin(state.x, state.at, self.latest(state)))

    def compare(self, state: Any, following: Any) -> None:
        """Check the descent and convexity inequalities between two states."""
        at, at_next = state.at, following.at
        if at is None or at.gradient is None or at_next.gradient is None:
            return
        problem = self.tracker.problem
        violation = problem.violation(at, state.x, at_next, following.x)
        if violation is None or violation.what in self.seen:
            return
        if violation.what == "convexity" and self.tracker.stationarity is not None:
            return  # nobody has said that f is convex
        rounds = f"between rounds {state.k} and {following.k}"
        if violation.what == "convexity":
            self._explain((state, following), rounds)
            return
        audit = self.audit or self._audit(None)
        if audit.is_scatter(*[audit.sample(one.x, one.at) for one in (state, following)]):
            return
        name = violation.what
        text = (
            f"{name} = {violation.constant:.6g} is too small: {rounds} f grew more than {name} "
            f"allows. The certificate holds, the rate does not: pass a larger {name}."
        )
        warn_user(text, SmoothnessWarning)
        self.seen.add(violation.what)
        self.remarks.append(text)

    def note(self, state: Any) -> None:
        """Compare a round with others than the one before, in rounds 0, 1, 2, 4, 8 and so on."""
        if self.audit is None or state.at is None:
            return
        self._take(self.audit.finding)
        if state.k & (state.k - 1) == 0:
            self._take(self.audit.note(state.x, state.at))

    def measure(self, state: Any) -> bool:
        """Measure the errors of a user's f before a claim, and tell whether they matter.

        A contradiction is a claim as well. Errors do not matter where they are no larger than what
        is assumed of them. They are not measured where nothing is checked.
        """
        tracker = self.tracker
        if tracker.x is self._measured or tracker.stationarity is not None:
            return False
        audit = self.audit or (self._audit(None) if tracker.contradicted else None)
        if audit is None or not audit.gradient or self.found is not None:
            return False
        at = state.at if state.x is tracker.x else tracker.at
        found = audit.scatter(tracker.x, at, self.latest(state))
        if found is None:
            return False
        if tracker.contradicted:  # a constant error of the gradient would be the contradiction
            found = found._replace(constant=0.0)
        else:
            self._measured = tracker.x
        tracker.problem.allow_for(found, tracker.x, unit_of(tracker.x))
        return tracker.problem.counts.owed > 0.0

    def verdict(self, status: Status, state: Any) -> Status:
        """Return the status of a run that would end with this one, after a last check."""
        tracker, audit = self.tracker, self.audit
        claims = status in CLAIMS or status is Status.CONTRADICTION
        if audit is not None and self.found is None and claims:
            at = state.at if state.x is tracker.x else None
            with contextlib.suppress(LimitReached):  # a limit leaves no room for the last check
                self._take(audit.conclude(tracker.x, at, self.latest(state)))
            tracker.amend()
            if self.found is None and self._may_be_noise() and self.measure(state):
                tracker.reconsider()
            counts = tracker.problem.counts
            if self.found is None and counts.measured > _WORTH_SAYING * tracker.gap:
                self.remarks.append(noise_remark(counts.noise, counts.measured))
            if self.found is None and audit.remark:
                self.remarks.append(audit.remark)
        return Status.CONTRADICTION if self.found is not None else status

    def _may_be_noise(self) -> bool:
        """Tell whether the gap is so small beside values of f that their errors may make it up."""
        tracker = self.tracker
        rows, largest = tracker.history.rows, tracker.problem.counts.largest
        return tracker.gap <= _FINE * max(largest, abs(rows[0][2]) if len(rows) else 0.0)

    def skip(self) -> None:
        """Say that there was no time for the last check."""
        if self.audit is not None and self.found is None:
            self.remarks.append("The time was over before the last check of what is your own.")

    def _explain(self, states: tuple[Any, Any], rounds: str) -> None:
        """Find out what a value below a tangent proves."""
        audit = self.audit or self._audit(None)
        one, other = (audit.sample(state.x, state.at) for state in states)
        found = breach(audit.smooth, one, other)
        self._take(None if found is None else audit.explain(found, rounds))

    def _take(self, found: Finding | None) -> None:
        """Keep the first finding, and withdraw the certificate."""
        if found is None or self.found is not None:
            return
        self.found = found
        self.tracker.convex, self.tracker.contradicted = False, True
        if self.tracker.stationarity is not None:
            self.tracker.stationarity = math.inf
        self.remarks.append(found.text)
        if found.culprit == "convexity":
            warn_user(found.text, ConvexityWarning)
