"""What every regulariser H shares, and those that contain a ridge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, inner, is_foreign, like, to_host
from ..problem import CapabilityError


class Regularizer(ABC):
    r"""The simple term H of min G + H: mu-strongly convex, with an easy minimisation step.

    A subclass gives `value` and `argmin`. Each geometry in which the minimisation step of
    Algorithm 1 is easy adds one method: `prox` for the Euclidean one, `entropic_prox` for the
    entropy. With w = H itself the step is easy whenever `argmin` is.

    Attributes
    ----------
    mu : float
        Strong convexity constant, with respect to `norm`.
    norm : "l2", "l1" or "l" and an exponent between them
        The norm of ``mu``.
    geometry : str
        Mirror map to use when the user names none: "euclidean", "entropy" or "pnorm".
    shape : tuple of int or None
        Shape of y, None when any shape will do.
    structured : bool
        Whether minimisation steps have zeros, low rank or flat pieces, which averages of them lose.
    """

    def __init_subclass__(cls, anywhere: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in () if anywhere else _HOSTED:
            if name in vars(cls):
                setattr(cls, name, on_host(vars(cls)[name]))

    mu: float
    norm: str = "l2"
    geometry: ClassVar[str] = "euclidean"
    shape: tuple[int, ...] | None = None
    structured: bool = False

    @abstractmethod
    def value(self, y: Array) -> float:
        """Return H(y), infinity outside the domain."""

    @abstractmethod
    def argmin(self, g: Array) -> Array:
        """Return the minimiser of <g, y> + H(y), which is grad H*(-g)."""

    def prox(self, g: Array, lam: float) -> Array:
        """Return the minimiser of <g, y> + H(y) + (lam/2) ||y||^2."""
        raise CapabilityError(f"{self!r} has no Euclidean minimisation step")

    def entropic_prox(self, g: Array, lam: float) -> Array:
        """Return the minimiser of <g, y> + H(y) + lam sum_i y_i log y_i over the simplex."""
        raise CapabilityError(f"{self!r} has no entropic minimisation step")

    def pnorm_prox(self, g: Array, lam: float, p: float) -> Array:
        """Return the minimiser of <g, y> + H(y) + lam ||y||_p^2 / (2 (p-1))."""
        raise CapabilityError(f"{self!r} has no minimisation step in the l_p geometry")

    def minimum(self, g: Array) -> float:
        """Return the minimum of <g, y> + H(y), which is -H*(-g)."""
        y = self.argmin(g)
        return inner(g, y) + self.value(y)

    def own_mirror(self) -> Any:
        """Return the mirror map to use when the user names none: a name, or a map."""
        return self.geometry

    def has(self, capability: str) -> bool:
        """Tell whether this regulariser overrides the optional method of that name."""
        return getattr(type(self), capability) is not getattr(Regularizer, capability)


_HOSTED = ("value", "argmin", "minimum", "prox", "entropic_prox", "pnorm_prox", "rest", "solve")


def on_host(method: Any) -> Any:
    """Let a method that is written for NumPy arrays be asked with those of other libraries."""

    @wraps(method)
    def ask(self: Any, x: Array, *args: Any) -> Any:
        if type(x) is np.ndarray or not is_foreign(x):
            return method(self, x, *args)
        answer = method(self, to_host(x), *args)
        return like(answer, x) if isinstance(answer, np.ndarray) else answer

    return ask


class Ridged(Regularizer, anywhere=True):
    r"""H(y) = R(y) + (mu/2) ||y||^2 with R convex: every step is one of R with another ridge.

    A subclass gives `rest`, which is R, and `solve`.
    """

    def __init__(self, mu: float) -> None:
        self.mu = strong_convexity(mu)

    @abstractmethod
    def rest(self, y: Array) -> float:
        """Return R(y)."""

    @abstractmethod
    def solve(self, g: Array, c: float) -> Array:
        """Return the minimiser of <g, y> + R(y) + (c/2) ||y||^2."""

    def value(self, y: Array) -> float:
        return self.rest(y) + 0.5 * self.mu * inner(y, y)

    def argmin(self, g: Array) -> Array:
        return self.solve(g, self.mu)

    def prox(self, g: Array, lam: float) -> Array:
        return self.solve(g, self.mu + lam)


def strong_convexity(mu: Any) -> float:
    """Return ``mu`` as a float; where it is not positive, say that a ridge is what is missing."""
    number = as_number(mu, "mu")
    if number <= 0:
        raise ValueError(
            f"mu must be positive, found {mu!r}: the simple term H must be strongly convex; add a "
            "ridge (mu/2)||y||^2, however small, for example mu=1e-6"
        )
    return number


def nonnegative(value: Any, name: str) -> float:
    """Return ``value`` as a finite float >= 0."""
    number = as_number(value, name)
    if number < 0:
        raise ValueError(f"{name} must be at least 0, found {value!r}")
    return number


def as_number(value: Any, name: str) -> float:
    """Return ``value`` as a finite float."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, found {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, found {value!r}")
    return number
