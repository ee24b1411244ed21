r"""Does the gradient belong to f? Changes of f along segments of K against integrals of slopes.

Along the segment from x to x + h d write :math:`\varphi'(t) = \langle \nabla f(x + t d), d\rangle`.
The change of f is the integral of the slopes, which Simpson's rule gives from three of them:

.. math:: f(x + hd) - f(x) \approx \tfrac h6 (\varphi'(0) + 4\varphi'(h/2) + \varphi'(h)).

The rule is exact for cubic f. Its distance from the trapezoidal rule says how far to trust it. No
convexity is assumed, and no point outside K is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import Array, epsilon, inners, like, norm, to_host
from ..problem import NonFiniteError, Violation, underflow
from .finding import Finding

LENGTHS = (2.0**-4, 2.0**-8, 2.0**-12)
"""Parts of a direction that are tried, the next where f bends too much on the one before."""

_RELATIVE = 1e-6
"""Relative error of slopes that is not looked into. Single precision makes smaller ones."""

_SINGLE = 2.0**-23
_CHANCE = 1e-4  # relative change between two answers to one question that proves chance
"""Relative error of values that is not looked into: f may work in single precision inside."""


class Smooth(Protocol):
    """A smooth function whose evaluations have a ``value`` and a ``gradient``."""

    def evaluate(self, x: Array, /) -> Any:
        """Evaluate the function at x, count it, and refuse what is not finite."""
        ...

    def violation(self, at: Any, x: Array, at_next: Any, x_next: Array, /) -> Violation | None:
        """Return what the evaluations at two points prove wrong, None if nothing."""
        ...


class Slopes(NamedTuple):
    """How much f changes along a segment, and how much its gradient says that it does.

    ``error`` is how far the two may differ although the gradient is right. All three may be arrays,
    with an entry for each of many functions.
    """

    change: Any
    promised: Any
    error: Any

    @property
    def wrong(self) -> Any:
        """Whether the two differ by more than the error."""
        return abs(self.change - self.promised) > self.error

    @property
    def conclusive(self) -> Any:
        """Whether a gradient that is off by a few per cent would be noticed."""
        noticed = 50.0 * self.error
        return (noticed <= abs(self.change)) | (noticed <= abs(self.promised))

    @property
    def flat(self) -> Any:
        """Whether f does not change at all, as its gradient says."""
        return (self.change == 0.0) & (self.promised == 0.0)

    @property
    def ratio(self) -> float:
        """The promised change as a multiple of the true one."""
        return self.promised / self.change if self.change else math.inf


def measure(smooth: Smooth, x: Array, at: Any, d: Array, h: float) -> Slopes | None:
    """Compare slopes and values between x and x + h d; None where f is not finite there.

    It takes two evaluations, which are counted.
    """
    try:
        middle, end = [smooth.evaluate(x + t * d) for t in (0.5 * h, h)]
    except NonFiniteError:
        return None
    pairs = [(one.gradient, d) for one in (at, middle, end)]
    eps = max(epsilon(at.gradient), epsilon(x), precision(at.value, middle.value, end.value))
    # the points themselves are rounded, which moves f by its slopes there
    moved = max(norm(at.gradient), norm(end.gradient)) * norm(x)
    slopes = [h * slope for slope in inners(*pairs)]
    return compare((at.value, end.value), slopes, moved, largest_value(smooth), eps)


def compare(
    values: Sequence[Any], slopes: Sequence[Any], moved: Any, largest: Any, eps: float
) -> Slopes:
    """Compare the values at two ends with the slopes at one end, in the middle and at the other.

    ``moved`` is the size of slopes times that of the points, ``largest`` that of the values of the
    run. All numbers may be arrays, with an entry for each of many functions.
    """
    first, central, last = slopes
    simpson = (first + 4.0 * central + last) / 6.0
    size = (abs(first) + 4.0 * abs(central) + abs(last)) / 6.0
    bend = abs(0.5 * (first + last) - simpson)
    total = abs(values[0]) + abs(values[1])
    rounding = eps * (total + moved)
    error = 2.0 * bend + max(_RELATIVE, 1e3 * eps) * size + 1e3 * (rounding + underflow(eps))
    error = error + 8.0 * _SINGLE * total + 1e3 * eps * largest
    return Slopes(values[1] - values[0], simpson, error)


def disproof(smooth: Smooth, x: Array, at: Any, d: Array) -> Slopes | None:
    """Return what proves the gradient wrong along d, None if nothing does.

    ``x + d`` is a point of K. Two evaluations suffice where f is smooth. What looks wrong is
    measured again on a shorter segment, and compared with the noise of f.
    """
    for i, h in enumerate(LENGTHS):
        found = measure(smooth, x, at, d, h)
        if found is None or not (found.wrong or found.conclusive or found.flat):
            continue
        if not found.wrong:
            return None
        again = measure(smooth, x, at, d, h / 8)
        if again is None or not again.wrong:
            continue
        scatter = noise(smooth, x, at, d, h / 8)
        if all(abs(s.change - s.promised) > 30.0 * scatter for s in (found, again)):
            return again if i == 0 and again.conclusive else found
        return None
    return None


def noise(smooth: Smooth, x: Array, at: Any, d: Array, h: float) -> float:
    """Return how much values of f scatter between x and x + h d; infinity outside its domain.

    Third differences of neighbouring values are next to nothing for a smooth f. What remains of
    them is rounding, at whatever precision f is computed inside, or chance.
    """
    try:
        values = np.array([smooth.evaluate(x + j / 8 * h * d).value for j in range(8)])
    except NonFiniteError:
        return math.inf
    rounding = max(_SINGLE, precision(*values)) * float(abs(values).max())
    rounding += 1e3 * float(np.finfo(np.float64).eps) * largest_value(smooth)
    return max(abs(float(values[0]) - at.value), float(abs(np.diff(values, 3)).max()), rounding)


def chance(smooth: Smooth, x: Array, at: Any, function: str = "f") -> Finding | None:
    """Return a finding if the function answers x at random.

    It is asked again, and if the answer differs from the run's once more: a function that has
    changed during the run is not random.
    """
    declared = getattr(smooth, "objective", None)
    again = smooth.evaluate(x)
    if _same(declared, x, at, again) or _same(declared, x, again, smooth.evaluate(x)):
        return None
    return Finding(
        "values",
        f"{function} is random: at one point it returned {float(at.value):.6g}, and then "
        f"{float(again.value):.6g} or another gradient. No gap can be certified. Pass a callable "
        "(x, rng) -> random gradient, or wolfpack.objectives.Stochastic, which declares its "
        "variance; minimize then averages the noise out.",
    )


def _same(declared: Any, x: Array, at: Any, again: Any) -> bool:
    """Tell whether rounding in another order, or declared errors, explain a difference."""
    size = abs(float(at.value)) + abs(float(again.value)) + norm(x) * norm(at.gradient)
    # where the gradient all but vanishes, its rounding errors are of the size of f's
    least = 1e-2 * size / (1.0 + norm(x))
    change = norm(again.gradient - at.gradient)
    share = max(_CHANCE, 4.0 * getattr(declared, "error", 0.0))
    absolute, slopes = (
        2.0 * getattr(declared, name, 0.0) for name in ("absolute_error", "gradient_error")
    )
    values = abs(float(again.value) - float(at.value)) <= share * size + absolute
    return values and change <= share * (norm(at.gradient) + least) + slopes


def largest_value(smooth: Smooth) -> float:
    """Return the size of the largest value of the run, 0 where it is not kept.

    Near a minimum of 0 values are small, and the terms that cancel in them are not.
    """
    counts = getattr(smooth, "counts", None)
    return 0.0 if counts is None else counts.largest


def precision(*values: float) -> float:
    """Return the precision of values of f: single if all of them are numbers of that type."""
    single = all(float(np.float32(value)) == value for value in values)
    return float(np.finfo(np.float32 if single else np.float64).eps)


def blame_gradient(
    smooth: Smooth,
    x: Array,
    at: Any,
    points: Sequence[Array],
    function: str = "f",
    place: str = "K",
) -> Finding | None:
    """Return what is wrong with the gradient at x, seen from there towards points of K.

    ``function`` and ``place`` are their names in the message.
    """
    seen: list[Slopes] = []
    for point in points:
        found = disproof(smooth, x, at, point - x)
        if found is not None:
            seen.append(found)
        if len(seen) == 3:
            break
    return describe(smooth, x, at, seen, len(points), function, place) if seen else None


def describe(
    smooth: Smooth,
    x: Array,
    at: Any,
    seen: Sequence[Slopes],
    tried: int,
    function: str = "f",
    place: str = "K",
) -> Finding:
    """Put into words what several segments say about the gradient at x."""
    worst = max(seen, key=lambda s: abs(s.change - s.promised))
    text = (
        f"The gradient does not belong to {function}: along a segment of {place} {function} "
        f"changes by {worst.change:.6g}, and its gradient promises {worst.promised:.6g}."
    )
    if all(s.promised == 0.0 for s in seen):
        return Finding("gradient", text + f" It is zero at a point where {function} is not flat.")
    ratios = sorted(s.ratio for s in seen)
    middle = ratios[len(ratios) // 2]
    alike = math.isfinite(middle) and abs(middle - 1.0) > 0.02
    alike = alike and ratios[-1] - ratios[0] <= 2e-3 * max(1.0, abs(middle))
    entries = None if alike and len(seen) > 1 else wrong_entries(smooth, x, at)
    if entries and len(entries) < 0.5 * math.prod(x.shape):
        for where, given, found in entries[:3]:
            text += f" Entry {where} is {given:.6g}, and a central difference gives {found:.6g}."
    elif alike and (len(seen) > 1 or tried == 1):
        text += f" The gradient looks like {middle:.3g} times the true one"
        text += ": its sign is wrong." if abs(middle + 1.0) < 0.02 else "."
    return Finding("gradient", text)


def wrong_entries(
    smooth: Smooth, x: Array, at: Any, most: int = 32
) -> list[tuple[str, float, float]] | None:
    """Return entries of the gradient that central differences contradict, the worst first.

    Entries are (index, given, found). The points lie outside K, where f may not be defined: the
    result is None then. It illustrates a finding and proves nothing. Of more than ``most`` entries
    those are tried that the gradient says are zero, and some others.
    """
    host, g = to_host(x), to_host(at.gradient).reshape(-1)
    order = sorted(range(g.size), key=lambda i: (g[i] != 0.0, (7919 * i) % 10007))[:most]
    scale = float(abs(host).max()) or 1.0
    h = scale * epsilon(x) ** (1.0 / 3.0)
    wrong: list[tuple[str, float, float]] = []
    for i in order:
        step = 0.0 * host
        step.reshape(-1)[i] = h
        try:
            up, down = (smooth.evaluate(x + like(s, x)).value for s in (step, -step))
        except Exception:  # f may refuse points outside K in any way
            return None
        found = (up - down) / (2.0 * h)
        error = 1e-4 * (abs(found) + abs(float(g[i]))) + 1e2 * epsilon(x) * abs(at.value) / h
        if abs(found - float(g[i])) > error:
            index = np_index(i, x.shape)
            wrong.append((index, float(g[i]), found))
    return sorted(wrong, key=lambda e: -abs(e[1] - e[2]))


def np_index(i: int, shape: tuple[int, ...]) -> str:
    """Return the position of entry i of an array of this shape, as users write it."""
    place: list[str] = []
    for size in reversed(shape):
        i, rest = divmod(i, size)
        place.append(str(rest))
    return f"[{', '.join(reversed(place))}]"
