"""A set given by the user's own linear oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..atoms import Atoms, Dense
from ._base import Array, Set, as_positive, as_shape


class Oracle(Set):
    """The convex hull of what a callable answers.

    Parameters
    ----------
    lmo : callable
        ``lmo(g)`` returns a minimiser of <g, v> over the set, an array of shape ``shape``.
    shape : int or tuple of int
        Shape of the points.
    radius : float
        A number that no point's norm exceeds.
    diameter : float, optional
        A bound on the distance of two points; twice the radius by default.
    batched : bool
        Whether ``lmo`` accepts a batch of directions ``(batch, *shape)``.
    contains : callable, optional
        ``contains(x)`` tells whether x is in the set. Without it, membership is judged from the
        oracle: a direction in which x sticks out proves that it is outside.

    Examples
    --------
    >>> import numpy as np
    >>> K = Oracle(lambda g: -np.sign(g), shape=2, radius=np.sqrt(2))
    >>> K.support(np.array([3.0, -4.0]))
    7.0
    """

    def __init__(
        self,
        lmo: Callable[[Array], Any],
        shape: Any,
        radius: float,
        *,
        diameter: float | None = None,
        batched: bool = False,
        contains: Callable[[Array], bool] | None = None,
    ) -> None:
        if not callable(lmo):
            raise TypeError(f"lmo must be callable, found {type(lmo).__name__}")
        self.fun = lmo
        self.shape = as_shape(shape, "shape")
        self.r = as_positive(radius, "radius")
        self.d = 2.0 * self.r if diameter is None else as_positive(diameter, "diameter")
        self.batched = batched
        self.one_by_one = not batched
        self.batch_hint = None if batched else 1
        self.member = contains

    @property
    def radius(self) -> float:
        return self.r

    @property
    def diameter(self) -> float:
        return self.d

    def _lmo(self, g: Array) -> Atoms:
        if g.ndim == len(self.shape) or self.batched:
            return Dense(self._checked(self.fun(g), g), self.shape)
        answers = [self._checked(self.fun(row), row) for row in g]
        return Dense(np.stack(answers), self.shape)

    def _checked(self, answer: Any, g: Array) -> Array:
        array = np.asarray(answer, dtype=np.float64)
        if array.shape != g.shape:
            raise ValueError(f"{self}: lmo must answer shape {g.shape}, found {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{self}: lmo answered NaN or infinite entries")
        return array

    def violation(self, x: Array) -> float:
        if self.member is not None:
            return -1.0 if self.member(x) else np.inf
        # Frank-Wolfe on the squared distance to x: u separates x from K by <u, x> - s(u)
        point, worst = self.start(), -np.inf
        for _ in range(100):
            u = x - point
            length = float(np.linalg.norm(u))
            if length == 0.0:
                return 0.0
            vertex = self._lmo(-u).to_dense()
            worst = max(worst, float(((x - vertex) * u).sum()) / length)
            step = vertex - point
            size = float((step * step).sum())
            if worst > 0 or size == 0.0:
                break
            point = point + min(1.0, max(0.0, float((u * step).sum()) / size)) * step
        return worst

    def __repr__(self) -> str:
        name = getattr(self.fun, "__name__", type(self.fun).__name__)
        return f"Oracle({name}, shape={self.shape})"
