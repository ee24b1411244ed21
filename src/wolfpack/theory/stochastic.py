r"""Frank-Wolfe from random gradients: what is proved of its rounds (Theorems N1 to N3).

The proofs are in docs/theory/stochastic.md.
"""

from __future__ import annotations

import numpy as np

from ..problem.checks import nonnegative, optional, positive, whole
from . import _check, unchecked
from ._check import PerRound, Rounds, formula


@formula(width=nonnegative, curvature=nonnegative, first=nonnegative, age=whole(0))
def bound_table(
    N: Rounds, *, width: float, curvature: float, first: float, age: int = 0
) -> PerRound:
    r"""Theorem N1: the certified gap of the averaged table, in every round and surely.

    .. math:: \Gamma_N \le \frac{16 r W + 2 C}{N + 1} + \frac{2 r (2 r + 1) E}{N (N + 1)}

    Parameters
    ----------
    N : int or array of int
        Index of the iterate: x_N comes after N rounds, N >= 1.
    width : float
        W, the sum over the rows of l_i w_i^2, w_i the width max <a_i, u - v> over K, and l_i the
        smoothness of the term.
    curvature : float
        C, the largest sum of l_i <a_i, u - v>^2; at most W.
    first : float
        E, a bound on the error of a table with rows that no round has seen: the largest sum of
        \|theta_i - theta_i'\| w_i and of Fenchel-Young gaps.
    age : int
        r, how many rounds ago a row may have been seen: at most 2 T - 2 where a pass takes T.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.bound_table([9, 99], width=4.0, curvature=1.0, first=2.0).tolist()
    [0.2, 0.02]
    """
    at = _check.rounds("N", N)
    n = at.astype(np.float64)
    slow = (16.0 * age * width + 2.0 * curvature) / (n + 1.0)
    return _check.like(at, slow + 2.0 * age * (2.0 * age + 1.0) * first / (n * (n + 1.0)))


@formula(L=positive, C=positive, s1=positive, variance=nonnegative, theta=optional(_check.share))
def stochastic_alpha(
    k: Rounds, *, L: float, C: float, s1: float, variance: float, theta: float = 0.0
) -> PerRound:
    r"""The smoothing of round k >= 1 for which Theorem N3 holds.

    .. math:: \alpha_k = \max\Bigl( \frac{18 L C}{(1-\theta) k (k+3)},\
        s \sqrt{\frac{9 C}{2 s_1(0) k}} \Bigr)

    Parameters
    ----------
    k : int or array of int
        Round, >= 1.
    L, C : float
        Smoothness of f; s_alpha is C / alpha-smooth.
    s1 : float
        s_1(0).
    variance : float
        s^2, a bound on the variance of a round's gradient.
    theta : float
        Share of the curvature kept to absorb sampling noise, in [0, 1); 0 for exact smoothing.
    """
    at = _check.rounds("k", k)
    noise, theta = float(np.sqrt(variance)), theta or 0.0
    found = [unchecked.stochastic_alpha(int(j), L, C, s1, noise, theta) for j in at.ravel()]
    return _check.like(at, np.reshape(found, at.shape))


@formula(
    L=positive,
    C=positive,
    s1=positive,
    variance=nonnegative,
    initial_gap=nonnegative,
    sampling=nonnegative,
    theta=optional(_check.share),
)
def bound_stochastic(
    N: Rounds,
    *,
    L: float,
    C: float,
    s1: float,
    variance: float,
    initial_gap: float,
    sampling: float = 0.0,
    theta: float | None = None,
) -> PerRound:
    r"""Theorem N3: E[f(x_N)] - min f of the anytime method with random gradients, sums computed.

    Parameters
    ----------
    N : int or array of int
        Index of the iterate: x_1 is the first, x_N comes after N - 1 further rounds.
    L, C, s1, variance : float
        As for `stochastic_alpha`.
    initial_gap : float
        A bound on the mean of max over v in K of <z_1, x_1 - v>, z_1 the first random gradient: the
        Frank-Wolfe gap at x_1 plus s times the diameter is one.
    sampling : float
        The variance of a round's answer, R^2 / m with m perturbed oracles; 0 for exact smoothing.
    theta : float, optional
        As for `stochastic_alpha`; 1/2 by default, and 0 with exact smoothing.

    Examples
    --------
    >>> from wolfpack import theory
    >>> problem = dict(L=1.0, C=1.0, s1=4.0, initial_gap=2.0)
    >>> b = theory.bound_stochastic([10**4, 10**6], variance=1.0, **problem)
    >>> (b * [10**2, 10**3]).round(2).tolist()
    [10.18, 10.18]
    """
    at = _check.rounds("N", N, most=_check.MAX_TABLE)
    theta = (0.5 if sampling > 0.0 else 0.0) if theta is None else theta
    if theta == 0.0 and sampling > 0.0:
        raise ValueError("theta must be positive where answers are sampled, found 0")
    k = np.arange(1.0, int(at.max()) + 1)
    smooth = 18.0 * L * C / ((1.0 - theta) * k * (k + 3.0))
    alpha = np.maximum(smooth, np.sqrt(4.5 * variance * C / (s1 * k)))
    A = k * (k + 1.0) * (k + 2.0) / 6.0
    a = (k + 1.0) * (k + 2.0) / 2.0
    steps = a * alpha * s1 + a**2 / (A + a) * C / (2.0 * alpha) * 3.0 * variance
    if sampling > 0.0:
        steps += a**2 / A * L * sampling / (2.0 * theta)
    total = initial_gap + alpha[0] * s1 + np.concatenate(([0.0], np.cumsum(steps[:-1])))
    return _check.like(at, (total / A)[at - 1])
