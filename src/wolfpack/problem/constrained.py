"""What solvers see of a problem: min f(x) over x in K.

Sign convention, stated once for the whole library: a linear oracle ``lmo(g)`` returns a
*minimiser* of <g, v> over K, and ``support(u)`` is s(u) = max over v in K of <u, v>. Hence
s(-y) = -<y, lmo(y)>.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, all_finite, epsilon, fetch, inner, inners, is_double, norm, to_host
from .errors import CapabilityError, NonFiniteError
from .evaluation import Counts, Evaluation, Pending, Violation
from .protocols import Carrier, Objective, Region
from .rounding import (
    FAR,
    MODEL,
    UNIT,
    Minorant,
    Scatter,
    accumulation,
    sum_unit,
    underflow,
    unit_of,
)


@dataclass(frozen=True)
class Problem:
    """An objective, a set, and the count of what was asked of them.

    Attributes
    ----------
    objective : Objective
        The function f.
    set : Region
        The set K.
    L : float or None
        The user's smoothness constant.
    convex : bool or None
        Whether f is convex; None where nobody has said so.
    counts : Counts
        Evaluations and oracle calls so far.
    """

    objective: Objective
    set: Region
    L: float | None = None
    counts: Counts = field(default_factory=Counts)
    convex: bool | None = True

    def evaluate(self, x: Array) -> Evaluation:
        """Evaluate f at ``x``, count it, and refuse what is not finite.

        f may be infinite or NaN outside its domain, a convex set. Solvers take the refusal as "too
        far" and shorten their step (see `wolfpack.solvers.parts.domain`).
        """
        at = self.evaluate_lazily(x)
        if type(at.value) is not float and isinstance(at.value, Pending):
            at = self.settle(at, x)[0]
        if self.counts.limited:
            self.counts.latest = x, at
        return at

    def evaluate_product(
        self, carrier: Carrier, x: Array, product: Array, drift: float
    ) -> Evaluation:
        """Evaluate f at ``x`` from a carried product, count it, and refuse what is not finite."""
        self.counts.evaluated()
        at = carrier.evaluate(x, product, drift)
        self._refuse(at, x, False)
        if self.counts.limited:
            self.counts.latest = x, at
        return at

    def evaluate_lazily(self, x: Array) -> Evaluation:
        """Evaluate f at ``x`` and count it, without waiting for the value on another device.

        What is known and not finite is refused here, the rest by `settle`.
        """
        self.counts.evaluated()
        f = self.objective
        at = f.evaluate(x) if type(x) is np.ndarray else f.evaluate_lazily(x)
        if type(at.value) is float or not isinstance(at.value, Pending):
            self._refuse(at, x, f.checked)
        return self._with_tangent(x, at) if f.number_dual else at

    def _with_tangent(self, x: Array, at: Evaluation) -> Evaluation:
        """Replace a dual point that is a number by three numbers, which average like it.

        They are <x - c, grad f(x)> - f(x), the norm of the gradient and |f(x)|, where c is a point
        of K if K is far from the origin, and 0 otherwise. The last two say how large the terms are
        whose rounding errors the first one has.
        """
        value, gradient, centre = float(at.value), at.gradient, self.centre
        size = abs(value)
        if self.counts.largest < size < math.inf:
            self.counts.largest = size
            self.counts.scale = self.counts.scale or size
        from_centre = x if centre is None else x - centre
        if type(gradient) is np.ndarray:
            slope, length = inner(from_centre, gradient), norm(gradient)
        else:  # in one transfer
            slope, square = inners((from_centre, gradient), (gradient, gradient))
            length = math.sqrt(square)
        return Evaluation(at.value, gradient, np.array([slope - value, length, size]), at.drift)

    @cached_property
    def centre(self) -> Array | None:
        """A point of K where K is far from the origin, None (the origin) elsewhere."""
        K = self.set
        return K.start() if K.radius > FAR * K.diameter else None

    def known(self, x: Array) -> Evaluation:
        """Return what f tells of ``x``: all of it, or where gradients are random a value or NaN."""
        self.counts.reread()
        if self.objective.has_gradients:
            return self.evaluate(x)
        self.counts.evaluated(int(self.objective.has_values), 0)
        return self.objective.evaluate(x)

    def value(self, x: Array) -> float:
        """Return f(x), counted; a callable computes the gradient with it, which is counted too."""
        self.counts.evaluated(1, int(self.objective.joint))
        return self.objective.value(x)

    def gradient(self, x: Array) -> Array:
        """Return grad f(x), counted; a callable computes the value with it, counted too."""
        self.counts.evaluated(int(self.objective.joint), 1)
        return self.objective.gradient(x)

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        """Return t -> <grad f(x + t d), d>, each slope counted as a gradient."""
        along, values = self.objective.slope_along(x, d), int(self.objective.joint)

        def counted(t: float) -> float:
            self.counts.evaluated(values, 1)
            return along(t)

        return counted

    def settle(
        self, at: Evaluation, x: Array, numbers: Sequence[Array] = ()
    ) -> tuple[Evaluation, list[float]]:
        """Refuse what is not finite; return the evaluation, and numbers, as floats of the host.

        ``x`` is the point of the evaluation. From another device all numbers come in one transfer.
        """
        value = at.value
        if isinstance(value, Pending):
            number, product, *numbers = fetch(value.value, value.product, *numbers)
            at = at._replace(value=number)
            self._refuse(at, x, math.isfinite(product))
        elif not all(type(number) is float for number in numbers):
            numbers = fetch(*numbers)
        return at, list(numbers)

    def _refuse(self, at: Evaluation, x: Array, known: bool) -> None:
        if not (math.isfinite(at.value) and (known or all_finite(at.gradient))):
            raise NonFiniteError("f returned a NaN or infinite value or gradient", x)

    def need_L(self, method: str) -> float:
        """Return L, the user's or else the objective's own, or explain how to provide it."""
        L = self.objective.L if self.L is None else self.L
        if L is None:
            raise CapabilityError(
                f"method {method!r} needs L, the Lipschitz constant of the gradient, and "
                f"{type(self.objective).__name__} does not know its own: pass L=..., or choose a "
                "method that needs none ('fw', 'fw-ls', 'anytime')"
            )
        self.counts.smoothness = L
        return L

    def dual_bound(
        self,
        y: Array,
        dual: Any,
        vertex: Any,
        averaged: bool = False,
        drift: float = 0.0,
        fun: float | None = None,
    ) -> float:
        """Return a proved lower bound on min f over K (Theorem E1 of docs/theory/rounding.md).

        f is at least the affine function of `Objective.minorant`, whose slope is ``y``, and the
        oracle's answer bounds that on K: min f >= level + min <y, v - centre>. The bound is lowered
        by what rounding errors may have added to it.

        Parameters
        ----------
        y : array
            A gradient of f, or an average of gradients.
        dual : float or array
            The dual point of that gradient, or the same average of the dual points.
        vertex : Atoms
            The oracle's answer to ``y``.
        averaged : bool
            Whether ``y`` is an average, which has lost digits in every round.
        drift : float
            That of the evaluation.
        fun : float, optional
            A value of f whose gap is of interest. The bound may then be lower by a hundredth of
            that gap, where this is found faster.
        """
        f, K = self.objective, self.set
        if f.number_dual:
            slope, below = None, self._tangents(dual, y, averaged)
        else:
            slope = f.slope(dual, averaged)
            below = f.minorant(dual, y if slope is None else slope, K)
            if slope is not None:  # its products are those of another slope
                below = below._replace(product=None, length=None)
        if fun is None or below.centre is not None:
            value = K.certify(y, vertex)
        else:
            value = K.certify_near(y, vertex, fun - below.level)
        eps, least, sums = self._double if is_double(y) else self._units(y)
        if below.centre is not None:
            value -= inner(y, below.centre) if below.product is None else below.product
        error = below.error + least + UNIT * (abs(value) + 2.0 * abs(below.level))
        error += sums * (norm(y) if below.length is None else below.length) * K.radius
        if drift:
            error += f.drift_error(drift, dual, K)
        if slope is not None:
            # <slope, v - c> >= <y, v - c> - ||slope - y|| max ||v - c||
            reach = K.radius if below.centre is None else K.diameter
            here = y if type(slope) is type(y) else to_host(y)
            error += (1.0 + 2.0 * eps) * norm(slope - here) * reach
        bound = value + below.level - error
        if bound >= self.counts.bound:
            self.counts.bound, self.counts.rounding = bound, error
            if self._priced:
                self.counts.slope = y
        return bound

    def unproved_bound(self, y: Array, dual: Any, vertex: Any) -> float:
        """Return what `dual_bound` would be if the oracle and all sums were exact.

        It costs no proof, so that a run can tell beforehand whether one is worth its price.
        """
        least = float(vertex.dot(y))
        if not self.objective.number_dual:
            return least - self.objective.conjugate_bound(dual)
        if self.centre is not None:
            least -= inner(y, self.centre)
        return least - float(dual[0])

    @cached_property
    def _priced(self) -> bool:
        """Whether K tells prices of its constraints, which the slope of the best bound gives."""
        return self.set.has("prices")

    def _units(self, y: Array) -> tuple[float, float, float]:
        """Return the precision of y, the size below which it underflows, and the error of sums."""
        eps = epsilon(y)
        sums = 4.0 * eps + 2.0 * accumulation(self.set.dimension) * sum_unit(y)
        return eps, underflow(eps), sums

    @cached_property
    def _double(self) -> tuple[float, float, float]:
        """The same for NumPy's double precision."""
        return self._units(np.empty(0))

    def _tangents(self, dual: Array, y: Array, averaged: bool) -> Minorant:
        """Return the average of tangents whose numbers `_with_tangent` has made."""
        number, slopes, values = dual.tolist()
        K, centre, unit = self.set, self.centre, unit_of(y)
        slopes *= K.radius if centre is None else K.diameter  # now of <grad f(x), v - centre>
        relative = self._relative_error(unit) + 4.0 * unit + accumulation(K.dimension) * sum_unit(y)
        if averaged:  # each round has rounded y and the number once more
            relative += 2.0 * accumulation(self.counts.njev) * unit
        error = relative * (slopes + values) + self._user_error(values, unit)
        if self.objective.gradient_error or self.counts.slope_noise:
            error += self._slope_error
        return Minorant(-number, centre, error)

    def value_error(self, x: Array, value: float, at: Evaluation) -> float:
        """Return a bound on the rounding error of ``value``, f at ``x``, evaluated as ``at``."""
        if at.gradient is None:
            return 0.0  # no bound is claimed beside it
        if not self.objective.number_dual:
            return self.objective.value_error(x, at, self.set)
        return self._user_error(abs(value), unit_of(at.gradient))

    def outside(self, x: Array, at: Evaluation) -> float:
        """Return how much f may fall below its minimum where rounding has moved x out of K.

        Each round may have moved x by a rounding unit of its own size.
        """
        drift = 2.0 * accumulation(self.counts.njev) * unit_of(x) * self.set.radius
        return drift * norm(at.gradient)

    def _error_at(self, x: Array, at: Evaluation) -> float:
        """Return the rounding errors of f at ``x`` and of its tangent there, on K."""
        f, K = self.objective, self.set
        if f.number_dual:
            tangent = self._tangents(at.dual, at.gradient, averaged=False)
        else:
            tangent = f.minorant(at.dual, at.gradient, K)
        drift = f.drift_error(at.drift, at.dual, K) if at.drift else 0.0
        return tangent.error + drift + self.value_error(x, at.value, at)

    def _relative_error(self, unit: float) -> float:
        """Return the relative error of a user's values and of the entries of its gradients."""
        return max(self.objective.error, MODEL * unit)

    def _user_error(self, size: float, unit: float) -> float:
        """Return the error of a user's values of this size (docs/theory/rounding.md, model M).

        Beside the relative error rho there is what remains when f is a sum of squares whose terms
        cancel: with the first value F of the run, errors rho sqrt(F) of the roots.
        """
        rho, scale = self._relative_error(unit), self.counts.scale
        absolute = self.objective.absolute_error + self.counts.noise
        return rho * (size + math.sqrt(size * scale) + rho * scale) + absolute

    @property
    def _slope_error(self) -> float:
        """What the absolute error of a user's gradients may add to a tangent on K."""
        return (self.objective.gradient_error + self.counts.slope_noise) * self.set.diameter

    def allow_for(self, seen: Scatter, x: Array, unit: float) -> None:
        """Take measured errors of values and gradients of f; bounds so far are too high by them.

        What is assumed or declared of errors at values and gradients of this size is known already.
        Only what exceeds it counts, and only if it exceeds what has been measured before by more
        than half. They were seen near x, and ``unit`` is the unit roundoff of gradients.
        """
        counts, before = self.counts, self.counts.noise + self._slope_error
        unexplained = seen.value - (self._user_error(seen.largest, unit) - counts.noise)
        slope = max(seen.gradient, seen.constant) - self._relative_error(unit) * seen.steepest
        slope -= self.objective.gradient_error
        if unexplained > 1.5 * counts.noise or slope > 1.5 * counts.slope_noise:
            counts.noise = max(counts.noise, unexplained)
            counts.slope_noise = max(counts.slope_noise, slope)
        added = counts.noise + self._slope_error - before
        counts.rounding += added
        counts.bound -= added
        counts.owed += added
        counts.measured += added

    def violation(
        self, at: Evaluation, x: Array, at_next: Evaluation, x_next: Array
    ) -> Violation | None:
        """Return what the evaluations at two points prove wrong, None if nothing."""
        step = x_next - x
        if type(step) is np.ndarray:
            slope, slope_back = inner(at.gradient, step), inner(at_next.gradient, step)
        else:  # in one transfer
            slope, slope_back = inners((at.gradient, step), (at_next.gradient, step))
        L = self.counts.smoothness if self.L is None else self.L
        change = at_next.value - at.value - slope
        lowest = min(change, at.value - at_next.value + slope_back)  # below either tangent
        if lowest >= 0.0 and L is None:
            return None
        size = abs(at.value) + abs(at_next.value) + abs(slope) + abs(slope_back)
        eps = epsilon(at.gradient)
        noise = 1e3 * (eps * (size + self.counts.largest) + underflow(eps))
        most = math.inf if L is None else 0.5 * L * inner(step, step) * (1 + 1e-6)
        if lowest < -noise or change > most + noise:
            # Where f and its gradient vanish together, only the rounding of x itself remains.
            slopes = norm(at.gradient) + norm(at_next.gradient)
            noise += 1e3 * max(eps, epsilon(x)) * slopes * norm(x)
            noise += 4.0 * (self._error_at(x, at) + self._error_at(x_next, at_next))
        if lowest < -noise:
            return Violation("convexity")
        if L is not None and change > most + noise:
            return Violation("L", L)
        return None
