"""Compares consecutive rounds with what smoothness and convexity promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

from .tracker import Tracker


class SmoothnessWarning(UserWarning):
    """The run has seen f grow faster than L allows."""


class ConvexityWarning(UserWarning):
    """The run has seen f below one of its tangents: f is not convex, no gap can be certified."""


@dataclass
class Monitor:
    """Warns once of each promise that two rounds have broken, and remembers the remarks."""

    tracker: Tracker
    remarks: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])

    def compare(self, state: Any, following: Any) -> None:
        """Check the descent and convexity inequalities between two states."""
        at, at_next = state.at, following.at
        if at is None:
            return
        found = self.tracker.problem.violation(at, state.x, at_next, following.x)
        if found is None or found.what in self.seen:
            return
        self.seen.add(found.what)
        if found.what == "convexity":
            self.tracker.convex = False
            text = (
                f"f is not convex: between rounds {state.k} and {following.k} it fell below its "
                "tangent. No gap can be certified; the value and the point are still valid."
            )
            warnings.warn(text, ConvexityWarning, stacklevel=2)
        else:
            name = found.what
            text = (
                f"{name} = {found.constant:.6g} is too small: between rounds {state.k} and "
                f"{following.k} f grew more than {name} allows. The certificate holds, the rate "
                f"does not: pass a larger {name}."
            )
            warnings.warn(text, SmoothnessWarning, stacklevel=2)
        self.remarks.append(text)
