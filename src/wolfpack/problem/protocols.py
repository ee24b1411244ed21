"""Protocols."""

from __future__ import annotations

from typing import Any, Protocol

from ..arrays import Array
from .constrained import Problem
from .evaluation import Evaluation


class Objective(Protocol):
    """A smooth convex function f."""

    @property
    def L(self) -> float | None:
        """Lipschitz constant of the gradient in the Euclidean norm, None when unknown."""
        ...

    def evaluate(self, x: Array) -> Evaluation:
        """Return value, gradient and dual point at ``x``."""
        ...

    def conjugate_bound(self, dual: Any) -> float:
        """Return an upper bound on f*(y), for y and ``dual`` averaged with the same weights."""
        ...

    def curvature(self, x: Array, d: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, None otherwise."""
        ...


class Region(Protocol):
    """A compact convex set K with a linear oracle (see `wolfpack.sets.Set`)."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def radius(self) -> float: ...

    @property
    def diameter(self) -> float: ...

    def lmo(self, g: Array) -> Any: ...

    def certify(self, g: Array, vertex: Any) -> float: ...

    def violation(self, x: Array) -> float: ...

    def start(self) -> Array: ...

    def has(self, capability: str) -> bool: ...


class Solver(Protocol):
    """A method: hyperparameters, and pure functions from state to state.

    A solver that works differently on some sets may also have ``for_set(K) -> Solver``, which
    `minimize` calls once, before the run.
    """

    def init(self, problem: Problem, x0: Array, oracles: Any) -> Any:
        """Return the state of round 0."""
        ...

    def step(self, problem: Problem, state: Any, oracles: Any) -> Any:
        """Return the state after one more round."""
        ...

    def lower_bound(self, problem: Problem, state: Any, oracles: Any) -> float:
        """Return a number that is proved to be at most the minimum of f over K."""
        ...
