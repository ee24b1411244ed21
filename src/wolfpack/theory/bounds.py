"""Theorems 1, 2 and 3 of the paper, with the constants of its 2024 correction.

Every bound comes in two strengths. ``constants="paper"`` is what the paper states;
``constants="sharp"`` uses the constants proved in docs/theory/constants.md (and expects M to be the
sharp one). ``exact_weights=True`` keeps A_k itself in place of the exponential that bounds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isnan, log, sqrt

import numpy as np

from ..problem.checks import at_least, flag, instance
from . import _check
from ._check import PerRound, Rounds, formula
from .norms import EUCLIDEAN, Norm
from .weights import log_weight_bound, step_weights

_NORM = instance(Norm, "a norm (theory.norm_of)")
STRENGTHS = ("paper", "sharp")


@formula(exact_weights=flag)
def bound_composite(
    k: Rounds,
    beta: float,
    mu: float,
    nu: float,
    divergence: float,
    variance: float = 0.0,
    *,
    constants: str = "paper",
    exact_weights: bool = False,
) -> PerRound:
    r"""Theorem 1: E[F(y_k) - F(y_star)] for Algorithm 1.

    .. math::
        \frac{\sqrt\beta + \sqrt\mu}{\nu \sqrt\beta}
        \exp\Bigl(-\frac{(k-1) \sqrt\mu}{4 (\sqrt\beta + \sqrt\mu)}\Bigr) \beta D
        + \frac{\sigma^2}{2 \sqrt{\mu \beta}}

    Parameters
    ----------
    k : int or array of int
        Iterations done, >= 1.
    beta, mu, nu : float
        Smoothness of G, strong convexity of H and of w; positive.
    divergence, variance : float
        D = D_w(y_star, y_0) >= 0, and sigma^2 >= 0, a bound on E||g_k - grad G(v_k)||_*^2.
    constants : {"paper", "sharp"}
        ``"sharp"`` replaces the exponential by (1 - tau)^(k-1), tau the limit of tau_k (Lemma S4).
    exact_weights : bool
        Use beta D / A_k, of which the first term is an upper bound.

    Examples
    --------
    >>> from wolfpack import theory
    >>> b = theory.bound_composite([1, 100], beta=1.0, mu=0.25, nu=1.0, divergence=1.0)
    >>> b.round(6).tolist()
    [1.5, 0.000392]
    """
    at = _check.rounds("k", k)
    _check.choice("constants", constants, STRENGTHS)
    beta, mu, nu = _check.positive(beta=beta, mu=mu, nu=nu)
    divergence, variance = _check.nonnegative(divergence=divergence, variance=variance)
    if exact_weights:
        decay = 1.0 / step_weights(int(at.max()), beta, mu, nu)[at]
    else:
        decay = np.exp(-log_weight_bound(at, beta, mu, nu, constants == "sharp"))
    return _check.like(at, beta * divergence * decay + variance / (2.0 * sqrt(mu * beta)))


@formula()
def batch_for(epsilon: float, beta: float, mu: float, variance: float) -> int:
    r"""Theorem 1: how many gradients a round must average for a neighbourhood of ``epsilon``.

    The least m with :math:`\frac{\sigma^2 / m}{2 \sqrt{\mu\beta}} \le \epsilon`.

    Parameters
    ----------
    epsilon : float
        Target for the second term of Theorem 1.
    beta, mu, variance : float
        As in `bound_composite`; the variance is that of one stochastic gradient.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.batch_for(0.01, beta=4.0, mu=1.0, variance=1.0)
    25
    """
    epsilon, beta, mu = _check.positive(epsilon=epsilon, beta=beta, mu=mu)
    variance = _check.number("variance", variance, strict=False)
    return max(1, ceil(variance / (2.0 * sqrt(mu) * sqrt(beta) * epsilon) * (1.0 - 1e-12)))


@formula(
    m=at_least(1),
    rho=at_least(1),
    exact_weights=flag,
    norm=_NORM,
)
def bound_pfw(
    k: Rounds,
    L: float,
    R: float,
    M: float,
    alpha: float,
    m: float,
    initial_gap: float,
    s1: float,
    constants: str = "paper",
    rho: float = 1.0,
    exact_weights: bool = False,
    norm: Norm = EUCLIDEAN,
) -> PerRound:
    r"""Theorem 2: E[f(x_k) - d(y_k)], the primal-dual gap of Algorithm 2.

    .. math::
        \exp\Bigl(-(k-1) \frac{\sqrt\alpha}{8 \sqrt{L R M}}\Bigr) \frac{2 L R M}{\alpha}
        (f(x_0) - f_\star) + \frac{2 R^2 \rho}{m} \sqrt{\frac{\alpha L}{R M}} + \alpha s_1(0)

    Parameters
    ----------
    k : int or array of int
        Iterations done, >= 1.
    L, alpha : float
        Smoothness of f, in ``norm``, and the smoothing.
    R : float
        Radius of K: max ||x|| for the paper, about any fixed centre when sharp.
    M : float
        Noise constant, such that s_alpha is R M / alpha-smooth (``noise.M(d, constants)``).
    m : float
        Perturbed oracles per iteration, >= 1; infinity when the gradient of s_alpha is exact.
    initial_gap, s1 : float
        f(x_0) - f_star, or an upper bound on it; s_1(0), the mean support of the noise (`s1`).
    constants : {"paper", "sharp"}
        ``"sharp"``: variance R^2 / m in place of 4 R^2 rho / m, and the weights' own rate in
        place of the exponential (docs/theory/constants.md).
    rho : float
        Norm constant of the variance (`rho`), with the paper's constants; 1 unless given.
    exact_weights : bool
        Use beta (f(x_0) - f_star) / A_k, of which the first term is an upper bound.
    norm : Norm
        The norm of L, R and M, from `norm_of`; it brings its own rho.

    Notes
    -----
    The printed theorem assumes alpha <= L R M. Beyond, this function returns the line of the
    proof before that simplification, which holds for every alpha.
    """
    at = _check.rounds("k", k)
    _check.choice("constants", constants, STRENGTHS)
    L, R, M, alpha = _check.positive(L=L, R=R, M=M, alpha=alpha)
    initial_gap, s1 = _check.nonnegative(initial_gap=initial_gap, s1=s1)
    variance = _variance(R, m, constants, rho, norm)
    beta, mu = R * M / alpha, 1.0 / L
    if constants == "paper" and not exact_weights and beta >= mu:
        decay = 2.0 * L * np.exp(-(at - 1) * sqrt(mu / beta) / 8.0)
    elif exact_weights:
        decay = 1.0 / step_weights(int(at.max()), beta, mu, mu)[at]
    else:
        decay = np.exp(-log_weight_bound(at, beta, mu, mu, constants == "sharp"))
    noise = variance / (2.0 * sqrt(mu * beta))
    return _check.like(at, beta * initial_gap * decay + noise + alpha * s1)


@dataclass(frozen=True)
class Settings:
    """What Theorem 3 prescribes for a target: smoothing, iterations, oracles per iteration."""

    alpha: float
    rounds: int
    m: float


@formula(m=at_least(1), rho=at_least(1), norm=_NORM)
def parameters_for(
    epsilon: float,
    *,
    L: float,
    R: float,
    M: float,
    m: float,
    initial_gap: float,
    s1: float,
    rho: float = 1.0,
    constants: str = "paper",
    norm: Norm = EUCLIDEAN,
) -> Settings:
    r"""Theorem 3: the smoothing and the number of iterations that reach a gap of ``epsilon``.

    .. math::
        \alpha = \min\Bigl\{\frac{\epsilon}{3 s_1(0)}, \frac{M \epsilon^2 m^2}{36 L R^3 \rho^2},
        L R M\Bigr\}, \qquad
        T = 1 + 8 \sqrt{\frac{L R M}{\alpha}}
        \log \frac{6 L R M (f(x_0) - f_\star)}{\epsilon \alpha}

    so that each of the three terms of Theorem 2 (`bound_pfw`) is at most epsilon / 3. The third
    entry of the minimum is the assumption alpha <= L R M of Theorem 2, implicit in the paper.

    Parameters
    ----------
    epsilon : float
        Target for the expected primal-dual gap.
    L, R, M, m, initial_gap, s1, rho, constants, norm
        As in `bound_pfw`; m is a whole number, or infinity for exact smoothing. ``"sharp"``:
        4 M epsilon^2 m^2 / (9 L R^3) for the second entry, and T from the weights' own rate.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.parameters_for(0.1, L=1.0, R=1.0, M=1.0, m=4, initial_gap=1.0, s1=3.0).rounds
    1143
    """
    epsilon = _check.number("epsilon", epsilon)
    _check.choice("constants", constants, STRENGTHS)
    L, R, M = _check.positive(L=L, R=R, M=M)
    m = inf if m == inf else int(_check.rounds("m", np.asarray(m)))
    initial_gap, s1 = _check.nonnegative(initial_gap=initial_gap, s1=s1)
    variance = _variance(R, m, constants, rho, norm)
    alpha = _largest_alpha(epsilon, L * R * M, s1)
    if variance > 0.0:
        # variance / (2 sqrt(mu beta)) <= epsilon / 3 with mu beta = R M / (alpha L)
        alpha = min(alpha, R * M / L * (2.0 * epsilon / (3.0 * variance)) ** 2)
    beta, mu = R * M / alpha, 1.0 / L
    if initial_gap == 0.0:
        return Settings(alpha, 1, m)
    if constants == "sharp":
        start, after = log_weight_bound(np.array([1, 2]), beta, mu, mu, sharp=True)
        needed = (log(3.0 * beta * initial_gap / epsilon) - start) / (after - start)
    else:
        needed = 8.0 * sqrt(beta * L) * log(6.0 * L * beta * initial_gap / epsilon)
    if needed > 2.0**62:
        raise ValueError(
            f"epsilon must not ask for more than 2**62 rounds, found {needed:.1g} for L = {L:g} "
            f"and epsilon = {epsilon:g}"
        )
    # The factor keeps a rounding error from leaving the bound above the target.
    return Settings(alpha, max(1, ceil(1.0 + needed * (1.0 + 1e-12))), m)


@formula(rho=at_least(1), norm=_NORM)
def best_m(
    *,
    L: float,
    R: float,
    M: float,
    s1: float,
    alpha: float | None = None,
    epsilon: float | None = None,
    constants: str = "sharp",
    rho: float = 1.0,
    norm: Norm = EUCLIDEAN,
) -> int:
    r"""The number of oracles a round beyond which more of them save no rounds (Proposition P3).

    .. math:: m = \frac{\sigma_1^2}{2 s_1(0)} \sqrt{\frac{L}{\alpha R M}},

    rounded up: the noise of Theorem 2 then equals its bias. It does not depend on the units of f
    or of x. Fewer oracles need as many calls in all, spread over more rounds; more of them need
    more calls and as many rounds.

    Parameters
    ----------
    L, R, M, s1, rho, norm
        As in `bound_pfw`; sigma_1^2 is the variance of one answer there.
    alpha, epsilon : float
        The smoothing, or the target of Theorem 3, for which alpha is its value for infinite m.
        Exactly one of them.
    constants : {"sharp", "paper"}
        As in `bound_pfw`.

    Examples
    --------
    >>> from wolfpack import theory
    >>> theory.best_m(L=100.0, R=1.0, M=1.0, s1=4.0, alpha=1e-2)
    13
    """
    _check.choice("constants", constants, STRENGTHS)
    L, R, M = _check.positive(L=L, R=R, M=M)
    s1 = _check.number("s1", s1, strict=False)
    if (alpha is None) == (epsilon is None):
        raise ValueError("best_m needs one of alpha and epsilon, found both or neither")
    if epsilon is not None:
        alpha = _largest_alpha(_check.number("epsilon", epsilon), L * R * M, s1)
    assert alpha is not None
    alpha = _check.number("alpha", alpha)
    if s1 == 0.0:
        return 1  # K is a point, and all answers agree
    variance = _variance(R, 1.0, constants, rho, norm)
    needed = variance / (2.0 * s1) * sqrt(L / (alpha * R * M)) * (1.0 - 1e-12)
    if isnan(needed):
        raise OverflowError
    return max(1, ceil(needed))


def _largest_alpha(epsilon: float, curvature: float, s1: float) -> float:
    """Theorem 3's alpha without noise: alpha s_1(0) <= epsilon / 3 and alpha <= L R M."""
    return min(epsilon / (3.0 * s1), curvature) if s1 > 0.0 else curvature


def _variance(R: float, m: float, constants: str, rho: float, norm: Norm) -> float:
    """Bound on sigma^2: 4 R^2 rho / m (Assumption 2), or R^2 C^2/c^2 / m (Proposition S2)."""
    if m != inf:
        m = _check.number("m", m, least=1.0, strict=False)
    rho = _check.number("rho", rho, least=1.0, strict=False)
    if rho == 1.0:
        return norm.variance(R, m, constants)
    if constants == "sharp" or norm is not EUCLIDEAN:
        raise ValueError(
            f"with constants='sharp' or a norm, rho must be 1, found {rho}: pass "
            "norm=norm_of(...), which brings its own rho"
        )
    return 4.0 * R**2 * rho / m
