r"""Theorem C4: Algorithm 1 with gradients corrected around one anchor (docs/theory/composite.md).

Rows are drawn as for `Minibatches` with variance reduction: m of them a round, each l-smooth when
divided by its probability. With weights that keep

.. math:: \rho = \max \Bigl( \sqrt{\mu\beta},\ \frac{2 l}{q m} \Bigr)

for the noise (`next_weight` with ``rho``), N rounds from the anchor multiply the excess of F by
:math:`q + \beta / (\mu A_N)` at most, in the mean.
"""

from __future__ import annotations

from math import ceil, isfinite, log, log1p, sqrt

from ..problem.checks import Kind, at_least, between, positive, whole
from . import _check
from ._check import formula
from .weights import step_weights

_KINDS: dict[str, Kind] = {
    "beta": positive,
    "mu": positive,
    "row_smoothness": positive,
    "m": at_least(1),
    "q": between(0, 1, low_open=True),
}


@formula(**_KINDS)
def anchor_rho(beta: float, mu: float, row_smoothness: float, m: float, q: float = 0.25) -> float:
    """The share rho that the weights of Theorem C4 keep for the noise of m rows.

    Parameters
    ----------
    beta, mu, row_smoothness : float
        Smoothness of G, strong convexity of H, and l, the smoothness of a row's function.
    m : float
        Rows in a round, >= 1.
    q : float
        What noise may leave of the excess, in (0, 1].
    """
    return max(sqrt(mu) * sqrt(beta), 2.0 * row_smoothness / (q * m))


@formula(rounds=whole(1, _check.MAX_TABLE), **_KINDS)
def bound_anchor(
    rounds: int, beta: float, mu: float, row_smoothness: float, m: float, q: float = 0.25
) -> float:
    """Theorem C4: the factor q + beta / (mu A_N) of the excess after N rounds from the anchor.

    Parameters
    ----------
    rounds : int
        N, >= 1.
    beta, mu, row_smoothness, m, q
        As in `anchor_rho`.
    """
    rho = anchor_rho(beta, mu, row_smoothness, m, q)
    if not isfinite(rho):
        raise OverflowError
    return q + beta / (mu * float(step_weights(rounds, beta, mu, 1.0, rho)[-1]))


@formula(**_KINDS)
def rounds_to_halve(beta: float, mu: float, row_smoothness: float, m: float) -> int:
    r"""Corollary C5: rounds after which the excess at the anchor is halved, in the mean.

    .. math:: N = \Bigl\lceil \sqrt2 \frac\rho\mu \Bigr\rceil
        + \Bigl\lceil \frac{\log 5}{\log(1 + \mu / (3 \rho))} \Bigr\rceil,

    rho being `anchor_rho` with q = 1/4. Times m it is O(l/mu) rows while m is at most
    8 l / sqrt(mu beta), and O(m sqrt(beta/mu)) beyond.

    Parameters
    ----------
    beta, mu, row_smoothness, m
        As in `anchor_rho`.

    Examples
    --------
    >>> from wolfpack import theory
    >>> [m * theory.rounds_to_halve(1.0, 1e-4, 10.0, m) for m in (1, 100, 8000)]
    [4994023, 4994200, 5008000]
    """
    rho = anchor_rho(beta, mu, row_smoothness, m)
    return ceil(sqrt(2.0) * rho / mu) + ceil(log(5.0) / log1p(mu / (3.0 * rho)))
