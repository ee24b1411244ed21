r"""Step rules of one-vertex methods, as objects: how far to go from x along d.

A rule takes a `SearchLine`, what the round knows, and returns a `Stride`: a step in [0, max_step]
and the rule's memory. Rules are immutable: the solver keeps the memory of the last stride in its
state.

Write :math:`\varphi(t) = f(x + t d)`, so that :math:`\varphi'(0) = \langle \nabla f(x), d\rangle`.

Sources
    F. Pedregosa, G. Negiar, A. Askari, M. Jaggi, Linearly convergent Frank-Wolfe with backtracking
    line-search, AISTATS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from scipy.optimize import brentq

from ...arrays import Array, epsilon, inner
from ...problem import Evaluation, Problem, checks
from ...problem.checks import checked, count, positive
from .carried import Shift
from .domain import between, beyond, shortest_step

_TRIALS = 200
"""Steps that a backtracking search tries before it gives up: f is then not smooth."""

Memory: TypeAlias = float | None
"""What a rule remembers from round to round: an estimate, or nothing, as in round 0."""


class SearchLine(NamedTuple):
    """What a rule knows: the round, the point with f there, and the direction ``d``.

    At ``max_step`` the ray leaves K, or the vertex that is left runs out of weight. ``memory`` is
    that of the rule's last stride. Rules that use no information (``looks = False``) get no d.
    ``carried`` tells the products of f's matrix with x and d, where they are known.
    """

    k: int
    x: Array
    at: Evaluation
    d: Array
    max_step: float = 1.0
    memory: Memory = None
    carried: Shift | None = None


class Stride(NamedTuple):
    """A step, and what the rule remembers for the next round."""

    step: float
    memory: Memory = None


class Rule:
    """A step rule; subclasses are called with a problem and a ray."""

    looks: bool = True

    def check(self, problem: Problem) -> None:
        """Raise unless the problem has what the rule needs."""

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        """Return how far to go along the ray."""
        raise NotImplementedError


@checked(ell=positive)
@dataclass(frozen=True)
class OpenLoop(Rule):
    r"""The step :math:`\ell / (k + \ell)`, which uses no information; 2 is the classical ell."""

    ell: float = 2.0
    looks = False

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        return Stride(min(ray.max_step, self.ell / (ray.k + self.ell)))


@dataclass(frozen=True)
class ShortStep(Rule):
    r"""The minimiser of the quadratic upper bound, :math:`-\varphi'(0) / (L \|d\|^2)`; needs L."""

    def check(self, problem: Problem) -> None:
        problem.need_L("short step")

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        curvature = problem.need_L("short step") * inner(ray.d, ray.d)
        return Stride(clamped(-inner(ray.at.gradient, ray.d), curvature, ray.max_step))


@checked(
    tau=checks.between(1, math.inf, low_open=True, high_open=True),
    eta=checks.between(0, 1, low_open=True),
)
@dataclass(frozen=True)
class Backtracking(Rule):
    r"""The short step with an estimate of L found by doubling.

    The memory is the estimate M. Each round first lowers it to :math:`\eta M`, then multiplies it
    by :math:`\tau` until the step :math:`t = \min(-\varphi'(0) / (M \|d\|^2), t_{\max})` satisfies

    .. math:: \varphi(t) \le \varphi(0) + t \varphi'(0) + \tfrac{M}{2} t^2 \|d\|^2,

    which M = L always does (Pedregosa et al. 2020, Algorithm 2). The guarantees of the short step
    hold with tau L for L.

    Parameters
    ----------
    tau : float
        Factor > 1 by which the estimate grows.
    eta : float
        Factor in (0, 1] by which it falls from round to round.
    """

    tau: float = 2.0
    eta: float = 0.9

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        at, d, max_step, estimate = ray.at, ray.d, ray.max_step, ray.memory
        descent, square = -inner(at.gradient, d), inner(d, d)
        if descent <= 0 or square == 0 or max_step <= 0:
            return Stride(0.0, estimate)
        M = self._first(problem, ray, descent, square) if estimate is None else self.eta * estimate
        # a smaller difference of values of f is rounding
        noise = 8.0 * epsilon(at.gradient) * abs(at.value)
        for _ in range(_TRIALS):
            step = clamped(descent, M * square, max_step)
            change = problem.value(ray.x + step * d) - at.value
            if change <= -step * descent + 0.5 * M * step**2 * square + noise:
                return Stride(step, M)
            M *= self.tau
        return Stride(0.0, estimate)

    def _first(self, problem: Problem, ray: SearchLine, descent: float, square: float) -> float:
        """Return the curvature of f along a thousandth of the ray, a long step's where it is 0."""
        t = 1e-3 * min(ray.max_step, 1.0)
        change = inner(problem.gradient(ray.x + t * ray.d), ray.d) + descent
        known = 0.0 < change < math.inf
        return change / (t * square) if known else descent / (ray.max_step * square)


@checked(xtol=positive)
@dataclass(frozen=True)
class LineSearch(Rule):
    r"""The exact minimiser along d: in closed form for quadratics, else a bracketed root of phi'.

    f is convex, so phi' is nondecreasing and its zero is the minimiser; Brent's method keeps it
    bracketed. Each slope counts as one gradient. Where f is not finite at the end of the ray, the
    bracket is first halved until it ends inside f's domain.

    Parameters
    ----------
    xtol : float
        Accuracy of the search, relative to the longest step.
    """

    xtol: float = 1e-10

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        known = _exact(problem, ray)
        if known is not None:
            return Stride(known)
        max_step, slope_at = ray.max_step, slope_function(problem, ray)
        slopes = {0.0: inner(ray.at.gradient, ray.d), max_step: slope_at(max_step)}
        if slopes[max_step] <= 0:
            return Stride(max_step)
        low, high = _bracket(slopes, slope_at, ray)
        if slopes[high] <= 0:
            return Stride(high)

        # brentq needs opposite signs at both ends, and computing the slopes there a second time
        # might round differently; its xtol is absolute
        def slope(t: float) -> float:
            found = slopes[t] if t in slopes else slope_at(t)
            if found == math.inf:
                raise between(ray.x + t * ray.d)
            return found

        step = brentq(slope, low, high, xtol=self.xtol * max_step, rtol=1e-12)
        return Stride(float(step))


@checked(tol=checks.between(0, 1, low_open=True, high_open=True), max_looks=count)
@dataclass(frozen=True)
class Secant(Rule):
    r"""The zero of the slope phi' by safeguarded secant steps, two or three gradients on most rays.

    .. math:: t_{i+1} = t_i - \varphi'(t_i) \frac{t_i - t_{i-1}}{\varphi'(t_i) - \varphi'(t_{i-1})}

    replaced by the middle of the bracket where it would leave it. The search ends when
    :math:`|\varphi'(t)| \le` ``tol`` :math:`|\varphi'(0)|`. For quadratics the closed form is used.
    The memory is the curvature of f along the last ray, which gives the first guess on the next
    one; the first guess of a run is the whole ray. A guess where f is not finite ends the bracket.

    Parameters
    ----------
    tol : float
        Fraction of the slope that may remain, in (0, 1).
    max_looks : int
        Limit on the gradients of one search.
    """

    tol: float = 1e-2
    max_looks: int = 30

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        known = _exact(problem, ray)
        if known is not None:
            return Stride(known, ray.memory)
        slope_at, max_step = slope_function(problem, ray), ray.max_step
        slope_0, square = inner(ray.at.gradient, ray.d), inner(ray.d, ray.d)
        t = clamped(-slope_0, (ray.memory or 0.0) * square, max_step)
        low, high, bracketed = 0.0, max_step, False
        before, slope_before, slope = 0.0, slope_0, slope_0
        for _ in range(self.max_looks):
            found = slope_at(t)
            if found == math.inf:
                high, bracketed = t, True
                t = 0.5 * (low + high)
                continue
            slope = found
            if abs(slope) <= self.tol * abs(slope_0) or (t == max_step and slope < 0):
                break
            low, high, bracketed = (t, high, bracketed) if slope < 0 else (low, t, True)
            rise = slope - slope_before
            # phi' is nondecreasing, so a secant that is flat or falls is an effect of rounding
            guess = t - slope * (t - before) / rise if rise * (t - before) > 0 else math.inf
            before, slope_before = t, slope
            if low < guess < high:
                t = guess
            else:
                t = 0.5 * (low + high) if bracketed or guess <= low else max_step
        return Stride(t, max(0.0, (slope - slope_0) / (t * square)))


def _exact(problem: Problem, ray: SearchLine) -> float | None:
    """Return the minimiser where it is known at once: no descent, no room, or a quadratic."""
    slope = inner(ray.at.gradient, ray.d)
    if slope >= 0 or ray.max_step <= 0:
        return 0.0
    if ray.carried is not None:
        curvature = ray.carried.curvature(ray.d)
    else:
        curvature = problem.objective.curvature(ray.x, ray.d)
    return None if curvature is None else clamped(-slope, curvature, ray.max_step)


def slope_function(problem: Problem, ray: SearchLine) -> Callable[[float], float]:
    """Return t -> phi'(t), counted as gradients; infinite where f is not finite."""
    if ray.carried is not None:
        along = ray.carried.slope_along(problem)
    else:
        along = problem.slope_along(ray.x, ray.d)

    def finite(t: float) -> float:
        slope = along(t)
        return slope if math.isfinite(slope) else math.inf

    return finite


def _bracket(
    slopes: dict[float, float], slope_at: Callable[[float], float], ray: SearchLine
) -> tuple[float, float]:
    """Return the ends of an interval of finite slopes with the zero of phi' in it.

    ``slopes`` holds the slopes at 0 and at the end of the ray, and takes those that are found. If f
    falls up to the edge of its domain, both ends are the last point found inside.
    """
    low, high = 0.0, ray.max_step
    shortest = shortest_step(high, ray.x)
    while high - low > shortest:
        if slopes[high] < math.inf:
            return low, high
        t = 0.5 * (low + high)
        slopes[t] = slope_at(t)
        low, high = (t, high) if slopes[t] <= 0 else (low, t)
    if slopes[high] < math.inf:
        return low, high
    if low == 0.0:
        raise beyond(ray.x + high * ray.d)
    return low, low


def clamped(descent: float, curvature: float, max_step: float) -> float:
    """Return descent/curvature clamped to [0, max_step], without dividing by zero."""
    if descent <= 0:
        return 0.0
    return max_step if descent >= curvature * max_step else descent / curvature
