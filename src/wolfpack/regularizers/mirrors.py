r"""The mirror maps w of Algorithm 1: strongly convex, minimised at the start of the run.

Adding a linear function to w moves its minimiser and changes nothing else in Algorithm 1. Each
mirror map here is therefore a fixed function (its geometry) minus a slope, and a run may start
anywhere (paper, section 3): :math:`\tilde w(y) = w(y) - \langle g_w(z_0), y\rangle` is minimised
at z_0.

A mirror map of your own is any object with ``nu`` (its strong convexity constant), ``z0`` (its
minimiser), and a method ``prox(H, g, lam)`` that returns the minimiser of <g, y> + H(y) + lam w(y).
It may also have ``norm`` ("l2", the default, "l1", "l1.5"...), ``value`` and ``gradient``; with the
latter it can be shifted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, as_float_array, check_finite, inner, to_host
from ..problem import CapabilityError
from ..problem.checks import as_array, instance, shown
from ._base import HostMethods, Regularizer
from .entropy import entropy, entropy_slope
from .squared_pnorm import exponent, half_square, half_square_gradient

Step = Callable[[Array, float], Array]


class Mirror(HostMethods, anywhere=True):
    """w(y) = phi(y) - <slope, y>, with phi the function of a geometry.

    A subclass defines `phi`, `phi_gradient` and, unless H has a method for its `geometry`,
    `phi_step`.

    Attributes
    ----------
    nu : float
        Strong convexity constant, with respect to `norm`.
    norm : "l2", "l1" or "l" and an exponent between them
        The norm of ``nu``.
    geometry : str
        The minimisation step of H to use with phi: "euclidean", "entropy" or "pnorm".
    slope : array or 0.0
        The linear term.
    z0 : array or None
        The minimiser of w, None where the user has chosen a geometry but no start:
        `minimize_composite` then moves w to the start of the run.
    """

    _hosted = ("phi", "phi_gradient")

    nu: float = 1.0
    norm: str = "l2"
    geometry: ClassVar[str]
    slope: Array | float = 0.0
    z0: Array | None = None

    def __init__(self, z0: Array | None = None) -> None:
        if z0 is not None:
            plain = type(z0) is np.ndarray and z0.dtype == np.float64
            start: Array = check_finite(z0 if plain else as_float_array(z0, "z0"), "z0")
            if not start.size:
                raise ValueError(f"z0 must not be empty, found shape {tuple(start.shape)}")
            self.z0 = start
            self.slope = self.phi_gradient(self.z0)

    def phi(self, y: Array) -> float:
        """Return phi(y)."""
        raise CapabilityError(f"w = {self!r} has no method value")

    def phi_gradient(self, y: Array) -> Array:
        """Return a subgradient of phi at ``y``, up to a constant where sums are fixed."""
        raise CapabilityError(
            f"w = {self!r} has no method gradient, so it cannot be shifted to y0: leave y0 out to "
            "start at its own minimiser w.z0"
        )

    def value(self, y: Array) -> float:
        """Return w(y), up to a constant."""
        return self.phi(y) - float(np.sum(to_host(self.slope * y)))

    def gradient(self, y: Array) -> Array:
        """Return a subgradient of w at ``y``."""
        return self.phi_gradient(y) - self.slope

    def step(self, H: Regularizer) -> Step:
        """Return the function (g, lam) -> argmin <g, y> + H(y) + lam w(y)."""
        step = self.phi_step(H)
        if isinstance(self.slope, float) or not np.any(to_host(self.slope)):
            return step
        return lambda g, lam: step(g - lam * self.slope, lam)

    def phi_step(self, H: Regularizer) -> Step:
        """Return the step with phi in place of w, or say for which mirror maps H has one."""
        method = METHODS[self.geometry]
        if not H.has(method):
            own = [MIRRORS[name].__name__ for name, method in METHODS.items() if H.has(method)]
            raise CapabilityError(
                f"no minimisation step is known for H = {H!r} with w = {type(self).__name__}: it "
                f"has one for w = {', '.join([*own, 'Same(H)'])}, or for a w of your own with a "
                "method prox(H, g, lam)"
            )
        return getattr(H, method)


class Euclidean(Mirror, anywhere=True):
    r"""Half the squared distance, :math:`w(y) = \tfrac12 \|y - z_0\|_2^2`.

    Parameters
    ----------
    z0 : array, optional
        Centre, 0 by default; `minimize_composite` moves a map without one to the run's start.
    """

    geometry = "euclidean"

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
    geometry = "entropy"

    def phi(self, y: Array) -> float:
        return entropy(y)

    def phi_gradient(self, y: Array) -> Array:
        return entropy_slope(y)


class PNormMirror(Mirror):
    r"""A squared l_p norm, :math:`w(y) = \frac{1}{2 (p-1)} \|y\|_p^2`, 1 < p <= 2.

    Parameters
    ----------
    p : float
        The exponent; the minimisation step is known where it is that of `SquaredPNorm`.
    z0 : array, optional
        Where w, with a linear term added, is minimised; 0 by default; as for `Euclidean`.
    """

    geometry = "pnorm"

    def __init__(self, p: float, z0: Array | None = None) -> None:
        self.p = exponent(p)
        self.norm = f"l{self.p!r}"
        super().__init__(z0)

    def phi(self, y: Array) -> float:
        return half_square(y, self.p)

    def phi_gradient(self, y: Array) -> Array:
        return half_square_gradient(y, self.p)

    def phi_step(self, H: Regularizer) -> Step:
        super().phi_step(H)  # refuses an H without a step
        return lambda g, lam: H.pnorm_prox(g, lam, self.p)


METHODS = {"euclidean": "prox", "entropy": "entropic_prox", "pnorm": "pnorm_prox"}
MIRRORS = {"euclidean": Euclidean, "entropy": EntropyMirror, "pnorm": PNormMirror}


class Same(Mirror):
    r"""The regulariser itself, :math:`w(y) = H(y) - \langle s, y\rangle`.

    The minimisation step is then the minimisation of a linear function plus H, so no other prox is
    needed. With H = f* and s = x_0 Algorithm 1 is parallel Frank-Wolfe (Algorithm 2).

    Parameters
    ----------
    H : Regularizer
        The simple term of the problem.
    slope : array, optional
        s, a subgradient of H at the start of the run; by default 0, so that w is minimised where H
        is. With ``y0`` it is H's own (`Regularizer.subgradient`), where H tells one.
    """

    geometry = "same"

    def __init__(self, H: Regularizer, slope: Array | None = None) -> None:
        self.H = instance(Regularizer, "a regulariser (wolfpack.regularizers)")(H, "H")
        self.nu = H.mu
        self.norm = H.norm
        if slope is not None:
            self.slope = as_array(slope, "slope")
            self.z0 = H.argmin(-self.slope)

    def phi(self, y: Array) -> float:
        return self.H.value(y)

    def phi_gradient(self, y: Array) -> Array:
        if self.H.has("subgradient"):
            return self.H.subgradient(y)
        raise CapabilityError(
            f"w = H = {self.H!r} cannot be shifted to y0: leave y0 out, or pass Same(H, slope=s) "
            "with s a subgradient of H at y0"
        )

    def phi_step(self, H: Regularizer) -> Step:
        return lambda g, lam: H.argmin(g / (1.0 + lam))


class Shifted(Mirror, anywhere=True):
    r"""A mirror map moved to another start, :math:`w(y) - \langle g_w(z_0), y\rangle`.

    Parameters
    ----------
    w : Mirror or a mirror map of your own with a method ``gradient``
        The map to shift.
    z0 : array
        Where the shifted map is minimised.
    """

    def __init__(self, w: object, z0: Array) -> None:
        self.base = w if isinstance(w, Mirror) else OwnMirror(w)
        self.nu, self.norm = self.base.nu, self.base.norm
        super().__init__(z0)

    def phi_gradient(self, y: Array) -> Array:
        return self.base.gradient(y)

    def value(self, y: Array) -> float:
        return self.base.value(y) - inner(self.slope, y)

    def phi_step(self, H: Regularizer) -> Step:
        return self.base.step(H)


class OwnMirror(Mirror, anywhere=True):
    """A user's object with ``nu``, ``z0`` and ``prox(H, g, lam)``, as a mirror map."""

    def __init__(self, w: Any) -> None:
        words = ("nu", "z0", "prox", "norm", "value", "gradient")
        self._found = {name for name in words if hasattr(w, name)}
        missing = [name for name in words[:3] if name not in self._found]
        if missing:
            raise TypeError(
                f"w must be a mirror map (wolfpack.regularizers) or an object with nu, z0 and "
                f"prox(H, g, lam), found {shown(w)}, which has no {', '.join(missing)}"
            )
        self.w, self.nu, self.z0 = w, w.nu, w.z0
        self.norm = w.norm if "norm" in self._found else "l2"

    def phi(self, y: Array) -> float:
        return self.w.value(y) if "value" in self._found else super().phi(y)

    def phi_gradient(self, y: Array) -> Array:
        return self.w.gradient(y) if "gradient" in self._found else super().phi_gradient(y)

    def phi_step(self, H: Regularizer) -> Step:
        return partial(self.w.prox, H)

    def __repr__(self) -> str:
        return repr(self.w)
