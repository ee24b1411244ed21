r"""The mirror maps w of Algorithm 1: strongly convex, minimised where the run begins.

Adding a linear function to w moves its minimiser and changes nothing else in Algorithm 1, so that
each mirror map here is a fixed function (its geometry) minus a slope, and a run may begin anywhere
(paper, section 3): :math:`\tilde w(y) = w(y) - \langle g_w(z_0), y\rangle` is minimised at z_0.

A mirror map of your own is any object with ``nu`` (its strong convexity constant), ``z0`` (its
minimiser), and a method ``prox(H, g, lam)`` that returns the minimiser of <g, y> + H(y) + lam w(y).
It may also have ``norm`` ("l2", the default, "l1", "l1.5"...), ``value`` and ``gradient``; with the
latter it can be shifted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from ..arrays import as_float_array, check_finite, inner, to_host
from ..problem import CapabilityError
from ._base import Array, Regularizer, on_host
from .entropy import entropy, on_simplex
from .squared_pnorm import exponent, half_square, half_square_gradient


class Mirror(ABC):
    """w(y) = phi(y) - <slope, y>, with phi the function of a geometry.

    Attributes
    ----------
    nu : float
        Strong convexity constant, with respect to `norm`.
    norm : "l2", "l1" or "l" and an exponent between them
        The norm of ``nu``.
    geometry : str
        Which minimisation step of H goes with phi.
    slope : array or 0.0
        The linear term.
    z0 : array or None
        The minimiser of w, None where the user has chosen a geometry but no start.
    """

    def __init_subclass__(cls, anywhere: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in () if anywhere else ("phi", "phi_gradient"):
            if name in vars(cls):
                setattr(cls, name, on_host(vars(cls)[name]))

    nu: float = 1.0
    norm: str = "l2"
    geometry: ClassVar[str]
    slope: Any = 0.0
    z0: Array | None = None

    @abstractmethod
    def phi(self, y: Array) -> float:
        """Return phi(y)."""

    @abstractmethod
    def phi_gradient(self, y: Array) -> Array:
        """Return a subgradient of phi at ``y``, up to a constant where sums are fixed."""

    def value(self, y: Array) -> float:
        """Return w(y), up to a constant."""
        return self.phi(y) - float(np.sum(to_host(self.slope * y)))

    def gradient(self, y: Array) -> Array:
        """Return a subgradient of w at ``y``."""
        return self.phi_gradient(y) - self.slope


class Euclidean(Mirror, anywhere=True):
    r"""Half the squared distance, :math:`w(y) = \tfrac12 \|y - z_0\|_2^2`.

    Parameters
    ----------
    z0 : array, optional
        Centre, 0 by default; `minimize_composite` moves a map without one to where it begins.
    """

    geometry: ClassVar[str] = "euclidean"

    def __init__(self, z0: Any = None) -> None:
        if z0 is not None:
            self.z0 = self.slope = check_finite(as_float_array(z0, "z0"), "z0")

    def phi(self, y: Array) -> float:
        return 0.5 * inner(y, y)

    def phi_gradient(self, y: Array) -> Array:
        return y


class EntropyMirror(Mirror):
    r"""Relative entropy on the simplex, :math:`w(y) = \sum_i y_i \log(y_i / z_{0,i})`.

    Parameters
    ----------
    z0 : array, optional
        Positive entries of sum 1; uniform by default; as for `Euclidean`.
    """

    norm = "l1"
    geometry: ClassVar[str] = "entropy"

    def __init__(self, z0: Any = None) -> None:
        if z0 is not None:
            self.z0 = check_finite(as_float_array(z0, "z0"), "z0")
            self.slope = self.phi_gradient(self.z0)

    def phi(self, y: Array) -> float:
        return entropy(y)

    def phi_gradient(self, y: Array) -> Array:
        if not (on_simplex(y) and y.min() > 0):
            raise ValueError(
                "the entropy's gradient needs positive entries of sum 1 (y0 in the interior of the "
                f"simplex), found a smallest entry {y.min():.3g} and a sum {y.sum():.6g}"
            )
        return np.log(y)


class PNormMirror(Mirror):
    r"""A squared l_p norm, :math:`w(y) = \frac{1}{2 (p-1)} \|y\|_p^2`, 1 < p <= 2.

    Parameters
    ----------
    p : float
        The exponent; the minimisation step is known where it is that of `SquaredPNorm`.
    z0 : array, optional
        Where w, with a linear term added, is minimised; 0 by default; as for `Euclidean`.
    """

    geometry: ClassVar[str] = "pnorm"

    def __init__(self, p: float, z0: Any = None) -> None:
        self.p = exponent(p)
        self.norm = f"l{self.p!r}"
        if z0 is not None:
            self.z0 = check_finite(as_float_array(z0, "z0"), "z0")
            self.slope = self.phi_gradient(self.z0)

    def phi(self, y: Array) -> float:
        return half_square(y, self.p)

    def phi_gradient(self, y: Array) -> Array:
        return half_square_gradient(y, self.p)


class Same(Mirror):
    r"""The regulariser itself, :math:`w(y) = H(y) - \langle s, y\rangle`.

    The minimisation step is then the minimisation of a linear function plus H, so no other prox is
    needed. With H = f* and s = x_0 Algorithm 1 is parallel Frank-Wolfe (Algorithm 2).

    Parameters
    ----------
    H : Regularizer
        The simple term of the problem.
    slope : array, optional
        s, a subgradient of H at the point where the run begins; by default 0 and H's minimiser.
    """

    geometry: ClassVar[str] = "same"

    def __init__(self, H: Regularizer, slope: Any = None) -> None:
        self.H = H
        self.nu = H.mu
        self.norm = H.norm
        if slope is not None:
            self.slope = check_finite(as_float_array(slope, "slope"), "slope")
            self.z0 = H.argmin(-self.slope)

    def phi(self, y: Array) -> float:
        return self.H.value(y)

    def phi_gradient(self, y: Array) -> Array:
        raise CapabilityError(
            f"w = H = {self.H!r} cannot be shifted to y0: leave y0 out, or pass Same(H, slope=s) "
            "with s a subgradient of H at y0"
        )


class Shifted:
    r"""A mirror map moved to another start, :math:`w(y) - \langle g_w(z_0), y\rangle`.

    Parameters
    ----------
    w : Mirror or a mirror map of your own with a method ``gradient``
        The map to shift.
    z0 : array
        Where the shifted map is minimised.
    """

    def __init__(self, w: Any, z0: Array) -> None:
        if not hasattr(w, "gradient"):
            raise CapabilityError(
                f"w = {type(w).__name__} has no method gradient, so it cannot be shifted to y0: "
                "leave y0 out to start at its own minimiser w.z0"
            )
        self.base = w
        self.nu = w.nu
        self.norm = getattr(w, "norm", "l2")
        self.z0 = check_finite(as_float_array(z0, "z0"), "z0")
        self.slope = w.gradient(self.z0)

    def value(self, y: Array) -> float:
        """Return the value at ``y`` of the shifted map, up to a constant."""
        return self.base.value(y) - inner(self.slope, y)

    def gradient(self, y: Array) -> Array:
        """Return a subgradient of the shifted map at ``y``."""
        return self.base.gradient(y) - self.slope
