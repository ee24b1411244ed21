r"""Norms other than the Euclidean one, by their constants (docs/theory/paper.md).

Theorems 1 to 3 hold in every norm in which f is L-smooth, K has radius R and s_alpha is
B/alpha-smooth. A norm enters through two numbers,

.. math:: c \|x\|_2 \le \|x\| \le C \|x\|_2 ,

through rho, the constant of Assumption 2, and through what a set or an objective knows about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np

from ..noise import Noise
from ..problem import checks
from ..problem.checks import as_float, at_least, checked, count, shown
from ._check import formula

if TYPE_CHECKING:
    from ..sets import Set

NormLike = str | float | Sequence[float]
"""A name ("l2", "l1", "linf", "l1.5"), an exponent, or the pair (c, C)."""


@dataclass(frozen=True)
class Norm:
    r"""A norm in which x is measured: :math:`c \|x\|_2 \le \|x\| \le C \|x\|_2`.

    Attributes
    ----------
    c, C : float
        The constants above, on the space of K.
    rho : float
        The constant of Assumption 2: the mean of m independent centred vectors of norm at most 2 R
        has E||mean||^2 <= 4 R^2 rho / m. It is at most C^2/c^2.
    p : float or None
        The exponent of an l_p norm, None for another norm.
    """

    c: float
    C: float
    rho: float
    p: float | None = None

    def variance(self, R: float, m: float, constants: str) -> float:
        """Return a bound on E||mean of m answers - its mean||^2, K of radius R in this norm.

        ``"paper"``: 4 R^2 rho / m. ``"sharp"``: also at most R^2 C^2/c^2 / m (Proposition S2).
        """
        factor = 4.0 * self.rho
        return (factor if constants == "paper" else min(factor, (self.C / self.c) ** 2)) * R**2 / m

    def smoothness_of(self, L: float, L1: float | None = None) -> float:
        """Return L of f in this norm, from L in the Euclidean and L1 in the l_1 norm."""
        if L1 is None or self.p is None or self.p >= 2.0:
            return L / self.c**2
        share = 2.0 * (1.0 - 1.0 / self.p)  # Riesz and Thorin: between l_1 and l_2
        return L1 ** (1.0 - share) * L**share

    def radius_of(self, K: Set, constants: str = "sharp") -> float:
        """Return R in this norm: about 0 as in the paper, about a good centre when sharp."""
        radius = self.C * (K.radius if constants == "paper" else K.centred_radius)
        if self.p is None or self.p >= 2.0:
            return radius
        return min(radius, K.absolute_support(np.ones(K.shape)))  # ||x||_p <= ||x||_1

    def curvature_of(self, K: Set, noise: Noise | str, B: float, constants: str = "sharp") -> float:
        r"""Return B such that s_alpha is B/alpha-smooth in this norm, from the Euclidean B.

        The smallest of C^2 B, of R C M (Proposition 2 with M^2 the largest eigenvalue of the Fisher
        information) and, where s_alpha is a log-sum-exp, of what Corollary A4 gives: R^2 for noise
        on the scores of vertices, R over the scale for Gumbel noise on a (product of) simplices.
        """
        R = self.radius_of(K, constants)
        values = [self.C**2 * B]
        if isinstance(noise, str):  # "lifted"
            values.append(R**2)
        else:
            values.append(R * self.C * noise.M(K.dimension, constants))
            softmax = noise.name == "gumbel" and K.closed_forms[:1] == ("gumbel",)
            known = softmax and isinstance(noise.scale, float) and constants == "sharp"
            if known and self.p is not None and self.p < 2.0:
                values.append(K.absolute_support(np.ones(K.shape)) / noise.scale)
        return min(values)


EUCLIDEAN = Norm(1.0, 1.0, 1.0, 2.0)


@checked(d=count)
def norm_of(kind: NormLike | Norm, d: int) -> Norm:
    r"""The norm of that name, exponent or pair of constants, on d coordinates.

    Parameters
    ----------
    kind : str, float or pair of floats
        "l2", "l1", "linf" or "l" and an exponent; the exponent p in [1, inf]; or (c, C) with
        c ||x||_2 <= ||x|| <= C ||x||_2, for which rho = C^2/c^2.
    d : int
        Number of coordinates.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.norm_of("l1", 4)
    Norm(c=1.0, C=2.0, rho=4.0, p=1.0)
    >>> theory.norm_of((1.0, 3.0), 4).rho
    9.0
    """
    if isinstance(kind, Norm):
        return kind
    size = d
    if isinstance(kind, tuple | list | np.ndarray):
        return _between(kind)
    p = _exponent(kind)
    ratio = size ** (abs(1.0 / p - 0.5) if isfinite(p) else 0.5)
    c, C = (1.0, ratio) if p < 2.0 else (1.0 / ratio, 1.0)
    return Norm(c, C, min(rho(p, size), (C / c) ** 2), p)


@formula(p=at_least(1), d=count)
def rho(p: float, d: int) -> float:
    r"""The norm constant of Assumption 2: the variance of a mean of m answers in the l_p norm.

    .. math::
        \rho = d^{2/p - 1} \ (1 \le p < 2), \qquad
        \min\{p - 1, \ e^2 (\log d + 1)\} \ (2 \le p \le \infty),

    for which E||mean of m independent answers - its mean||_p^2 <= 4 R^2 rho / m. Every norm has
    rho = C^2/c^2 with the constants of `norm_of`.

    Parameters
    ----------
    p, d
        Exponent of the norm in which K and its answers are measured, 1 <= p <= inf; dimension.

    Notes
    -----
    The paper's appendix has 2 (log d + 1) for p = inf; its last inequality holds for d <= 2 only.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.rho(2, 50), theory.rho(1, 50), theory.rho(4, 50)
    (1.0, 50.0, 3.0)
    """
    size = float(d)
    if p < 2.0:
        return size ** (2.0 / p - 1.0)
    return min(p - 1.0, e**2 * (log(size) + 1.0))


def _exponent(kind: Any) -> float:
    text = kind.removeprefix("l") if isinstance(kind, str) else kind
    try:
        p = float(text) if isinstance(text, str) else as_float(text)
    except ValueError:
        p = 0.0
    if not p >= 1.0:
        raise ValueError(
            "norm must be 'l1', 'l2', 'linf', an exponent of at least 1 or a pair (c, C), "
            f"found {shown(kind)} as its kind"
        )
    return p


def _between(constants: Sequence[float]) -> Norm:
    """The norm with these constants against the Euclidean one."""
    try:
        c, C = constants
    except (TypeError, ValueError):
        raise ValueError(
            f"norm must be a name, an exponent or a pair, found {shown(constants)}"
        ) from None
    c, C = (checks.extent(value, "norm=(c, C): each") for value in (c, C))
    if c > C:
        raise ValueError(f"norm=(c, C) must satisfy c <= C, found {shown(constants)}")
    return Norm(c, C, (C / c) ** 2)
