"""What solvers see of a problem: min f(x) over x in K.

Sign convention, stated once for the whole library: a linear oracle ``lmo(g)`` returns a
*minimiser* of <g, v> over K, and ``support(u)`` is s(u) = max over v in K of <u, v>. Hence
s(-y) = -<y, lmo(y)>.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array, all_finite, epsilon, fetch, inner, inners, norm
from .errors import CapabilityError, NonFiniteError
from .evaluation import Counts, Evaluation, Pending, Violation, underflow
from .protocols import Objective, Region


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
        """Evaluate f at ``x``, count it, and refuse what is not finite."""
        at = self.evaluate_lazily(x)
        if isinstance(at.value, Pending):
            return self.settle(at)[0]
        self._refuse(at, self.objective.checked)
        return at

    def evaluate_lazily(self, x: Array) -> Evaluation:
        """Evaluate f at ``x`` and count it, without waiting for the value on another device."""
        self.counts.nfev += 1
        self.counts.njev += 1
        if type(x) is np.ndarray:
            return self.objective.evaluate(x)
        return self.objective.evaluate_lazily(x)

    def settle(
        self, at: Evaluation, numbers: Sequence[Array] = ()
    ) -> tuple[Evaluation, list[float]]:
        """Refuse what is not finite; return the evaluation, and numbers, as floats of the host.

        From another device all of them come in one transfer.
        """
        value, known = at.value, self.objective.checked
        if isinstance(value, Pending):
            number, product, *numbers = fetch(value.value, value.product, *numbers)
            at, known = at._replace(value=number), math.isfinite(product)
        elif numbers:
            numbers = fetch(*numbers)
        self._refuse(at, known)
        return at, list(numbers)

    def _refuse(self, at: Evaluation, known: bool) -> None:
        if not (math.isfinite(at.value) and (known or all_finite(at.gradient))):
            raise NonFiniteError("f returned a NaN or infinite value or gradient")

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

    def dual_bound(self, y: Array, dual: Any, vertex: Any) -> float:
        """Return a proved lower bound on min f over K (certificate of docs/theory).

        With y a convex combination of gradients of f and ``dual`` the same combination of their
        dual points, f*(y) <= conjugate_bound(dual), hence
        min f >= -f*(y) - s(-y) >= <y, vertex> - slack - conjugate_bound(dual).

        Parameters
        ----------
        y : array
            The averaged gradient.
        dual : float or array
            The averaged dual point.
        vertex : Atoms
            The oracle's answer to ``y``.
        """
        value = self.set.certify(y, vertex)
        conjugate = self.objective.conjugate_bound(dual)
        # The bound is lowered by four rounding units of the two sums above.
        eps = epsilon(y)
        rounding = 4.0 * eps * (abs(value) + abs(conjugate)) + underflow(eps)
        if self.objective.error:
            rounding += self.objective.rounding(dual, self.set)
        self.counts.rounding = rounding
        return value - conjugate - rounding

    def violation(
        self, at: Evaluation, x: Array, at_next: Evaluation, x_next: Array
    ) -> Violation | None:
        """Return what the evaluations at two points prove wrong, None if nothing."""
        step = x_next - x
        slope, slope_back = inners((at.gradient, step), (at_next.gradient, step))
        change = at_next.value - at.value - slope
        lowest = min(change, at.value - at_next.value + slope_back)  # below either tangent
        size = abs(at.value) + abs(at_next.value) + abs(slope) + abs(slope_back)
        eps = epsilon(at.gradient)
        noise = 1e3 * (eps * size + underflow(eps))
        if lowest < -noise:
            # Where f and its gradient vanish together, only the rounding of x itself remains.
            slopes = norm(at.gradient) + norm(at_next.gradient)
            noise += 1e3 * max(eps, epsilon(x)) * slopes * norm(x)
        if lowest < -noise:
            return Violation("convexity")
        L = self.counts.smoothness if self.L is None else self.L
        if L is not None and change > 0.5 * L * inner(step, step) * (1 + 1e-6) + noise:
            return Violation("L", L)
        return None
