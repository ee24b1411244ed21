"""Functions of Fractions: quadratics with exact line searches, and functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Array
from ..objectives import LeastSquares, Objective, Quadratic
from ..problem import CapabilityError, Rational
from ..problem.checks import choice, shown
from ..problem.rational import fraction, fractions


class ExactFunction:
    """A convex function of the user's, x -> (value, gradient) in Fractions.

    With ``L``, an upper estimate of the smoothness constant, steps are short steps.
    """

    def __init__(self, f: Callable[[Array], tuple[Any, Any]], L: Fraction | None) -> None:
        self.f, self.L = f, L
        self.shape: tuple[int, ...] | None = None

    def __call__(self, x: Array) -> tuple[Fraction, Array]:
        """Return the value and the gradient, all of them Fractions."""
        value, gradient = self.f(x.copy())
        slope = fractions(np.asarray(gradient), "the gradient of f")
        if slope.shape != x.shape:
            raise ValueError(f"the gradient of f must have shape {x.shape}, found {slope.shape}")
        return fraction(value, "the value of f"), slope

    def curvature(self, d: Array) -> Fraction | None:
        """Return at least <d, H d> for every Hessian H of f; None where L is unknown."""
        return None if self.L is None else self.L * (d * d).sum()


class ExactQuadratic:
    r"""The quadratic :math:`\tfrac12 \langle x, Q x\rangle + \langle c, x\rangle + r`."""

    def __init__(self, Q: Array | Fraction, c: Array, r: Fraction) -> None:
        self.Q, self.c, self.r = Q, c, r
        self.shape: tuple[int, ...] | None = c.shape

    def product(self, d: Array) -> Array:
        """Return Q d."""
        return self.Q * d if isinstance(self.Q, Fraction) else self.Q @ d

    def __call__(self, x: Array) -> tuple[Fraction, Array]:
        """Return the value and the gradient."""
        Qx = self.product(x)
        return ((Qx / 2 + self.c) * x).sum() + self.r, Qx + self.c

    def curvature(self, d: Array) -> Fraction:
        """Return <d, Q d>."""
        return (d * self.product(d)).sum()


def as_exact_objective(f: Any, L: Any = None) -> ExactFunction | ExactQuadratic:
    """Return ``f`` as a function of Fractions, or say why it is none."""
    if isinstance(f, Rational) and issubclass(f.kind, Quadratic | LeastSquares):
        if L is not None:
            raise TypeError("L must be left out: steps of exact quadratics are line searches")
        return _quadratic(**f.arguments) if f.kind is Quadratic else _squares(**f.arguments)
    if callable(f) and not isinstance(f, Objective | type):
        function: Any = f
        return ExactFunction(function, None if L is None else Fraction(L))
    raise CapabilityError(
        "f must be a Quadratic or LeastSquares made of arrays of Fractions, or a callable "
        f"x -> (value, gradient) in Fractions, in exact problems, found {shown(f)}"
    )


def _quadratic(Q: Any, c: Any, r: Any = 0) -> ExactQuadratic:
    c = fractions(c, "c")
    r = fraction(r, "r")
    if not c.size or not c.ndim:
        raise ValueError(f"c must be an array that is not empty, found shape {c.shape}")
    if not isinstance(Q, np.ndarray):
        Q = fraction(Q, "Q")
        if Q <= 0:
            raise ValueError(f"Q must be a positive number or a matrix, found {Q}")
        return ExactQuadratic(Q, c, r)
    Q = fractions(Q, "Q")
    if c.ndim != 1 or Q.shape != 2 * c.shape:
        raise ValueError(f"Q must have shape (n, n) for c of shape (n,), found {Q.shape}")
    if (Q != Q.T).any():
        raise ValueError("Q must be symmetric, found one that is not: use (Q + Q.T) / 2")
    _check_semidefinite(Q.copy())
    return ExactQuadratic(Q, c, r)


def _squares(A: Any, b: Any, batch: Any = None, reduction: Any = "sum") -> ExactQuadratic:
    A, b = fractions(A, "A"), fractions(b, "b")
    if A.ndim != 2 or b.ndim != 1 or len(A) != len(b) or 0 in A.shape:
        raise ValueError(
            "A and b must have shapes (n, d) and (n,) in exact problems, found "
            f"{A.shape} and {b.shape}"
        )
    if batch is not None:
        raise TypeError(f"batch must be left out in exact problems, found {shown(batch)}")
    mean = choice("sum", "mean")(reduction, "reduction") == "mean"
    weight = Fraction(1, len(b) if mean else 1)
    return ExactQuadratic(weight * (A.T @ A), -weight * (A.T @ b), weight * (b @ b) / 2)


def _check_semidefinite(M: Array) -> None:
    """Raise unless a symmetric matrix is positive semidefinite, by elimination; M is used up."""
    for i in range(len(M)):
        pivot, row = M[i, i], M[i, i + 1 :].copy()
        if pivot < 0 or (pivot == 0 and row.any()):
            raise ValueError(
                "Q must be positive semidefinite, found a negative eigenvalue: f is not convex"
            )
        if pivot:
            M[i + 1 :, i + 1 :] -= np.outer(row, row) / pivot
