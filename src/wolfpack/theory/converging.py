"""Algorithm 1 with polynomial weights: it converges to the minimum, not to a ball (Theorem C1).

    A_k = (1 - theta) nu / 4 * k (k+1) max(1, (k+2) / (k_star+2)),
    k_star = the least k >= 1 with k (k+3) >= 9 beta / ((1 - theta) mu).

So tau_k = 2 / (k+2) up to k_star, where the mirror term beta w is what controls the step, and
tau_k = 3 / (k+3) from there on, where the strong convexity of H is enough.
The proof is in docs/theory/composite.md.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np
from numpy.typing import ArrayLike

from ..problem.checks import nonnegative, positive, whole
from . import _check, unchecked
from ._check import PerRound, Rounds, formula
from .anytime import batch_sizes


@formula(beta=positive, mu=positive, theta=_check.share)
def converging_switch(beta: float, mu: float, theta: float = 0.5) -> int:
    """k_star, the least k >= 1 with k (k+3) >= 9 beta / ((1 - theta) mu): the step then changes."""
    need = 9.0 * beta / mu / (1.0 - theta)
    return max(1, ceil((sqrt(9.0 + 4.0 * need) - 3.0) / 2.0))


@formula(beta=positive, mu=positive, nu=positive, theta=_check.share)
def converging_weight(
    k: Rounds, beta: float, mu: float, nu: float, *, theta: float = 0.5
) -> PerRound:
    """A_k of the converging form of Algorithm 1; tau_k = 1 - A_k / A_{k+1}.

    Parameters
    ----------
    k : int or array of int
        Index, >= 0; A_0 = 0.
    beta, mu, nu : float
        Smoothness of G, strong convexity of H and of w; positive.
    theta : float
        Share of the curvature kept to absorb the noise of the gradients, in [0, 1).

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.converging_weight([0, 1, 2, 3], beta=1.0, mu=1.0, nu=4.0, theta=0.0).tolist()
    [0.0, 2.0, 6.0, 15.0]
    """
    at = _check.rounds("k", k, least=0)
    switch = converging_switch(beta, mu, theta)
    unit = (1.0 - theta) * nu / 4.0
    x = at.astype(np.float64)
    return _check.like(at, unit * x * (x + 1.0) * np.maximum(1.0, (x + 2.0) / (switch + 2.0)))


@formula(k=whole(0), A_k=nonnegative, beta=positive, mu=positive, nu=positive, theta=_check.share)
def next_converging_weight(
    k: int, A_k: float, beta: float, mu: float, nu: float, theta: float = 0.5
) -> tuple[float, float]:
    """A_{k+1} and tau_k of the converging form, from k and A_k."""
    return unchecked.next_converging_weight(k, A_k, beta, mu, nu, theta)


@formula(
    beta=positive,
    mu=positive,
    nu=positive,
    divergence=nonnegative,
    variance=nonnegative,
    theta=_check.share,
)
def bound_converging(
    N: Rounds,
    beta: float,
    mu: float,
    nu: float,
    divergence: float,
    variance: float = 0.0,
    *,
    theta: float = 0.5,
    m: float | Callable[[np.ndarray], ArrayLike] = 1,
) -> PerRound:
    r"""Theorem C1: E[F(y_N) - F(y_star)] for the converging form of Algorithm 1.

    .. math::
        \frac{\beta D}{A_N} + \frac{1}{A_N} \sum_{k<N}
        \frac{a_k^2 \sigma^2 / m_k}{2 (\mu A_k + \beta \nu - \beta a_k^2 / A_{k+1})},
        \qquad a_k = A_{k+1} - A_k,

    at most 4 beta D / ((1 - theta) nu N (N+1)) + O(sigma^2 / (mu N)) for m_k = 1.

    Parameters
    ----------
    N : int or array of int
        Iterations done, >= 1.
    beta, mu, nu, theta : float
        As in `converging_weight`.
    divergence, variance : float
        D = D_w(y_star, y_0), and sigma^2, the variance of one stochastic gradient.
    m : number or callable
        Stochastic gradients averaged in round k: m, or k -> m_k (vectorised, k from 0).
    """
    at = _check.rounds("N", N, most=_check.MAX_TABLE)
    k = np.arange(int(at.max()))
    A = converging_weight(np.arange(k.size + 1), beta, mu, nu, theta=theta)
    a = np.diff(A)
    slack = mu * A[:-1] + beta * nu - beta * a**2 / A[1:]
    noise = np.cumsum(a**2 * variance / (2.0 * batch_sizes(m, k) * slack))
    return _check.like(at, ((beta * divergence + noise) / A[1:])[at - 1])
