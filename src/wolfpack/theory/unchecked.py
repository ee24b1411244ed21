"""Weights that solvers compute in every round, without checks.

`wolfpack.theory` has functions of the same names that check their arguments and document them.
"""

from __future__ import annotations

from math import ceil, hypot, sqrt


def next_weight(
    A_k: float,
    beta: float,
    mu: float,
    nu: float,
    exact: bool = False,
    rho: float | None = None,
) -> tuple[float, float]:
    """A_{k+1} and tau_k of Algorithm 1."""
    if A_k == 0.0:
        share = sqrt(mu / beta) if rho is None else rho / beta
        return nu if exact else nu / (1.0 + share), 1.0
    # Products of square roots do not overflow in any unit of beta and mu.
    own = sqrt(mu) * sqrt(beta) if rho is None else rho
    factor, tau = growth(mu + beta * nu / A_k, beta, 0.0 if exact else own)
    return A_k * factor, tau


def capped_weight(
    A_k: float, A_next: float, tau: float, pace: float, mu: float, gamma_nu: float
) -> tuple[float, float]:
    """A_{k+1} and tau_k, made smaller where the step would exceed ``pace``."""
    if A_k == 0.0:
        return min(A_next, pace * gamma_nu), tau
    step = pace * (mu + gamma_nu / A_k)
    max_tau = step / (1.0 + step)
    return (A_next, tau) if tau <= max_tau else (A_k * (1.0 + step), max_tau)


def next_converging_weight(
    k: int, A_k: float, beta: float, mu: float, nu: float, theta: float = 0.5
) -> tuple[float, float]:
    """A_{k+1} and tau_k of the converging form."""
    need = 9.0 * beta / ((1.0 - theta) * mu)
    switch = max(1, ceil((sqrt(9.0 + 4.0 * need) - 3.0) / 2.0))
    weight = 0.25 * (1.0 - theta) * nu * (k + 1.0) * (k + 2.0)
    A_next = weight * max(1.0, (k + 3.0) / (switch + 2.0))
    return A_next, 1.0 - A_k / A_next


def stochastic_alpha(k: int, L: float, C: float, s1: float, noise: float, theta: float) -> float:
    """alpha_k of Theorem N3; ``noise`` is s, the root of the variance of a round's gradient."""
    smooth = 18.0 * L * C / ((1.0 - theta) * k * (k + 3.0))
    return max(smooth, noise * sqrt(4.5 * C / (s1 * k))) if s1 > 0.0 else smooth


def growth(e: float, beta: float, rho: float) -> tuple[float, float]:
    """A_{k+1} / A_k and tau_k as functions of e = mu + beta nu / A_k; both increase with e."""
    root = hypot(rho + e, 2.0 * sqrt(beta) * sqrt(e))
    return (2.0 * beta + rho + e + root) / (2.0 * (beta + rho)), 2.0 * e / (rho + e + root)
