"""Workers that cannot be used: the run goes on without them, and each is named once."""

from __future__ import annotations

import logging
from collections.abc import Collection

_log = logging.getLogger(__name__.partition(".")[0])


class SetAside:
    """Workers of a cluster that cannot read the job, and why."""

    def __init__(self) -> None:
        self._causes: dict[str, tuple[str, str]] = {}  # by address: what to call it, and the cause

    def add(self, address: str, name: str, engine: str, cause: str) -> None:
        """Set a worker aside and say so, unless this was done before."""
        if address not in self._causes:
            _log.warning("%s is not used by %s: %s", name, engine, cause)
        self._causes[address] = name, cause

    def forget_others(self, present: Collection[str]) -> None:
        """Forget workers that have left; another one may come to the same address."""
        self._causes = {place: why for place, why in self._causes.items() if place in present}

    def __contains__(self, address: object) -> bool:
        return address in self._causes

    def __bool__(self) -> bool:
        return bool(self._causes)

    def why(self) -> str:
        """Return the end of a message: each cause with the workers that have it, or nothing."""
        by_cause: dict[str, list[str]] = {}
        for name, cause in self._causes.values():
            by_cause.setdefault(cause, []).append(name)
        return "".join(f"; {cause} ({', '.join(names)})" for cause, names in by_cause.items())
