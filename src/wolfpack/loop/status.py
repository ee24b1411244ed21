"""Why a run ended, and what to do about it."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The closed list of reasons for which a run ends; `advice` says what a user can do."""

    CONVERGED = "converged"
    MAX_ROUNDS = "max_rounds"
    MAX_SECONDS = "max_seconds"
    MAX_LMO = "max_lmo"
    CALLBACK_STOP = "callback_stop"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    STATIONARY = "stationary"
    CONTRADICTION = "contradiction"
    NONFINITE = "nonfinite"
    ENGINE_FAILURE = "engine_failure"
    DATA_END = "data_end"

    @property
    def advice(self) -> str:
        """One or two sentences for the user."""
        return _ADVICE[self]


_LIMIT = "The {} limit was reached first: raise {}, or tol if this gap will do; the best point so "
_LIMIT += "far is returned with its certificate."

_ADVICE = {
    Status.CONVERGED: "The certified gap is within the tolerance.",
    Status.MAX_ROUNDS: _LIMIT.format("round", "max_rounds"),
    Status.MAX_SECONDS: _LIMIT.format("time", "max_seconds"),
    Status.MAX_LMO: _LIMIT.format("oracle", "max_lmo"),
    Status.CALLBACK_STOP: "The callback raised StopIteration.",
    Status.INTERRUPTED: "Interrupted from the keyboard; the best point so far is returned with its "
    "certificate.",
    Status.STALLED: "The gap is at the level of rounding errors and cannot be certified smaller: "
    "use float64, rescale f, or accept this gap.",
    Status.STATIONARY: "f is not declared convex, and no first-order step from the returned point "
    "promises more than the tolerance: the point is stationary, not necessarily a minimum.",
    Status.CONTRADICTION: "The gradients, oracle answers and values of this run contradict each "
    "other, so no gap can be certified: wolfpack.check(f, K) tells which of them is wrong.",
    Status.NONFINITE: "The objective returned a NaN or infinite value or gradient: check it near "
    "the returned point, which is the best before that happened.",
    Status.ENGINE_FAILURE: "No worker is left: restart the engine and continue from the "
    "checkpoint with wolfpack.resume.",
    Status.DATA_END: "The source of minibatches ended before a tolerance or a limit was met.",
}
