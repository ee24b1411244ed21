"""Constants of a norm, of a noise law and of a set: rho, the curvature of s_alpha, and s_1(0)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from math import e, inf, log, prod, sqrt
from typing import Any

import numpy as np

from .. import noise as noise_laws
from . import _check

LIFTED = "lifted"

_KEPT: dict[int, dict[Any, Estimate]] = {}
_ENTRIES = 2**22  # entries of one batch of draws: 32 MiB
_MOST_DRAWS = 2**27  # entries in all; beyond, fewer samples are taken and the error says so


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error; the error of a closed form is zero."""

    value: float
    error: float

    def __float__(self) -> float:
        return self.value


def rho(p: float, d: int) -> float:
    r"""The norm constant of Assumption 2: the variance of a mean of m answers in the l_p norm.

    .. math::
        \rho = d^{2/p - 1} \ (1 \le p < 2), \qquad
        \min\{p - 1, \ e^2 (\log d + 1)\} \ (2 \le p \le \infty),

    for which E||mean of m independent answers - its mean||_p^2 <= 4 R^2 rho / m.

    Parameters
    ----------
    p : float
        Exponent of the norm in which K and its answers are measured, 1 <= p <= inf.
    d : int
        Dimension.

    Returns
    -------
    float

    Notes
    -----
    The paper's appendix has 2 (log d + 1) for p = inf; its last inequality holds for d <= 2 only.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.rho(2, 50), theory.rho(1, 50), theory.rho(4, 50)
    (1.0, 50.0, 3.0)
    """
    size = float(_check.rounds("d", d))
    p = inf if p == inf else _check.number("p", p, least=1.0, strict=False)
    if p < 2.0:
        return size ** (2.0 / p - 1.0)
    return min(p - 1.0, e**2 * (log(size) + 1.0))


def smoothness(K: Any, noise: Any, alpha: float, constants: str = "sharp") -> float:
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
    constants : {"sharp", "paper"}

    Returns
    -------
    float
    """
    alpha = _check.number("alpha", alpha)
    _check.choice("constants", constants, ("paper", "sharp"))
    if isinstance(noise, str) and noise == LIFTED:
        return _lifted(K, "smoothness") / alpha
    law = noise_laws.get(noise)
    beta = K.radius * law.M(prod(K.shape), constants)
    own = getattr(K, "smoothness", None) if constants == "sharp" else None
    known = own(law) if own is not None else None
    return (beta if known is None else min(beta, known)) / alpha


def s1(K: Any, noise: Any, seed: int = 0, samples: int = 4096) -> Estimate:
    r"""s_1(0) = E max over x in K of <x, Delta>: the bias of smoothing is at most alpha s_1(0).

    The set's closed form (``K.smoothed_at_zero(noise)``) where it has one, else the mean of
    ``K.support`` over draws, computed once for each set, law, seed and number of samples.

    Parameters
    ----------
    K : Set
    noise : str or Noise
        ``"lifted"`` as in `smoothness`.
    seed : int
        Seed of the draws.
    samples : int
        Number of draws, >= 2; fewer, but at least 64, are taken in dimensions above 32,768.

    Returns
    -------
    Estimate
        ``value`` and ``error``, the standard error, zero for a closed form.

    Examples
    --------
    >>> from wolfpack import sets, theory
    >>> theory.s1(sets.Simplex(50), "gumbel")
    Estimate(value=3.912023005428146, error=0.0)
    """
    samples = int(_check.rounds("samples", samples, least=2))
    seed = int(_check.rounds("seed", seed, least=0))
    if isinstance(noise, str) and noise == LIFTED:
        return Estimate(_lifted(K, "smoothed_at_zero"), 0.0)
    law = noise_laws.get(noise)
    closed = getattr(K, "smoothed_at_zero", None)
    exact = closed(law) if closed is not None else None
    if exact is not None:
        return Estimate(float(exact), 0.0)
    kept = _kept_for(K)
    if (law, seed, samples) not in kept:
        kept[law, seed, samples] = _mean_support(K, law, seed, samples)
    return kept[law, seed, samples]


def _lifted(K: Any, constant: str) -> float:
    """A constant of smoothing by noise on the vertices' scores (docs/theory/smoothing.md)."""
    method = getattr(K, constant, None)
    value = method(LIFTED) if method is not None else None
    if value is None:
        raise ValueError(f"noise='lifted' needs a set with lifted smoothing, which {K!r} lacks")
    return float(value)


def _kept_for(K: Any) -> dict[Any, Estimate]:
    """Estimates already made for this very object, forgotten when it is."""
    if id(K) not in _KEPT:
        try:
            weakref.finalize(K, _KEPT.pop, id(K), None)
        except TypeError:  # no weak reference, so nothing would tell when to forget
            return {}
        _KEPT[id(K)] = {}
    return _KEPT[id(K)]


def _mean_support(K: Any, law: Any, seed: int, samples: int) -> Estimate:
    d = prod(K.shape)
    samples = min(samples, max(64, _MOST_DRAWS // d))
    # the second word of the key keeps these draws apart from those of a solver with this seed
    rng = np.random.Generator(np.random.Philox(key=np.array([seed, 1], dtype=np.uint64)))
    batch = max(1, min(samples, _ENTRIES // d))
    values = np.empty(samples)
    for start in range(0, samples, batch):
        count = min(batch, samples - start)
        values[start : start + count] = K.support(law.sample(rng, (count, *K.shape)))
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / sqrt(samples))
