"""What one evaluation of an objective returns, and what a run counts."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays import Array
from .budget import LimitReached


class Evaluation(NamedTuple):
    """The value of f at a point, its gradient, and the dual point of the certificate.

    Attributes
    ----------
    value : float
        f(x); `Pending` until `Problem.settle` has waited for another device.
    gradient : array
        grad f(x).
    dual : float or array
        A quantity that averages linearly with the gradients and bounds the conjugate: by default
        the number <x, grad f(x)> - f(x) = f*(grad f(x)); for f(x) = loss(Ax) the vector
        grad loss(Ax). See `Objective.conjugate_bound`.
    drift : float
        By how much a product with f's matrix, from which all the rest was computed, may differ from
        that at x, because it was carried over steps; 0 for a fresh one.
    """

    value: Any
    gradient: Array
    dual: Any
    drift: float = 0.0


class CompositeEvaluation(NamedTuple):
    """The value of F = G + H at a point, and what is known of G there.

    Attributes
    ----------
    value : float
        F(y), NaN where G does not tell its values.
    gradient : array or None
        grad G(y), None where only random gradients are known.
    dual : float, array or None
        G's dual point at y, as in `Evaluation`.
    smooth : float
        G(y).
    beta : float or None
        The smoothness constant that the run relies on at this point; None while it is searched.
    """

    value: float
    gradient: Array | None
    dual: Any
    smooth: float
    beta: float | None = None


class Pending(NamedTuple):
    """A value of f that is still on its device.

    Attributes
    ----------
    value : array, shape ()
        f(x).
    product : array, shape ()
        <x, grad f(x)>, which is not finite if an entry of the gradient is not.
    """

    value: Array
    product: Array


class Violation(NamedTuple):
    """What two evaluations prove wrong: the convexity of f, or a smoothness constant.

    Attributes
    ----------
    what : "convexity", "L" or "beta"
        The property that does not hold.
    constant : float
        The constant that is too small, NaN for convexity.
    """

    what: str
    constant: float = float("nan")


_LIMITS = ("deadline", "max_lmo", "max_rows", "limited", "latest", "asked", "begun")

_begun_lock = threading.Lock()
"""Threads may share the directions of one batch."""


@dataclass
class Counts:
    """How often the objective and the oracle were asked, how often they may be, and what the bounds
    of a run rest on.

    Attributes
    ----------
    nfev, njev, nlmo : int
        Values, gradients and oracle calls so far.
    smoothness : float or None
        The smoothness constant that the method relies on, None if it relies on none.
    rounding : float
        How much the best dual bound was lowered to allow for rounding errors.
    bound : float
        The best dual bound so far.
    slope : array or None
        The gradient, or the average of gradients, of the best bound; kept where K has prices.
    scale : float
        The first value of f that is not 0, in absolute value: the size against which a user's
        function may cancel.
    largest : float
        The largest value of a user's function so far, in absolute value. Nobody is accused of
        contradictions that are tiny beside it.
    noise : float
        What values of a user's function were measured to scatter beyond what is assumed of them.
    slope_noise : float
        The same for its gradients, in the Euclidean norm.
    measured : float
        What both add to the gap.
    owed : float
        By how much the run must still lower its best bound because errors were measured.
    bias : float or None
        The estimate of s_1(0) that the run uses, None until it has made one.
    deadline : float
        When the time of the run is over, by `time.perf_counter`.
    max_lmo : float
        How many oracle calls are allowed.
    max_rows : float
        How many observations the rounds of a composite problem may read.
    limited : bool
        Whether there is a deadline or a limit on oracle calls; without, nothing is looked at.
    latest : tuple or None
        The last point and f there, kept while there are limits.
    rows : int
        Observations that were read so far: by random gradients, values and whole gradients.
    per_pass : int
        Observations of a pass over the data; 0 where they are not counted.
    asked, begun : int
        Calls of the last question, and how many of them were begun one by one under a deadline.
    """

    nfev: int = 0
    njev: int = 0
    nlmo: int = 0
    smoothness: float | None = None
    rounding: float = 0.0
    bound: float = float("-inf")
    slope: Any = None
    scale: float = 0.0
    largest: float = 0.0
    noise: float = 0.0
    slope_noise: float = 0.0
    measured: float = 0.0
    owed: float = 0.0
    bias: float | None = None
    rows: int = 0
    per_pass: int = 0
    deadline: float = math.inf
    max_lmo: float = math.inf
    max_rows: float = math.inf
    limited: bool = False
    latest: tuple[Array, Any] | None = None
    asked: int = 0
    begun: int = 0

    def allow(self, deadline: float, max_lmo: float) -> None:
        """Set the limits that `evaluated`, `ask` and `check_time` keep from now on."""
        self.deadline, self.max_lmo = deadline, max_lmo
        self.limited = deadline < math.inf or max_lmo < math.inf

    def evaluated(self, values: int = 1, gradients: int = 1) -> None:
        """Count values and gradients of f that are about to be computed, while there is time."""
        if self.limited:
            self.check_time()
        self.nfev += values
        self.njev += gradients

    def read(self, rows: int) -> None:
        """Count a random gradient that reads so many observations, while there is time for it."""
        if self.limited:
            self.check_time()
        self.check_rows(self.rows + rows)
        self.njev += 1
        self.rows += rows

    def reread(self) -> None:
        """Count a pass over the data, for a value or a proof."""
        self.rows += self.per_pass

    @property
    def passes(self) -> float:
        """Passes over the data so far, NaN where nobody knows how long one is."""
        return self.rows / self.per_pass if self.per_pass else math.nan

    def ask(self, calls: int = 1) -> None:
        """Count oracle calls that are about to be made; none is if they are more than allowed."""
        if self.limited:
            self.check_calls(calls)
        self.asked, self.begun = calls, 0
        self.nlmo += calls

    def begin_call(self) -> None:
        """Note that one more call of the last question begins; none does when time is over."""
        with _begun_lock:
            try:
                self.check_time()
            except LimitReached:
                self.cut(self.begun)
                raise
            self.begun += 1

    def cut(self, made: int) -> None:
        """Count only ``made`` calls of the last question, whose others are never made."""
        self.nlmo -= max(0, self.asked - made)
        self.asked = min(self.asked, made)

    def check_calls(self, calls: int) -> None:
        """Raise `LimitReached` unless there is time, and so many more calls are allowed."""
        self.check_time()
        if self.nlmo + calls > self.max_lmo:
            raise LimitReached("max_lmo")

    def check_rows(self, rows: int) -> None:
        """Raise `LimitReached` if a round would make the observations read more than allowed."""
        if rows > self.max_rows:
            raise LimitReached("max_passes")

    def check_time(self) -> None:
        """Raise `LimitReached` if the time of the run is over."""
        if self.deadline < math.inf and time.perf_counter() >= self.deadline:
            raise LimitReached("max_seconds")

    def saved(self) -> dict[str, Any]:
        """Return the numbers that a checkpoint keeps, without limits, which a resumed run sets."""
        left_out = (*_LIMITS, "slope")
        return {name: value for name, value in vars(self).items() if name not in left_out}
