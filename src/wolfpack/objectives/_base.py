"""What every objective shares, and the linear models f(x) = loss(Ax)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    all_finite,
    as_float_array,
    check_finite,
    device_of,
    fetch,
    host_dtype,
    inner,
    is_foreign,
    lazy_inner,
    like,
    matmul,
    namespace,
    own,
    same_place,
)
from ..problem import Evaluation, Pending
from ._matrix import as_matrix, place_of
from ._spectrum import spectral_norm_squared


class Objective(ABC):
    """A smooth convex function f.

    Subclasses give `evaluate`; whatever else they know (`L`, a conjugate, a curvature) makes
    methods faster or certificates tighter and is never required.

    Attributes
    ----------
    shape : tuple of int or None
        Shape of x, None when any shape will do.
    like : array or None
        An array of the library, the type and the device that x must have; None when any will do.
    checked : bool
        Whether `evaluate` returns the value NaN where the gradient is not finite, so that nobody
        need look at the gradient again: on another device that would be one more transfer.
    error : float
        How much products with the data may be off, relative to the sums of the absolute values of
        their terms, where they are computed in less than the precision of x; see `rounding`.
    """

    shape: tuple[int, ...] | None = None
    like: Array = None
    checked: bool = False
    error: float = 0.0

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

    def image(self, x: Array) -> Array:
        """Return what f sees of ``x``, a linear function of it; x itself by default."""
        return x

    def evaluate_image(self, z: Array) -> Evaluation:
        """Return value, gradient and dual point at every x of which ``z`` is the image."""
        return self.evaluate(z)

    def image_value(self, z: Array) -> float:
        """Return f at every x of which ``z`` is the image."""
        return self.value(z)

    def image_slopes(self, z: Array) -> Array:
        """Return the gradient of f as a function of the image, at ``z``."""
        return self.gradient(z)

    def image_gradient(self, at: Evaluation) -> Array:
        """Return the gradient as a function of the image, from an evaluation."""
        return at.gradient

    def conjugate_bound(self, dual: Any) -> float:
        """Return an upper bound on f*(y), for y and ``dual`` averaged with the same weights.

        By convexity of f*, the average of the numbers f*(grad f(x_i)) is one.
        """
        return float(dual)

    def rounding(self, dual: Any, K: Any) -> float:
        """Return what errors of products with the data may add to a gap over K at ``dual``."""
        return 0.0

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
        self.A, self._At = as_matrix(A, name)
        self._name = name
        self.like = place_of(self.A)
        self.checked = is_foreign(self.like)
        self.error = max(getattr(self.A, "error", 0.0), getattr(self._At, "error", 0.0))

    def _data(self, value: Any, name: str) -> Array:
        """Return other data of f as finite real numbers where A is, or explain what is wrong.

        What is no array yet, and integers, are converted. An operator of unknown place is where its
        data are.
        """
        given = value
        place = np.empty(0) if self.like is None else self.like
        if is_foreign(value):
            value = _real(value, place)
        elif not (isinstance(value, np.ndarray) and (value.dtype.kind == "f" or self.checked)):
            value = like(as_float_array(value, name), place)
        value = own(as_float_array(value, name), given)
        if self.like is None:
            self.like, self.checked = value[:0, ...], is_foreign(value)
        elif is_foreign(value) or self.checked:
            same_place(**{self._name: self.like, name: value})
        return check_finite(value, name)

    @abstractmethod
    def loss(self, z: Array) -> tuple[float, Array]:
        """Return ``(loss(z), grad loss(z))``, the value as it is summed where z is."""

    @abstractmethod
    def loss_conjugate(self, theta: Array) -> float:
        """Return loss*(theta)."""

    def evaluate(self, x: Array) -> Evaluation:
        if self.checked or type(x) is not np.ndarray:
            return self._evaluate_there(x)
        value, theta = self.loss(matmul(self.A, x))
        return Evaluation(value, matmul(self._At, theta), theta)

    def _evaluate_there(self, x: Array) -> Evaluation:
        """Evaluate on a device: all is asked for before the first number is waited for."""
        at = self.look(x)
        value, product = fetch(*at.value)
        finite = math.isfinite(product) or all_finite(at.gradient)
        return at._replace(value=value if finite else math.nan)

    def look(self, x: Array) -> Evaluation:
        """Evaluate on a device without waiting for it: the value stays there."""
        check_place(self.like, x)
        value, theta = self.loss(matmul(self.A, x))
        gradient = matmul(self._At, theta)
        return Evaluation(Pending(value, lazy_inner(x, gradient)), gradient, theta)

    def image(self, x: Array) -> Array:
        return matmul(self.A, x)

    def evaluate_image(self, z: Array) -> Evaluation:
        value, theta = self.loss(z)
        return Evaluation(fetch(value)[0], matmul(self._At, theta), theta)

    def image_value(self, z: Array) -> float:
        return fetch(self.loss(z)[0])[0]

    def image_slopes(self, z: Array) -> Array:
        return self.loss(z)[1]

    def image_gradient(self, at: Evaluation) -> Array:
        return at.dual

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Shape of A x."""
        assert self.shape is not None
        return (self.A.shape[0], *self.shape[1:])

    def pull_back(self, theta: Array) -> Array:
        """Return A' theta for each theta of a batch of shape ``(batch, *image_shape)``."""
        if theta.ndim == 3:
            parts = [self._At @ theta[i, ...] for i in range(theta.shape[0])]
            return namespace(*parts).stack(parts)
        return (self._At @ theta.T).T

    def value(self, x: Array) -> float:
        check_place(self.like, x)
        return fetch(self.loss(self.A @ x)[0])[0]

    def conjugate_bound(self, dual: Array) -> float:
        return self.loss_conjugate(dual)

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        z, dz = self.A @ x, self.A @ d
        return lambda t: inner(self.loss(z + t * dz)[1], dz)

    @cached_property
    def spectral_norm_squared(self) -> float:
        """The largest eigenvalue of A'A, with a safe upward rounding."""
        return spectral_norm_squared(self.A, self._At, self.like)


def _real(array: Array, place: Array) -> Array:
    """Return an array of another library; integers and booleans as real numbers."""
    xp = namespace(array)
    if xp.isdtype(array.dtype, ("bool", "integral")):
        return xp.astype(array, getattr(xp, host_dtype(place).name))
    return array


def check_place(place: Array, x: Array) -> None:
    """Raise one clear error if x is not in the place of an objective's data."""
    if type(x) is np.ndarray and not is_foreign(place):
        return
    if type(x) is type(place) and x.dtype == place.dtype and device_of(x) == device_of(place):
        return
    if is_foreign(x) and device_of(x) is None:
        return  # it is being traced, and was looked at before
    if is_foreign(x) or is_foreign(place):
        same_place(**{"the data of f": np.empty(0) if place is None else place, "x": x})


def settle(value: Any, x: Array, gradient: Array) -> tuple[float, float]:
    """Return f(x) and <x, grad f(x)> in one transfer; NaN for f(x) if the gradient is not finite.

    x is finite, so that an entry of the gradient that is not makes the inner product not finite.
    """
    number, product = fetch(value, lazy_inner(x, gradient))
    if not math.isfinite(product) and not all_finite(gradient):
        return math.nan, product
    return number, product
