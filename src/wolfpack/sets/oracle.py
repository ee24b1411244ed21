"""A set given by the user's own linear oracle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, as_float_array, norm
from ..atoms import Atoms, Dense
from ..problem.checks import (
    Shape,
    as_shape,
    checked,
    extent,
    flag,
    function,
    nonnegative,
    optional,
    shown,
)
from ._base import Set
from ._batch import map_batch
from ._distance import separation


class Oracle(Set):
    """The convex hull of what a callable answers.

    Parameters
    ----------
    lmo : callable
        ``lmo(g)`` returns a minimiser of <g, v> over the set: an array of the shape of g, or
        structured vertices (see `wolfpack.atoms`). It may write to the g it is given, a copy.
    shape : int or tuple of int
        Shape of the points.
    radius : float
        A number that no point's norm exceeds. An answer beyond it is an error.
    diameter : float, optional
        A bound on the distance of two points; twice the radius by default.
    batched : bool
        Whether ``lmo`` also accepts a batch of directions ``(batch, *shape)``; else it is called
        for one after the other, and a batch of its answers is dense.
    inexact : float
        How far answers may be from the best: <g, v> is at most min <g, .> + inexact ||g|| radius.
        Certificates are lowered by it. 0, the default, says that answers are exact.
    contains : callable, optional
        ``contains(x)`` tells whether x is in the set.
    anywhere : bool
        Whether ``lmo`` takes arrays of any library as they are, and answers such arrays; else those
        of PyTorch, JAX or CuPy are copied to the host for it.
    polytope : bool
        Whether K is a polytope and ``lmo`` answers with its vertices. ``method="auto"`` finds out
        by itself otherwise, which costs it a few rounds.

    Notes
    -----
    Certificates assume that the answers are as exact as ``inexact`` says; a lower bound above a
    value of f, which worse answers lead to, ends a run with status ``contradiction``.

    Without ``contains``, membership is judged with the oracle, by Wolfe's algorithm: up to 1,000
    calls, a few in low dimension. A point counts as outside only if a direction proves it.

    Examples
    --------
    >>> K = Oracle(lambda g: -np.sign(g), shape=2, radius=np.sqrt(2))
    >>> K.support(np.array([3.0, -4.0]))
    7.0
    >>> K.contains(np.array([0.9, -1.0])), K.contains(np.array([1.1, 0.0]))
    (True, False)
    """

    @checked(
        lmo=function,
        radius=extent,
        diameter=optional(extent),
        batched=flag,
        contains=optional(function),
        anywhere=flag,
        polytope=flag,
    )
    def __init__(
        self,
        lmo: Callable[[Array], ArrayLike | Atoms],
        shape: Shape,
        radius: float,
        *,
        diameter: float | None = None,
        batched: bool = False,
        inexact: float = 0.0,
        contains: Callable[[Array], bool] | None = None,
        anywhere: bool = False,
        polytope: bool = False,
    ) -> None:
        self.fun = lmo
        self.polytope = polytope
        self.shape = as_shape(shape, "shape")
        self.r = self.radius = radius
        if diameter is not None:
            self.diameter = min(2.0 * self.r, diameter)
        self.inexact = nonnegative(inexact, "inexact")
        self.batched = batched
        self.one_by_one = not batched
        self.batch_hint = None if batched else 1
        self.member = contains
        # without it, judging one point takes many calls of the oracle
        self.cheap_violation = contains is not None
        self.anywhere = anywhere

    @property
    def tested(self) -> bool:
        return False

    def _lmo(self, g: Array) -> Atoms:
        if g.ndim == len(self.shape) or self.batched:
            return self._ask(g)
        answers = map_batch(lambda row: self._ask(row).to_dense(), g)
        return Dense(np.array(answers).reshape(g.shape), self.shape)

    def _ask(self, g: Array) -> Atoms:
        """Return the checked answer to ``g``; what the callable raises is raised, with a note."""
        try:
            answer = self.fun(np.array(g))
        except Exception as error:
            error.add_note(f"raised by the oracle of {self}, for directions of shape {g.shape}")
            raise
        found = answer if isinstance(answer, Atoms) else self._as_array(answer)
        if found.shape != g.shape:
            raise ValueError(f"{self}: lmo must answer shape {g.shape}, found {found.shape}")
        answer = found if isinstance(found, Atoms) else Dense(found, self.shape)
        size = float(np.max(answer.norms_squared(), initial=0.0)) ** 0.5
        if not np.isfinite(size):
            raise ValueError(f"{self}: lmo must answer finite numbers, found NaN or infinite ones")
        if size > self.r * (1 + 1e-6):
            raise ValueError(
                f"{self}: lmo must answer points of K, found a norm of {size:g}, beyond "
                f"radius={self.r:g}"
            )
        return answer

    def _as_array(self, answer: ArrayLike) -> Array:
        array = np.array(as_float_array(answer, f"{self}: what lmo answers"), dtype=np.float64)
        if array.ndim == 0:
            raise TypeError(f"{self}: lmo must answer an array, found {shown(answer)}")
        return array

    def certify(self, g: Array, vertex: Atoms) -> float:
        value = super().certify(g, vertex)
        return value - self.inexact * norm(g) * self.r if self.inexact else value

    def violation(self, x: Array) -> float:
        if self.member is None:
            return separation(self, x)
        return 0.0 if self.member(np.array(x)) else np.inf

    def __repr__(self) -> str:
        name = getattr(self.fun, "__name__", type(self.fun).__name__)
        return f"Oracle({name}, shape={self.shape})"
