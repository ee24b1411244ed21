"""The weights A_k of Algorithms 1 and 2, and how fast they grow.

A_{k+1} is the larger root of

    beta (A' - A)^2 + sqrt(mu beta) A' (A' - A) = A' (mu A + beta nu),          A_0 = 0,

the largest weight for which the proof of Proposition 3 of the paper cancels ||z_{k+1} - z_k||^2.
In terms of tau = 1 - A/A' it reads beta tau^2 + (rho + e) tau - e = 0 with rho = sqrt(mu beta) and
e = mu + beta nu / A, and both tau and A' have expressions without a subtraction.
"""

from __future__ import annotations

from math import hypot, log, log1p, sqrt

import numpy as np

from . import _check


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
        Smoothness of G, strong convexity of H and of w; all positive. Not checked: solvers call
        this function in every round.
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
    if A_k == 0.0:
        share = sqrt(mu / beta) if rho is None else rho / beta
        return nu if exact else nu / (1.0 + share), 1.0
    # Products of square roots do not overflow in any unit of beta and mu.
    own = sqrt(mu) * sqrt(beta) if rho is None else rho
    growth, tau = _growth(mu + beta * nu / A_k, beta, 0.0 if exact else own)
    return A_k * growth, tau


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
        Strong convexity of H, and of w times its weight gamma. Nothing is checked.
    """
    if A_k == 0.0:
        return min(A_next, pace * gamma_nu), tau
    step = pace * (mu + gamma_nu / A_k)
    max_tau = step / (1.0 + step)
    return (A_next, tau) if tau <= max_tau else (A_k * (1.0 + step), max_tau)


def _growth(e: float, beta: float, rho: float) -> tuple[float, float]:
    """A_{k+1} / A_k and tau_k as functions of e = mu + beta nu / A_k; both increase with e."""
    root = hypot(rho + e, 2.0 * sqrt(beta) * sqrt(e))
    return (2.0 * beta + rho + e + root) / (2.0 * (beta + rho)), 2.0 * e / (rho + e + root)


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
    last = int(_check.rounds("n", n, least=0))
    beta, mu, nu = _check.positive(beta=beta, mu=mu, nu=nu)
    A = np.zeros(last + 1)
    A_k = 0.0
    for k in range(1, last + 1):
        A_k, _ = next_weight(A_k, beta, mu, nu, rho=rho)
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
        growth, tau = _growth(mu, beta, sqrt(mu) * sqrt(beta))
        rate = -log1p(-tau) if tau < 0.5 else log(growth)
    else:
        rate = sqrt(mu) / (4.0 * (sqrt(beta) + sqrt(mu)))
    return log_A_1 + (k - 1) * rate
