"""The weights A_k of Algorithms 1 and 2, and how fast they grow.

A_{k+1} is the larger root of

    beta (A' - A)^2 + sqrt(mu beta) A' (A' - A) = A' (mu A + beta nu),          A_0 = 0,

the largest weight for which the proof of Proposition 3 of the paper cancels ||z_{k+1} - z_k||^2.
In terms of tau = 1 - A/A' it reads beta tau^2 + (rho + e) tau - e = 0 with rho = sqrt(mu beta) and
e = mu + beta nu / A, and both tau and A' have expressions without a subtraction.
"""

from __future__ import annotations

from math import log, log1p, sqrt

import numpy as np

from ..problem.checks import at_least, between, flag, optional, positive, whole
from . import _check, unchecked
from ._check import formula


@formula(
    A_k=at_least(0),
    beta=positive,
    mu=positive,
    nu=positive,
    exact=flag,
    rho=optional(positive),
)
def next_weight(
    A_k: float,
    beta: float,
    mu: float,
    nu: float,
    exact: bool = False,
    rho: float | None = None,
) -> tuple[float, float]:
    """A_{k+1} and tau_k = 1 - A_k / A_{k+1} (Algorithm 1, first two lines).

    With rho = sqrt(mu beta), e = mu + beta nu / A_k, q = sqrt((rho + e)^2 + 4 beta e):

        tau_k = 2 e / (rho + e + q),   A_{k+1} = A_k (2 beta + rho + e + q) / (2 (beta + rho)).

    Parameters
    ----------
    A_k : float
        Current weight, >= 0. Infinity is allowed: tau is then the limit of the steps.
    beta, mu, nu : float
        Smoothness of G, strong convexity of H and of w; all positive.
    exact : bool
        Whether gradients are free of noise: rho = 0 and the larger weights of Proposition P2.
    rho : float, optional
        Another share for noise than sqrt(mu beta): any rho_k > 0 of Proposition P2 (Theorem C4).

    Notes
    -----
    Weights grow geometrically and become infinite in long runs. Form ratios from tau, in (0, 1],
    which stays accurate: (A_{k+1} - A_k) / A_{k+1} = tau and (A_{k+1} - A_k) / (A_{k+1} + beta)
    = tau / (1 + beta / A_{k+1}).
    """
    return unchecked.next_weight(A_k, beta, mu, nu, exact, rho)


@formula(
    A_k=at_least(0),
    A_next=at_least(0),
    tau=between(0, 1),
    pace=at_least(0),
    mu=positive,
    gamma_nu=positive,
)
def capped_weight(
    A_k: float, A_next: float, tau: float, pace: float, mu: float, gamma_nu: float
) -> tuple[float, float]:
    """A_{k+1} and tau_k, made smaller where a_k = A_{k+1} - A_k exceeds pace (mu A_k + gamma nu).

    Parameters
    ----------
    A_k : float
        Current weight, >= 0.
    A_next, tau : float
        What smoothness allows: see `next_weight`.
    pace : float
        The largest a_k / (mu A_k + gamma nu), which is the step of z_k along a gradient.
    mu, gamma_nu : float
        Strong convexity of H, and of w times its weight gamma.
    """
    return unchecked.capped_weight(A_k, A_next, tau, pace, mu, gamma_nu)


@formula(
    n=whole(0, _check.MAX_TABLE), beta=positive, mu=positive, nu=positive, rho=optional(positive)
)
def step_weights(n: int, beta: float, mu: float, nu: float, rho: float | None = None) -> np.ndarray:
    """A_0, ..., A_n of Algorithm 1; with mu = nu = 1/L and beta = R M / alpha, of Algorithm 2.

    Parameters
    ----------
    n : int
        Last index, >= 0.
    beta, mu, nu, rho : float
        As in `next_weight`. Weights beyond the range of a float are infinite.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.step_weights(3, beta=1.0, mu=1.0, nu=1.0).round(4).tolist()
    [0.0, 0.5, 1.4114, 2.9897]
    """
    A = np.zeros(n + 1)
    A_k = 0.0
    for k in range(1, n + 1):
        A_k, _ = unchecked.next_weight(A_k, beta, mu, nu, rho=rho)
        A[k] = A_k
    return A


def log_weight_bound(k: np.ndarray, beta: float, mu: float, nu: float, sharp: bool) -> np.ndarray:
    """Logarithm of a lower bound on A_k, k >= 1.

    With A_1 = nu sqrt(beta) / (sqrt(beta) + sqrt(mu)):

    - paper (proof of Theorem 1): A_k >= A_1 exp((k-1) sqrt(mu) / (4 (sqrt(beta) + sqrt(mu))));
    - sharp (Lemma S4): A_k >= A_1 (1 - tau)^-(k-1), tau the limit of tau_k, the root of
      beta tau^2 + (rho + mu) tau = mu.
    """
    log_A_1 = np.log(nu) - log1p(sqrt(mu / beta))
    if sharp:
        factor, tau = unchecked.growth(mu, beta, sqrt(mu) * sqrt(beta))
        rate = -log1p(-tau) if tau < 0.5 else log(factor)
    else:
        rate = sqrt(mu) / (4.0 * (sqrt(beta) + sqrt(mu)))
    return log_A_1 + (k - 1) * rate
