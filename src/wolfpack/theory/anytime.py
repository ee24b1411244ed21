"""Anytime parallel Frank-Wolfe: the shrinking smoothing and its guarantee (Theorem A1).

With polynomial weights A_k = k (k+1) (k+2) / 6, tau_k = 3 / (k+3) and a_k = A_{k+1} - A_k,

    alpha_k = L R M tau_k^2 / ((1 - theta) (1 - tau_k)) = 9 L R M / ((1 - theta) k (k+3)),

    A_N E[gap_N] <= A_1 (gap_1 + alpha_1 s_1(0)) + sum_{k<N} a_k alpha_k s_1(0)
                    + sum_{k<N} a_k^2 L sigma_k^2 / (2 theta A_k),     sigma_k^2 = R^2 / m_k.

The proof is in docs/theory/anytime.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import ArgumentError
from ..problem.checks import as_array, choice, nonnegative, optional, positive, shown
from . import _check
from ._check import PerRound, Rounds, formula


@formula(L=positive, R=positive, M=positive, theta=_check.share, order=choice(2, 3))
def anytime_alpha(
    k: Rounds, L: float, R: float, M: float, *, theta: float = 0.5, order: int = 3
) -> PerRound:
    r"""The smoothing of round k >= 1 for which Theorem A1 holds.

    .. math:: \alpha_k = \frac{r^2 L R M}{(1 - \theta) k (k + r)}, \qquad \tau_k = \frac{r}{k + r}

    Parameters
    ----------
    k : int or array of int
        Round, >= 1.
    L, R, M : float
        Smoothness of f, radius of K, noise constant: s_alpha is R M / alpha-smooth.
    theta : float
        Share of the curvature kept to absorb sampling noise, in [0, 1); 0 for exact smoothing.
    order : {3, 2}
        r, the degree of the weights; with 2 the rate has a logarithm.
    """
    at = _check.rounds("k", k)
    free = 1.0 - theta
    x = at.astype(np.float64)
    return _check.like(at, order**2 * (L * R * M) / (free * x * (x + order)))


@formula(
    L=positive,
    R=positive,
    M=positive,
    s1=nonnegative,
    initial_gap=nonnegative,
    theta=optional(_check.share),
    order=choice(2, 3),
)
def bound_anytime(
    N: Rounds,
    *,
    L: float,
    R: float,
    M: float,
    s1: float,
    initial_gap: float,
    m: float | str | Callable[[np.ndarray], ArrayLike] = 1,
    theta: float | None = None,
    order: int = 3,
) -> PerRound:
    r"""Theorem A1: E[f(x_N) - d(y_N)] for the anytime method, its finite sums computed exactly.

    For m_k = c k it is at most about
    (27 L R M s_1(0) / (1 - theta) + 4.5 L R^2 / (theta c)) / N^2, for m_k = 1 it is O(1/N).

    Parameters
    ----------
    N : int or array of int
        Index of the iterate: x_1 is the first, x_N comes after N - 1 further steps.
    L, R, M : float
        Smoothness of f, radius of K about any centre, noise constant: s_alpha is R M / alpha-smooth
        (for a set that knows better, pass M = smoothness(K, noise, 1) / R).
    s1 : float
        s_1(0).
    initial_gap : float
        The Frank-Wolfe gap max over v in K of <grad f(x_1), x_1 - v>, or a bound on it. With x_1
        an answer to grad f(x_0) smoothed by alpha_0, L D^2 + alpha_0 s_1(0) is one, D the diameter.
    m : number, callable or "exact"
        Perturbed oracles per round: m, or k -> m_k (vectorised), or ``"exact"`` when the gradient
        of s_alpha is computed in closed form.
    theta : float, optional
        Share of the curvature kept for sampling noise, in (0, 1): 1/2 unless given. With
        ``m="exact"`` also 0, the default there.
    order : {3, 2}
        As in `anytime_alpha`.

    Examples
    --------
    >>> from wolfpack import theory
    >>> problem = dict(L=1.0, R=1.0, M=1.0, s1=4.0, initial_gap=2.0)
    >>> b = theory.bound_anytime([100, 1000], m="exact", **problem)
    >>> (b * [100**2, 1000**2]).round(1).tolist()
    [105.7, 107.8]
    """
    at = _check.rounds("N", N, most=_check.MAX_TABLE)
    exact = isinstance(m, str)
    if exact:
        choice("exact")(m, "m")
    theta = (0.0 if exact else 0.5) if theta is None else theta
    if theta == 0.0 and not exact:
        raise ValueError("theta must be positive unless m='exact', found 0")

    k = np.arange(1, int(at.max()) + 1)
    alpha = anytime_alpha(k, L, R, M, theta=theta, order=order)
    # With A_1 = 1: A_{k+1} = A_k (k + order) / k and a_k = A_k order / k
    A = k * (k + 1.0) / 2.0 if order == 2 else k * (k + 1.0) * (k + 2.0) / 6.0
    a = A * order / k
    steps = a * alpha * s1
    if not exact:
        steps += a**2 / A * L * R**2 / (2.0 * theta * batch_sizes(m, k))
    total = initial_gap + alpha[0] * s1 + np.concatenate(([0.0], np.cumsum(steps[:-1])))
    return _check.like(at, (total / A)[at - 1])


@formula(L=positive)
def affine_curvature(images: ArrayLike, L: float = 1.0) -> float:
    r"""Corollary A5: L B in the best norm, for f(x) = loss(A x) and log-sum-exp smoothing.

    .. math:: \frac{L}{4} \max_{u, v \in V} \|A u - A v\|^2

    The step test of Proposition A2 passes from this kappa on, whatever the dimension, and the kappa
    of Corollary A3 is at most twice as large (or its first value).

    Parameters
    ----------
    images : array of shape (N, n)
        A v for each vertex v: the columns of A, as rows, for the simplex with Gumbel noise; A v for
        all v in V for lifted smoothing of conv(V).
    L : float
        Smoothness of the loss; that on the hull of the iterates for a separable loss.

    Examples
    --------
    >>> import numpy as np
    >>> from wolfpack import theory
    >>> theory.affine_curvature(np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 1.0]]))
    1.0
    """
    points = np.asarray(as_array(images, "images"), dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"images must be a finite table of points, found shape {points.shape}")
    squares = np.sum(points**2, axis=1)
    widest = 0.0
    for start in range(0, len(points), 256):  # rows of the table of distances, in blocks
        block = points[start : start + 256]
        distances = squares[start : start + 256, None] + squares - 2.0 * block @ points.T
        widest = max(widest, float(distances.max()))
    return 0.25 * L * widest


def batch_sizes(m: float | str | Callable[[np.ndarray], ArrayLike], k: np.ndarray) -> np.ndarray:
    """m_k for every k, from a number or a function of k."""
    try:
        values = as_array(m(k) if callable(m) else m, "m")
    except Exception as error:
        raise ArgumentError(
            f"m must be a number or a function k -> m_k, found {shown(m)}: {error}"
        ) from error
    if values.shape not in ((), k.shape) or not np.all(values >= 1.0):
        raise ValueError(f"m must be at least 1 in every round, found {shown(m)}")
    return np.broadcast_to(values, k.shape)
