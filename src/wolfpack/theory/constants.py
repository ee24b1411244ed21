"""Constants of a norm, of a noise law and of a set: rho, the curvature of s_alpha, and s_1(0)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from math import e, log, prod, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .. import noise as noise_laws
from ..arrays import ArgumentError
from ..noise import Noise
from ..problem.checks import Kind, at_least, choice, count, positive, shown, whole
from ..problem.checks import seed as seeds
from ._check import formula

if TYPE_CHECKING:
    from ..sets import Set

LIFTED = "lifted"

_BATCH_ENTRIES = 2**22  # numbers in one batch of draws: 32 MiB
_MAX_ENTRIES = 2**27  # numbers in all draws; higher dimensions get fewer samples


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error; the error of a closed form is zero."""

    value: float
    error: float

    def __float__(self) -> float:
        return self.value


_Estimates: TypeAlias = dict[tuple[Noise, int, int], Estimate]
_KNOWN: dict[int, _Estimates] = {}
"""Estimates of s_1(0) by the id of the set, then by law, seed and number of samples."""


def _set_with(*parts: str) -> Kind:
    """A set, or an object that has these attributes of one."""

    def kind(K: object, name: str) -> object:
        if isinstance(K, type) or not all(hasattr(K, part) for part in parts):
            raise ArgumentError(f"{name} must be a set (wolfpack.sets), found {shown(K)}")
        return K

    return kind


@formula(p=at_least(1), d=count)
def rho(p: float, d: int) -> float:
    r"""The norm constant of Assumption 2: the variance of a mean of m answers in the l_p norm.

    .. math::
        \rho = d^{2/p - 1} \ (1 \le p < 2), \qquad
        \min\{p - 1, \ e^2 (\log d + 1)\} \ (2 \le p \le \infty),

    for which E||mean of m independent answers - its mean||_p^2 <= 4 R^2 rho / m.

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


@formula(K=_set_with("shape", "radius"), alpha=positive, constants=choice("paper", "sharp"))
def smoothness(K: Set, noise: str | Noise, alpha: float, constants: str = "sharp") -> float:
    r"""A constant beta for which s_alpha is beta-smooth in the Euclidean norm.

    ``"paper"``: R_K M / alpha with M^2 = E||grad eta||^2 (Proposition 2 of the paper).
    ``"sharp"``: the smaller of R_K sqrt(lambda_max(F)) / alpha, F the Fisher information
    (Theorem S1), and of what the set itself knows (``K.smoothness(noise)``; Proposition S3).

    Parameters
    ----------
    K : Set
        With ``radius`` and ``shape``.
    noise : str or Noise
        ``"lifted"`` stands for Gumbel noise on the scores of the vertices, where the set has it.
    alpha : float
        Smoothing, positive.
    """
    if isinstance(noise, str) and noise == LIFTED:
        return _lifted(K, "smoothness") / alpha
    law = noise_laws.get(noise)
    beta = K.radius * law.M(prod(K.shape), constants)
    known = _closed_form(K, "smoothness", law) if constants == "sharp" else None
    return (beta if known is None else min(beta, known)) / alpha


@formula(K=_set_with("shape", "support"), seed=seeds, samples=whole(2, 2**31))
def s1(K: Set, noise: str | Noise, seed: int = 0, samples: int = 4096) -> Estimate:
    r"""s_1(0) = E max over x in K of <x, Delta>: the bias of smoothing is at most alpha s_1(0).

    The set's closed form (``K.smoothed_at_zero(noise)``) where it has one, else the mean of
    ``K.support`` over draws, computed once for each set, law, seed and number of samples.

    Parameters
    ----------
    K, noise
        As in `smoothness`.
    seed, samples : int
        Seed and number of the draws, >= 2; fewer, but at least 64, are taken in dimensions above
        32,768.

    Examples
    --------
    >>> from wolfpack import sets, theory
    >>> theory.s1(sets.Simplex(50), "gumbel")
    Estimate(value=3.912023005428146, error=0.0)
    """
    if isinstance(noise, str) and noise == LIFTED:
        return Estimate(_lifted(K, "smoothed_at_zero"), 0.0)
    law = noise_laws.get(noise)
    exact = _closed_form(K, "smoothed_at_zero", law)
    if exact is not None:
        return Estimate(float(exact), 0.0)
    known = _known_for(K)
    if (law, seed, samples) not in known:
        known[law, seed, samples] = _mean_support(K, law, seed, samples)
    return known[law, seed, samples]


def _closed_form(K: Set, constant: str, noise: str | Noise) -> float | None:
    """A constant from the set's method of that name, None without a method or a formula."""
    method = getattr(K, constant, None)
    return None if method is None else method(noise)


def _lifted(K: Set, constant: str) -> float:
    """A constant of smoothing by noise on the vertices' scores (docs/theory/smoothing.md)."""
    value = _closed_form(K, constant, LIFTED)
    if value is None:
        raise ValueError(f"noise='lifted' needs a set with lifted smoothing, which {K!r} lacks")
    return float(value)


def _known_for(K: Set) -> _Estimates:
    """Estimates already made for this very object; they are forgotten when it is deleted."""
    if id(K) not in _KNOWN:
        try:
            weakref.finalize(K, _KNOWN.pop, id(K), None)
        except TypeError:  # Without weak references nothing would tell when to forget.
            return {}
        _KNOWN[id(K)] = {}
    return _KNOWN[id(K)]


def _mean_support(K: Set, law: Noise, seed: int, samples: int) -> Estimate:
    d = prod(K.shape)
    samples = min(samples, max(64, _MAX_ENTRIES // d))
    # The second word of the key keeps these draws apart from those of a solver with this seed.
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, 1], dtype=np.uint64)))
    batch = max(1, min(samples, _BATCH_ENTRIES // d))
    values = np.empty(samples)
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        values[start : start + count] = K.support(law.sample(rng, (count, *K.shape)))
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / sqrt(samples))
