"""Constants of a noise law and of a set: the curvature of s_alpha, and s_1(0)."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import issparse

from .. import noise as noise_laws
from ..arrays import ArgumentError, Array, as_float_array, inner, namespace, sum_last, to_host
from ..noise import Noise
from ..problem import spend, under_way
from ..problem.checks import seed as seeds
from ..problem.checks import shown, whole
from . import _check
from ._check import formula
from .norms import EUCLIDEAN, Norm, NormLike, norm_of

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


def _set(K: object, name: str) -> object:
    """A set, or an object that has the shape and some methods of one."""
    if isinstance(K, type | np.ndarray | np.generic) or issparse(K) or not hasattr(K, "shape"):
        raise ArgumentError(f"{name} must be a set (wolfpack.sets), found {shown(K)}")
    return K


@formula(K=_set)
def smoothness(
    K: Set,
    noise: str | Noise,
    alpha: float,
    constants: str = "sharp",
    norm: NormLike | Norm = EUCLIDEAN,
) -> float:
    r"""A constant beta for which s_alpha is beta-smooth.

    ``"paper"``: R_K M / alpha with M^2 = E||grad eta||^2 (Proposition 2 of the paper).
    ``"sharp"``: the smaller of R sqrt(lambda_max(F)) / alpha, F the Fisher information and R the
    radius about a good centre (Theorem S1), and of what the set itself knows
    (``K.smoothness(noise)``; Proposition S3).

    Parameters
    ----------
    K : Set
        With ``radius``, ``centred_radius`` and ``shape``.
    noise : str or Noise
        ``"lifted"`` stands for Gumbel noise on the scores of the vertices, where the set has it.
    alpha : float
        Smoothing, positive.
    norm
        The norm in which the gradients of s_alpha are measured, as in `norm_of`; Euclidean by
        default.
    """
    alpha = _check.number("alpha", alpha)
    _check.choice("constants", constants, ("paper", "sharp"))
    law = noise if isinstance(noise, str) and noise == LIFTED else noise_laws.get(noise)
    if isinstance(law, str):
        B = _lifted(K, "smoothness")
    else:
        R = K.radius if constants == "paper" else K.centred_radius
        B = R * law.M(prod(K.shape), constants)
        known = _closed_form(K, "smoothness", law) if constants == "sharp" else None
        B = B if known is None else min(B, known)
    measured = norm_of(norm, prod(K.shape))
    return (B if measured.p == 2.0 else measured.curvature_of(K, law, B, constants)) / alpha


@formula(K=_set, seed=seeds, samples=whole(2, 2**31))
def s1(K: Set, noise: str | Noise, seed: int = 0, samples: int = 4096) -> Estimate:
    r"""s_1(0) = E max over x in K of <x, Delta>: the bias of smoothing is at most alpha s_1(0).

    The set's closed form (``K.smoothed_at_zero(noise)``) where it has one, else `mean_width` of the
    answers to draws, computed once for each set, law, seed and number of samples. It is never
    negative, wherever K lies.

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
    # A run counts its oracle calls, which must not depend on the runs before it.
    known = _known_for(K) if under_way() is None else {}
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

    def draws() -> Iterator[np.ndarray]:
        for start in range(0, samples, batch):
            yield law.sample(rng, (min(batch, samples - start), *K.shape))

    return mean_width(K, draws())


@formula(K=_set)
def mean_width(K: Set, directions: Iterable[Array]) -> Estimate:
    r"""E s(u) for centred directions u, from the oracle's answers v_i to independent draws u_i.

    .. math:: \frac{1}{n-1} \sum_{i=1}^n \langle u_i - \bar u, v_i - \bar v\rangle

    Parameters
    ----------
    K : Set
        Its oracle answers every direction once.
    directions : iterable of arrays
        Batches of independent directions of mean zero, two of them at least.

    Notes
    -----
    This is the mean of <u_i, v_i - c_i>, c_i being the mean of the other answers. As c_i does not
    depend on u_i, the estimate is unbiased; as c_i is in K, no term is negative. What the position
    of K adds to <u_i, v_i>, noise of mean zero, is gone. The sum of <u_i, v_i> alone has a standard
    deviation that grows with the distance of K from 0, and may come out negative.
    """
    n, products, values = 0, 0.0, []
    total_u: Array = 0.0
    total_v: Array = 0.0
    number = isinstance(directions, np.ndarray) and directions.ndim == 0
    if number or not isinstance(directions, Iterable):
        raise ArgumentError(f"directions must be batches of arrays, found {shown(directions)}")
    for batch in directions:
        u = as_float_array(batch, "directions")
        if tuple(u.shape[1:]) != tuple(K.shape):
            raise ArgumentError(
                f"directions must be batches of shape (batch, *{K.shape}), found {u.shape}"
            )
        count = u.shape[0]
        spend(count)
        answers = K.lmo(-u)
        own = np.asarray(to_host(answers.dot(u)), dtype=np.float64)
        n, products = n + count, products + float(own.sum())
        total_u = total_u + namespace(u).sum(u, axis=0)
        total_v = total_v + count * answers.mean()
        centre = total_v / n
        values.append(own - np.asarray(to_host(sum_last(u * centre, len(K.shape)))))
    if n < 2:
        raise ValueError(f"directions must be two at least, found {n}")
    value = (products - inner(total_u, total_v) / n) / (n - 1)
    error = float(np.concatenate(values).std(ddof=1)) / sqrt(n)
    return Estimate(max(0.0, value), error)
