"""What every regulariser H shares, and those that contain a ridge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..arrays import Array, inner, is_foreign, like, to_host
from ..problem import CapabilityError, Pieces
from ..problem.checks import extent, number

if TYPE_CHECKING:
    from .mirrors import Mirror


class HostMethods:
    """Lets methods that are written for NumPy arrays accept arrays of other libraries.

    A subclass with ``anywhere=True`` declares that its methods need no conversion.
    """

    _hosted: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, anywhere: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in () if anywhere else cls._hosted:
            if name in vars(cls):
                setattr(cls, name, _on_host(vars(cls)[name]))


def _on_host(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def converted(self: object, x: Array, *args: float) -> Array | float:
        if type(x) is np.ndarray or not is_foreign(x):
            return method(self, x, *args)
        answer = method(self, to_host(x), *args)
        return like(answer, x) if isinstance(answer, np.ndarray) else answer

    return converted


class Regularizer(HostMethods, ABC, anywhere=True):
    r"""The simple term H of min G + H: mu-strongly convex, with an easy minimisation step.

    A subclass sets `mu` and defines `value` and `argmin`; these suffice for ``w="same"``. Each
    other mirror map w needs one more method: `prox` the Euclidean one, `entropic_prox` the entropy,
    `pnorm_prox` the squared l_p norm. H is then used with NumPy arrays; arrays of other libraries
    are converted. Where H is a convex function plus a ridge, subclass `Ridged`, which needs less.

    Attributes
    ----------
    mu : float
        Strong convexity constant, with respect to `norm`; positive.
    norm : "l2", "l1" or "l" and an exponent between them
        The norm of ``mu``.
    geometry : str
        Mirror map to use when the user names none: "euclidean", "entropy", "pnorm" or "same".
    shape : tuple of int or None
        Shape of y, None when every shape is allowed.
    structured : bool
        Whether minimisation steps have zeros, low rank or flat pieces, which averages of them lose.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> class Ridge(wp.regularizers.Regularizer):
    ...     mu = 2.0
    ...     def value(self, y):
    ...         return float(y @ y)
    ...     def argmin(self, g):
    ...         return -g / 2.0
    ...     def prox(self, g, lam):
    ...         return -g / (2.0 + lam)
    >>> G = wp.objectives.LeastSquares(np.eye(2), np.array([3.0, 0.0]))
    >>> wp.minimize_composite(G, Ridge(), tol=1e-9).x.round(4) + 0.0
    array([1., 0.])
    """

    _hosted = (
        "value",
        "argmin",
        "minimum",
        "subgradient",
        "prox",
        "entropic_prox",
        "pnorm_prox",
        "rest",
        "solve",
    )

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

    def subgradient(self, y: Array) -> Array:
        """Return a subgradient of H at ``y``; with it ``w="same"`` can start at any ``y0``."""
        raise CapabilityError(f"{self!r} has no method subgradient")

    def minimum(self, g: Array) -> float:
        """Return the minimum of <g, y> + H(y), which is -H*(-g)."""
        y = self.argmin(g)
        return inner(g, y) + self.value(y)

    def scaled(self, scales: Array) -> Regularizer:
        """Return u -> H(scales * u), for positive scales that broadcast to y."""
        raise CapabilityError(f"{self!r} cannot be written in other units")

    def pieces(self) -> Pieces | None:
        """Return H as a sum over coordinates, None where it is none, or no piecewise quadratic."""
        return None

    def own_mirror(self) -> str | Mirror:
        """Return the mirror map to use when the user names none: a name, or a map."""
        return self.geometry

    def has(self, capability: str) -> bool:
        """Tell whether this regulariser overrides the optional method of that name."""
        return getattr(type(self), capability) is not getattr(Regularizer, capability)

    def __repr__(self) -> str:
        numbers = {name: value for name, value in vars(self).items() if isinstance(value, float)}
        options = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
        return f"{type(self).__name__}({options})"


class Ridged(Regularizer, anywhere=True):
    r"""H(y) = R(y) + (mu/2) ||y||^2 with R convex: every step is one of R with another ridge.

    A subclass defines `rest`, which is R, and `solve`.
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

    def minimum(self, g: Array) -> float:
        y = self.solve(g, self.mu)
        return inner(g, y) + (self.rest(y) + 0.5 * self.mu * inner(y, y))


def strong_convexity(mu: float) -> float:
    """Return ``mu`` as a float; if it is not positive, explain that H needs a ridge."""
    weight = number(mu, "mu")
    if not weight > 0:
        raise ValueError(
            f"mu must be positive, found {weight!r}: H must be strongly convex; add "
            "a ridge (mu/2)||y||^2, however small, for example mu=1e-6"
        )
    return extent(weight, "mu")
