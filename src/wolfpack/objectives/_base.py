"""What every objective shares, and the linear models f(x) = loss(Ax)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from ..arrays import as_float_array, check_finite, inner, matmul
from ..problem import Evaluation
from ._spectrum import spectral_norm_squared

Array = Any
_PIECE = 2**22
_SMALL = 2**16


class Objective(ABC):
    """A smooth convex function f.

    Subclasses give `evaluate`; whatever else they know (`L`, a conjugate, a curvature) makes
    methods faster or certificates tighter and is never required.

    Attributes
    ----------
    shape : tuple of int or None
        Shape of x, None when any shape will do.
    """

    shape: tuple[int, ...] | None = None

    @property
    def L(self) -> float | None:
        """Lipschitz constant of the gradient in the Euclidean norm, None when unknown."""
        return None

    @abstractmethod
    def evaluate(self, x: Array) -> Evaluation:
        """Return value, gradient and dual point at ``x``."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return ``(f(x), grad f(x))``."""
        return self.value_and_gradient(x)

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return self.evaluate(x).value

    def gradient(self, x: Array) -> Array:
        """Return grad f(x)."""
        return self.evaluate(x).gradient

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return ``(f(x), grad f(x))``."""
        return self.evaluate(x)[:2]

    def conjugate_bound(self, dual: Any) -> float:
        """Return an upper bound on f*(y), for y and ``dual`` averaged with the same weights.

        By convexity of f*, the average of the numbers f*(grad f(x_i)) is one.
        """
        return float(dual)

    def curvature(self, x: Array, d: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, None otherwise."""
        return None

    def hessian_product(self, x: Array, d: Array) -> Array | None:
        """Return Hess f(x) d, None where f does not know it."""
        return None

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        """Return the function t -> <grad f(x + t d), d>, for line searches."""
        return lambda t: inner(self.gradient(x + t * d), d)


class LinearModel(Objective):
    """f(x) = loss(A x), with A a matrix (dense, sparse) or a linear operator.

    Subclasses give `loss` and `loss_conjugate`. The dual point of the certificate is
    theta = grad loss(Ax): grad f(x) = A' theta and f*(A' theta) <= loss*(theta) for every theta, so
    the averaged theta gives a bound on f* that is tighter than the averaged numbers.
    """

    def __init__(self, A: Any, name: str = "A") -> None:
        if isinstance(A, LinearOperator):
            self.A = A
            self._At = A.adjoint()
        elif issparse(A):
            check_finite(A.data, name)
            self.A = A.tocsr()
            self._At = self.A.T.tocsr()
        else:
            self.A = as_float_array(A, name)
            if self.A.ndim != 2:
                raise ValueError(f"{name} must be a matrix, found shape {tuple(self.A.shape)}")
            _check_rows(self.A, name)
            # products with a small matrix are faster along its rows than across them
            self._At = np.ascontiguousarray(self.A.T) if self.A.size <= _SMALL else self.A.T
        if 0 in self.A.shape:
            raise ValueError(f"{name} must not be empty, found shape {tuple(self.A.shape)}")

    @abstractmethod
    def loss(self, z: Array) -> tuple[float, Array]:
        """Return ``(loss(z), grad loss(z))``."""

    @abstractmethod
    def loss_conjugate(self, theta: Array) -> float:
        """Return loss*(theta)."""

    def evaluate(self, x: Array) -> Evaluation:
        value, theta = self.loss(matmul(self.A, x))
        return Evaluation(value, matmul(self._At, theta), theta)

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Shape of A x."""
        assert self.shape is not None
        return (self.A.shape[0], *self.shape[1:])

    def pull_back(self, theta: Array) -> Array:
        """Return A' theta for each theta of a batch of shape ``(batch, *image_shape)``."""
        if theta.ndim == 3:
            return np.stack([self._At @ part for part in theta])
        return (self._At @ theta.T).T

    def value(self, x: Array) -> float:
        return self.loss(self.A @ x)[0]

    def conjugate_bound(self, dual: Array) -> float:
        return self.loss_conjugate(dual)

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        z, dz = self.A @ x, self.A @ d
        return lambda t: inner(self.loss(z + t * dz)[1], dz)

    @cached_property
    def spectral_norm_squared(self) -> float:
        """The largest eigenvalue of A'A, with a safe upward rounding."""
        return spectral_norm_squared(self.A)


def _check_rows(A: Array, name: str) -> None:
    """Refuse NaN and infinite entries; large matrices, perhaps mapped from a file, in pieces."""
    rows = max(1, A.shape[0] if A.size <= _PIECE else _PIECE // A.shape[1])
    for start in range(0, A.shape[0], rows):
        piece = A[start : start + rows]
        where = "" if rows >= A.shape[0] else f"[{start}:{start + len(piece)}]"
        check_finite(piece, name + where)
