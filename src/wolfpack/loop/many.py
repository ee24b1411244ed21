"""The run of a batch: rounds for all problems at once, and for each its own certificate and end.

Certificates are those of docs/theory/rounding.md, row by row. They are computed at rounds that
depend on nothing but their number, so that a problem is certified at the same rounds in every
batch. Problems that have ended leave the batch when they are many enough to be worth a copy.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    Repeated,
    concat,
    epsilon,
    is_foreign,
    like,
    namespace,
    row_norms,
    rows,
    to_host,
)
from ..checks import BatchAudit, Verdict
from ..objectives.batched import weighed
from ..problem import LimitReached, accumulation, sum_unit, underflow
from ..problem.rounding import UNIT
from ..solvers.batched import BatchedMethod, face_steps
from .many_result import ManyResult, as_statuses
from .monitor import CLAIMS, noise_remark
from .progress import Progress
from .status import Status
from .stopping import Limits

EVERY = 8
"""Rounds between certificates, at least; later ones are farther apart, by an eighth of all. Where f
measures the distance from a point, the first round has one too: it is the last one."""

FACE_FROM = {False: 8, True: 40}
"""Rounds after which the faces of quadratics over bounds are searched for the minimum: on the host,
and on devices, where small systems are slow and many gradient steps are not."""

_IDLE = 12
"""Certificates in a row without progress after which a problem is stalled."""

_LEAVING = {False: 0.2, True: 0.5}
"""Share of ended problems from which the others are copied: on the host, and on devices, where
every new shape may have to be compiled."""

_LARGE = 2**26
"""Entries of the second derivatives from which recorded rounds are worth a second record without
the problems that have ended. A record takes as long as some ten rounds of smaller batches."""

Certificate = tuple[np.ndarray, ...]


@dataclass
class Ledger:
    """What is known of every problem, on the host: the best value and bound, and its end."""

    count: int
    limits: Limits
    fun: np.ndarray = field(init=False)
    value_error: np.ndarray = field(init=False)
    bound: np.ndarray = field(init=False)
    bound_error: np.ndarray = field(init=False)
    status: np.ndarray = field(init=False)
    open: np.ndarray = field(init=False)
    idle: np.ndarray = field(init=False)
    counts: dict[str, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        n = self.count
        self.fun, self.value_error = np.full(n, np.inf), np.zeros(n)
        self.bound, self.bound_error = np.full(n, -np.inf), np.zeros(n)
        self.status, self.idle = np.full(n, None, dtype=object), np.zeros(n, dtype=int)
        self.open = np.ones(n, dtype=bool)  # which problems have not ended
        self.counts = {name: np.zeros(n, dtype=int) for name in ("nit", "nfev", "njev", "nlmo")}

    @property
    def lower_bound(self) -> np.ndarray:
        """Numbers proved to be at most the minima, as in `wolfpack.loop.tracker`."""
        with np.errstate(invalid="ignore"):
            floor = self.value_error + self.bound_error
            low = np.minimum(self.bound - self.value_error, self.fun - floor)
            proved = np.isfinite(self.bound) & np.isfinite(self.fun)
            proved &= self.status != Status.CONTRADICTION
            return np.where(proved, np.nextafter(low, -np.inf), -np.inf)

    @property
    def gap(self) -> np.ndarray:
        """Certified gaps, infinite where there is no bound."""
        low = self.lower_bound
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(low), self.fun - low, np.inf)

    def enter(self, ids: np.ndarray, found: Certificate) -> np.ndarray:
        """Take values and bounds of some problems; return which values are the best so far."""
        values, errors, bounds, lost, drift = found
        better = self.open[ids] & (values < self.fun[ids])
        self.fun[ids[better]] = values[better]
        self.value_error[ids[better]] = errors[better]
        tighter = self.open[ids] & (bounds > self.bound[ids])
        self.bound[ids[tighter]] = bounds[tighter]
        self.bound_error[ids[tighter]] = lost[tighter]
        self.idle[ids] = np.where(better | tighter, 0, self.idle[ids] + 1)
        self._judge(ids, values, drift)
        return better

    def _judge(self, ids: np.ndarray, values: np.ndarray, drift: np.ndarray) -> None:
        """End the problems that have converged, cannot go on or contradict themselves."""
        fun, gap = self.fun[ids], self.gap[ids]
        floor = self.value_error[ids] + self.bound_error[ids]
        goal = self._goal(fun)
        with np.errstate(invalid="ignore"):
            excess = self.bound[ids] - fun - self.value_error[ids]
            contradicted = (excess > floor) & (excess > drift)
            stalled = ((goal < floor) & (gap <= 2.0 * floor)) | (self.idle[ids] >= _IDLE)
        self.end(ids[~np.isfinite(values) & ~np.isfinite(fun)], Status.NONFINITE)
        self.end(ids[contradicted], Status.CONTRADICTION)
        self.end(ids[gap <= goal], Status.CONVERGED)
        self.end(ids[stalled], Status.STALLED)

    def allow_for(self, values: np.ndarray, slopes: np.ndarray) -> None:
        """Count errors of values and of tangents that were measured before gaps are handed out.

        Problems whose gap is not small enough then have stalled, and so have those that contradict
        themselves by no more than these errors.
        """
        self.value_error += values
        self.bound -= values + slopes
        self.bound_error += values + slopes
        noisy = values + slopes > 0.0
        with np.errstate(invalid="ignore"):
            excess = self.bound - self.fun - self.value_error
            explained = excess <= self.value_error + self.bound_error
        self.status[noisy & explained & (self.status == Status.CONTRADICTION)] = Status.STALLED
        missed = (self.status == Status.CONVERGED) & (self.gap > self._goal(self.fun))
        self.status[noisy & missed] = Status.STALLED

    def _goal(self, fun: np.ndarray) -> np.ndarray:
        """Return the gaps at which problems with these values have converged."""
        goal = np.full(len(fun), self.limits.tol)
        if self.limits.rtol is not None:
            with np.errstate(invalid="ignore"):
                goal = np.maximum(goal, self.limits.rtol * abs(fun))
        return goal

    def end(self, ids: np.ndarray, status: Status) -> None:
        """Give some problems an end, unless they have one."""
        ended = ids[self.open[ids]]
        self.status[ended], self.open[ended] = status, False


class BatchRun:
    """B problems, their states, and the ledger.

    ``method`` takes the steps (`wolfpack.solvers.batched`).
    ``model`` and ``K`` are batches (`wolfpack.objectives.batched`, `wolfpack.sets.batched`) of the
    problems that are still in the batch; ``ids`` are their numbers. ``audit`` tests a function of
    the user's own; ``remarks`` are what it says, and ``disproved`` of which problems.
    """

    def __init__(
        self,
        method: BatchedMethod,
        model: Any,
        K: Any,
        x: Array,
        limits: Limits,
        began: float,
        audit: BatchAudit | None = None,
    ) -> None:
        self.method, self.audit = method, audit
        self.limits, self.began = limits, began
        self.remarks: list[str] = []
        self.disproved = np.zeros(len(x), dtype=bool)
        self.ledger = Ledger(len(x), limits)
        if audit is not None and limits.max_seconds is not None:
            audit.deadline = began + limits.max_seconds
        self.left: list[tuple[np.ndarray, Array]] = []  # numbers and answers of those that left
        self.ids = self._order(model, K, x)
        self.model, self.K, self.x = model, K, x
        if (self.ids[1:] < self.ids[:-1]).any():
            self.model, self.K, self.x = model.take(self.ids), K.take(self.ids), rows(x, self.ids)
            x = self.x
        self.best = x
        self.faces = 0
        self._counted = 0  # rounds whose oracle calls are in the counts
        self._prepare()
        self.ledger.end(self.ids[~self.model.finite()], Status.NONFINITE)
        self._compact(always=True)

    @staticmethod
    def _order(model: Any, K: Any, x: Array) -> np.ndarray:
        """Return the numbers of the problems in the order in which they are computed.

        One product of all rows with a matrix may round a row in one way here and in another there.
        Where problems share a matrix, their order therefore follows from their data, not from the
        order in which they are given.
        """
        if not (model.mixes and model.compacts):
            return np.arange(len(x))
        key = np.asarray(to_host(model.key() + K.radius + weighed(x)), dtype=np.float64)
        return np.argsort(key, kind="stable")

    def _prepare(self) -> None:
        """Make the function that takes a round of the problems in the batch."""
        method, model, K = self.method, self.model, self.K
        recordable = model.recordable and K.recordable and method.records(K)

        def advance(*arrays: Array) -> Any:
            size = len(method.state._fields)  # random numbers follow, if any
            return method.advance(model, K, method.state(*arrays[:size]), *arrays[size:])

        self._advance = Repeated(advance, recordable)

    def run(self, progress: Progress, callback: Callable[[], object] | None) -> None:
        """Take rounds until every problem has ended."""
        # problems that have ended are computed along, whatever their numbers
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            self._run(progress, callback)

    def _run(self, progress: Progress, callback: Callable[[], object] | None) -> None:
        ledger = self.ledger
        if not len(self.ids):
            return
        k, due = 0, 1 if self.model.isotropic else EVERY
        try:
            state = self._begin()
            while True:
                progress.share(ledger.count - int(ledger.open.sum()), ledger.count, k)
                if callback is not None:
                    callback()
                reached = self._limit(k)
                if reached is not None:
                    ledger.end(self.ids, reached)
                if not ledger.open[self.ids].any():
                    return self._conclude()
                state = self._compacted(state)
                while k < due and self._limit(k) is None:
                    noises = self.method.noises(k, self.K)
                    given = state if noises is None else (*state, noises)
                    state = self.method.state(*self._advance(*given))
                    k += 1
                state = self._check(state, k)
                due = k - k % EVERY + max(EVERY, k // 8)
        except StopIteration:
            ledger.end(self.ids, Status.CALLBACK_STOP)
        except KeyboardInterrupt:
            ledger.end(self.ids, Status.INTERRUPTED)

    def _limit(self, k: int) -> Status | None:
        """Return the limit that is reached; oracle calls are counted for each problem."""
        calls = 0
        if self.limits.max_lmo is not None:
            calls = int(self.ledger.counts["nlmo"][self.ids].max(initial=0))
        calls += self.method.calls(k, self.K) - self.method.calls(self._counted, self.K)
        return self.limits.exceeded(k, time.perf_counter() - self.began, calls)

    def _begin(self) -> Any:
        """Certify the starting points and return the state there."""
        if self.audit is not None:
            found = None
            with contextlib.suppress(LimitReached):  # before the first round, which sees it, too
                found = self.audit.begin(self.x)
            self._take(self.audit, found, self.ledger.open)
        f, g = self._certify(self.x, 0)
        if g.dtype != self.x.dtype:  # certificates of single precision are in double
            f, g = self.model.evaluate(self.x)
        return self.method.begin(self.model, self.K, self.x, f, g)

    def _conclude(self) -> None:
        """Check the user's function at the best points, before gaps are handed out."""
        audit, claims = self.audit, (*CLAIMS, Status.CONTRADICTION)
        if audit is None:
            return
        claimed = np.array([status in claims for status in self.ledger.status])
        claimed &= ~self.disproved
        try:
            if Status.MAX_SECONDS in self.ledger.status:
                raise LimitReached("max_seconds")
            found = audit.conclude(self.answers(), claimed, int(self.ledger.counts["nfev"].max()))
            self._take(audit, found, claimed)
            values, slopes = audit.scatter(self.answers(), claimed & ~self.disproved)
        except LimitReached:
            self.remarks.append("The time was over before the last check of f.")
            return self._take(audit, None, claimed)
        self._take(audit, None, claimed)
        if values.any() or slopes.any():
            self.ledger.allow_for(values, slopes)
            self.remarks.append(noise_remark(float(values.max()), float(slopes.max())))

    def _take(self, audit: BatchAudit, found: Verdict | None, claimed: np.ndarray) -> None:
        """Withdraw certificates that a finding is about, and count what the checks have taken."""
        for name in ("nfev", "njev"):
            self.ledger.counts[name][claimed] += audit.evaluations
        audit.evaluations = 0
        if found is not None:
            self.disproved |= found.wrong
            self.ledger.status[found.wrong] = Status.CONTRADICTION
            self.ledger.open[found.wrong] = False
            self.remarks.append(str(found))

    def _check(self, state: Any, k: int) -> Any:
        """Search the faces, certify, and restart from the gradients that are accurate."""
        x, moved = self._searched(state, k)
        values, slopes = self._certify(x, k)
        other = self.method.second(state)
        if other is not None:
            self._certify(other, k)
        if not self.model.affine:
            return state
        if slopes.dtype != x.dtype:
            slopes = namespace(x).astype(slopes, x.dtype)
            values = namespace(x).astype(values, x.dtype)
        if moved:
            return state.at_rest(x, values, slopes, namespace(x).isfinite(values))
        # gradients of quadratics were added up along the way; the certificate has an accurate one
        return self.method.refreshed(state, values, slopes)

    def _searched(self, state: Any, k: int) -> tuple[Array, bool]:
        """Return the points after a search of the faces, and whether there was one."""
        x, bounds, H = state.x, self.K.bounds(), self.model.hessian
        searched = self.method.searches_faces and k >= FACE_FROM[is_foreign(x)]
        if not searched or bounds is None or H is None:
            return x, False
        steps = min(12 * 2**self.faces, 4 * self.K.dimension)
        found = face_steps(H, x, state.g, bounds, steps)
        self.faces += 1
        good = namespace(x).all(namespace(x).isfinite(found), axis=1)
        return namespace(x).where(good[:, None], self.K.project(found), x), True

    def _certify(self, x: Array, k: int) -> tuple[Array, Array]:
        """Enter values and bounds at some points into the ledger; return values and gradients."""
        ledger, K = self.ledger, self.K
        found = self.model.certify(x)
        slopes = found.slopes
        at = x if slopes.dtype == x.dtype else namespace(x).astype(x, slopes.dtype)
        least, lost = K.lowest(slopes, at)
        size = row_norms(slopes)
        eps, sums = epsilon(slopes), accumulation(K.dimension) * sum_unit(slopes)
        error = found.errors + lost + (4.0 * eps + 2.0 * sums) * size * K.radius
        error = error + 2.0 * UNIT * (abs(found.levels) + abs(least)) + underflow(eps)
        drift = 2.0 * accumulation(max(1, 2 * k)) * epsilon(x) * K.radius * size
        table = [found.values, found.value_errors, found.levels + least - error, error, drift]
        host = np.asarray(to_host(namespace(x).stack([1.0 * column for column in table])))
        counts = ledger.counts
        here = self.ids[ledger.open[self.ids]]
        rounds = k - counts["nit"][here]
        counts["nit"][here] = k
        counts["nlmo"][here] += 1 + self.method.calls(k, K) - self.method.calls(self._counted, K)
        self._counted = k
        counts["nfev"][here] += 1 + (0 if self.model.affine else 2) * rounds
        counts["njev"][here] += 1 + (1 if self.model.affine else 2) * rounds
        better = ledger.enter(self.ids, tuple(host.astype(np.float64)))
        if better.any():
            chosen = like(better, x) if is_foreign(x) else better
            self.best = namespace(x).where(chosen[:, None], x, self.best)
        return found.values, slopes

    def _compacted(self, state: Any) -> Any:
        """Return the state without the problems that have ended, if they are many."""
        open_ = self.ledger.open[self.ids]
        share = 1.0 - open_.mean()
        if share == 0.0 or not self.model.compacts or share < _LEAVING[is_foreign(self.best)]:
            return state
        if self._advance.is_recorded and len(self.ids) * self.K.dimension**2 < _LARGE:
            return state
        kept = np.flatnonzero(open_)
        self._compact()
        return self.method.state(*(rows(part, kept) for part in state))

    def _compact(self, always: bool = False) -> None:
        open_ = self.ledger.open[self.ids]
        if open_.all() or not self.model.compacts:
            return
        kept, gone = np.flatnonzero(open_), np.flatnonzero(~open_)
        self.left.append((self.ids[gone], rows(self.best, gone)))
        self.ids, self.best, self.x = self.ids[kept], rows(self.best, kept), rows(self.x, kept)
        self.model, self.K = self.model.take(kept), self.K.take(kept)
        self._prepare()

    def answers(self) -> Array:
        """Return the best points of all problems, in their order."""
        parts = [*self.left, (self.ids, self.best)]
        order = np.argsort(np.concatenate([ids for ids, _ in parts]), kind="stable")
        return rows(concat([x for _, x in parts]), order)

    def result(self, x: Array, message: str) -> ManyResult:
        """Return what is known, with the answers in the shape of the problems."""
        ledger = self.ledger
        fun = np.where(np.isfinite(ledger.fun), ledger.fun, np.nan)
        return ManyResult(
            x=x,
            fun=fun,
            gap=ledger.gap,
            lower_bound=ledger.lower_bound,
            status=as_statuses([*ledger.status]),
            **ledger.counts,
            method=self.method.name,
            message=message,
            seconds=time.perf_counter() - self.began,
        )
