"""Differences of convex functions."""

from __future__ import annotations

from typing import Any

from ..arrays import Array, inner, is_foreign, same_place
from ..problem import Evaluation
from ..problem.checks import shown
from ._base import Objective


class Difference(Objective):
    r"""The difference f - g of two convex functions, which need not be convex.

    `wolfpack.minimize_difference` makes one and minimises it by linearising g. `wolfpack.minimize`
    takes it, too, as a function that is not convex.

    Parameters
    ----------
    f, g : Objective
        The two functions, of points of the same shape. f must be smooth.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> h = Difference(wp.objectives.Quadratic(1.0, np.zeros(2)),
    ...                wp.objectives.Quadratic(3.0, np.zeros(2)))
    >>> h.value(np.array([1.0, 2.0]))
    -5.0
    """

    convex = False

    def __init__(self, f: Objective, g: Objective) -> None:
        for name, part in (("f", f), ("g", g)):
            if not isinstance(part, Objective):
                raise TypeError(
                    f"{name} must be an objective of wolfpack.objectives, found {shown(part)}; "
                    "wolfpack.objectives.as_objective makes one of a function"
                )
        if f.shape is not None and g.shape is not None and tuple(f.shape) != tuple(g.shape):
            raise ValueError(f"f takes x of shape {f.shape}, g of shape {g.shape}")
        if is_foreign(f.like) and is_foreign(g.like):
            same_place(**{"the data of f": f.like, "the data of g": g.like})
        self.f, self.g = f, g
        self.shape = f.shape if g.shape is None else g.shape
        self.like = g.like if f.like is None else f.like
        self.joint = f.joint or g.joint
        self.error = max(f.error, g.error)
        self.absolute_error = f.absolute_error + g.absolute_error
        self.gradient_error = f.gradient_error + g.gradient_error
        self.n = max(f.n, g.n)
        # the curvatures of f - g are between -L_g and L_f
        self.L = None if f.L is None or g.L is None else max(f.L, g.L)

    @property
    def tested(self) -> bool:
        return self.f.tested and self.g.tested

    def evaluate(self, x: Array) -> Evaluation:
        """Return value and gradient at ``x``; the dual point is that of a convex function."""
        first, second = self.f.evaluate(x), self.g.evaluate(x)
        value, gradient = first.value - second.value, first.gradient - second.gradient
        return Evaluation(value, gradient, inner(x, gradient) - value)

    def value(self, x: Array) -> float:
        return self.f.value(x) - self.g.value(x)

    def gradient(self, x: Array) -> Array:
        return self.f.gradient(x) - self.g.gradient(x)

    def curvature(self, x: Array, d: Array) -> float | None:
        first, second = self.f.curvature(x, d), self.g.curvature(x, d)
        return None if first is None or second is None else first - second

    def linearised(self, x: Array) -> Tilted:
        """Return f less the tangent of g at ``x``, up to a constant: convex, and above f - g."""
        return Tilted(self.f, self.g.gradient(x))


class Tilted(Objective):
    """A function less a linear one, f - <s, x>."""

    def __init__(self, f: Objective, s: Array) -> None:
        self.f, self.s = f, s
        self.shape, self.like, self.L, self.n = f.shape, f.like, f.L, f.n
        self.joint, self.error = f.joint, f.error
        self.absolute_error, self.gradient_error = f.absolute_error, f.gradient_error

    @property
    def tested(self) -> bool:
        return self.f.tested

    def evaluate(self, x: Array) -> Evaluation:
        """Return value, gradient and the conjugate's value at ``x``."""
        at = self.f.evaluate(x)
        value, gradient = at.value - inner(self.s, x), at.gradient - self.s
        return Evaluation(value, gradient, inner(x, gradient) - value)

    def value(self, x: Array) -> float:
        return self.f.value(x) - inner(self.s, x)

    def gradient(self, x: Array) -> Array:
        return self.f.gradient(x) - self.s

    def curvature(self, x: Array, d: Array) -> float | None:
        return self.f.curvature(x, d)

    def hessian_product(self, x: Array, d: Array) -> Any:
        return self.f.hessian_product(x, d)
