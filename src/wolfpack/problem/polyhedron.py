"""Polyhedra and quadratics as matrices, for methods that look inside K and f."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..arrays import Array

Matrix: TypeAlias = Any
"""A matrix of NumPy or a sparse one of SciPy, which no static type covers."""


class Rows(NamedTuple):
    """A matrix and the right-hand sides of its rows."""

    matrix: Matrix
    right: Array


@dataclass(frozen=True)
class Polyhedron:
    r"""A polytope K as the points :math:`x = T z + t` of the z with :math:`A z = b`,
    :math:`G z \le h` and :math:`\ell \le z \le u`.

    Attributes
    ----------
    low, high : array (n,)
        The bounds l and u, infinite where there are none.
    round : callable
        Returns a point of K, of the shape of its points, for a z that satisfies the constraints up
        to a solver's tolerance; the point is as near to T z + t as the tolerance is small.
    equations, inequalities : Rows or None
        (A, b) and (G, h), None where there are none.
    lift : sparse matrix (d, n) or None
        The map T, None for the identity.
    offset : array (d,) or float
        The vector t.
    """

    low: Array
    high: Array
    round: Callable[[Array], Array]
    equations: Rows | None = None
    inequalities: Rows | None = None
    lift: Matrix = None
    offset: Array = 0.0

    @property
    def n(self) -> int:
        """Number of variables z."""
        return len(self.low)


class QuadraticForm(NamedTuple):
    r"""A quadratic :math:`\tfrac12\langle x, P x\rangle + \langle q, x\rangle` or
    :math:`\tfrac12\|F x - s\|^2` of the flattened x, up to a constant.

    Attributes
    ----------
    P, q : matrix, array
        P is symmetric and positive semidefinite. Both are None where f is given by F and s.
    factor, target : matrix, array
        F and s. Both are None where f is given by P and q.
    """

    P: Matrix = None
    q: Array = None
    factor: Matrix = None
    target: Array = None
