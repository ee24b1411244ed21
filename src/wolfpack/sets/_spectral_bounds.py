r"""Proved bounds on eigenvalues and on Schatten norms, for certificates.

Nothing here trusts an iterative method, nor LAPACK's error constants: each bound follows from
numbers that were computed, and from the rounding error of sums and products, which is standard.
With u = 2^-53 and gamma_n = n u/(1 - n u), the computed product of n-term sums satisfies
|fl(AB) - AB| <= gamma_n |A||B|, in any order of summation.

*Cholesky proves an upper bound on an eigenvalue.* If the floating-point factorisation of a
symmetric matrix M of order n runs to completion with factor R, then R'R = M + E with
|E_ij| <= c sqrt(M_ii M_jj), c = gamma_{n+1}/(1 - gamma_{n+1}), so that ||E||_2 <= c tr(M) and
lambda_min(M) >= -c tr(M) (Higham, Accuracy and Stability, thm 10.3; Rump, BIT 46, 2006). With
M = t I - A rounded in the diagonal, lambda_max(A) <= t + c tr(M) + u max_i |M_ii|.

*An approximate SVD proves an upper bound on a Schatten norm.* For any U, S, V whatever and
E = G - U S V', ||G|| <= ||U||_2 ||S|| ||V||_2 + ||E||, where ||U||_2^2 <= 1 + ||U'U - I||_F.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..arrays import Array
from ._spectral import unit_scale

_U = 2.0**-53


def _gamma(n: int) -> float:
    # one per cent more covers the rounding of the bounds' own arithmetic
    return 1.01 * n * _U / (1.0 - n * _U)


def eigenvalue_ceiling(a: Array, guess: float) -> float:
    """Return a proved upper bound on the largest eigenvalue of a symmetric matrix.

    The matrix is in double precision and neither tiny nor huge (`unit_scale`). The guess is best a
    little below the eigenvalue; a bad one costs factorisations, O(n^3/3) each. One is enough when
    the guess is good to rounding.
    """
    n = a.shape[0]
    diagonal = np.einsum("ii->i", a)

    def factorises(t: float) -> bool:
        m = -a
        m[np.arange(n), np.arange(n)] += t
        return lapack.dpotrf(m.T, clean=0, overwrite_a=1)[1] == 0

    trace, top = float(abs(diagonal).sum()), float(diagonal.max())
    return cholesky_ceiling(Sizes(n, trace, top, float(np.vdot(a, a))), guess, factorises)


class Sizes(NamedTuple):
    """What the bound by Cholesky factorisations needs to know of a symmetric matrix."""

    n: int  # its order
    trace: float  # sum of the absolute values of its diagonal
    top: float  # largest entry of its diagonal
    squares: float  # sum of its squared entries


def cholesky_ceiling(sizes: Sizes, guess: float, factorises: Callable[[float], bool]) -> float:
    """Return a proved upper bound on the largest eigenvalue of a matrix A in double precision.

    ``factorises(t)`` tells whether the Cholesky factorisation of t I - A runs to completion. The
    slack added to the guess grows eightfold after each failure, up to the Frobenius norm.
    """
    n, trace, top, squares = sizes
    frobenius = math.sqrt(squares) * (1.0 + _gamma(n * n + 2))
    guess = max(guess, top)
    slack = 2.0 * _gamma(n + 1) * (n * abs(guess) + trace)
    while (t := guess + slack) < frobenius:
        if factorises(t):
            # tr(M) <= n |t| + trace, and the rounding of M's diagonal and of this sum
            return t + _gamma(n + 1) * (n * abs(t) + trace) + 8.0 * _U * (abs(t) + frobenius)
        slack *= 8.0
    return frobenius


def singular_ceiling(g: Array, guess: float) -> float:
    """Return a proved upper bound on the largest singular value of ``g``, given a guess of it."""
    h, exponent = unit_scale(g)
    h = h if h.shape[0] >= h.shape[1] else h.T
    gram = h.T @ h
    square = max(0.0, math.ldexp(guess, -int(exponent))) ** 2
    top = eigenvalue_ceiling(gram, square) + gram_rounding(h.shape[0], float(np.trace(gram)))
    return math.ldexp(root(top), int(exponent))


def gram_rounding(rows: int, trace: float) -> float:
    """Return by how much the rounding of a Gram matrix may have lowered its top eigenvalue."""
    # gamma_p || |h|'|h| ||_2 <= gamma_p tr(h'h)
    return _gamma(rows) * trace


def root(top: float) -> float:
    """Return the square root of a bound, rounded upwards."""
    return math.sqrt(top) * (1.0 + 8.0 * _U)


def symmetric_ceiling(a: Array, guess: float) -> float:
    """Return a proved upper bound on the largest eigenvalue of (a + a')/2, given a guess of it."""
    h, exponent = unit_scale(0.5 * a + 0.5 * a.T)
    top = eigenvalue_ceiling(h, math.ldexp(guess, -int(exponent)))
    return math.ldexp(top + mean_rounding(float(np.linalg.norm(h))), int(exponent))


def mean_rounding(frobenius: float) -> float:
    """Return by how much rounding (a + a')/2 may have lowered its top eigenvalue."""
    return 4.0 * _U * frobenius


def schatten_ceiling(g: Array, order: float) -> float:
    """Return a proved upper bound on the Schatten norm of ``g`` (l_order of singular values)."""
    h, exponent = unit_scale(g)
    U, s, Vt = np.linalg.svd(h, full_matrices=False)
    eye = np.eye(s.size)
    fit = Fit(
        float(np.linalg.norm(h - (U * s) @ Vt)),
        float(np.linalg.norm(U.T @ U - eye)),
        float(np.linalg.norm(Vt @ Vt.T - eye)),
    )
    return math.ldexp(fitted_ceiling(s, fit, h.shape, order), int(exponent))


class Fit(NamedTuple):
    """Frobenius norms of G - U S V', U'U - I and V'V - I, as computed."""

    residual: float
    left: float
    right: float


def fitted_ceiling(s: Array, fit: Fit, shape: tuple[int, ...], order: float) -> float:
    """Return a proved upper bound on a Schatten norm from an approximate SVD."""
    k, longest = s.size, max(shape)
    # |fl(U S V') - U S V'| <= gamma_{k+2} |U| S |V'|, whose Frobenius norm is at most sum(s)
    residual = fit.residual + _gamma(k + 4) * s.sum() + _gamma(math.prod(shape)) * fit.residual
    # ||U||_2 ||V||_2 <= (1 + ||U'U - I||_F)^1/2 (1 + ||V'V - I||_F)^1/2
    rounding = _gamma(longest + 2) * k
    stretch = (1.0 + fit.left + rounding) * (1.0 + fit.right + rounding)
    # ||E||_order <= k^(1/order - 1/2) ||E||_F for order < 2
    spread = k ** max(0.0, 1.0 / order - 0.5)
    value = math.sqrt(stretch) * np.linalg.norm(s, order) + spread * residual
    return float(value) * (1.0 + _gamma(k + 16))


def largest_sum_ceiling(a: Array, k: int) -> float:
    """Return a proved upper bound on the sum of the k largest eigenvalues of (a + a')/2.

    With computed V and L, A = V L V' + E. The eigenvalues of V L V' are those of L times numbers
    within ||V'V - I|| of 1 (Ostrowski), and E adds at most sqrt(k) ||E||_F to the sum (Ky Fan).
    """
    h, exponent = unit_scale(0.5 * a + 0.5 * a.T)
    values, V = np.linalg.eigh(h)
    n, top = len(values), values[-k:]
    residual = float(np.linalg.norm(h - (V * values) @ V.T)) * (1.0 + _gamma(n * n + 2))
    # |fl(V L V') - V L V'| <= gamma_{n+2} |V||L||V'|, whose Frobenius norm is about sum |L| at most
    residual += 1.01 * _gamma(n + 4) * float(abs(values).sum())
    stretch = float(np.linalg.norm(V.T @ V - np.eye(n))) * (1.0 + _gamma(n * n + 2))
    stretch += _gamma(n + 4) * n
    size = float(abs(top).sum())
    error = math.sqrt(k) * (residual + mean_rounding(float(np.linalg.norm(h))))
    error += (stretch + _gamma(k + 8)) * size
    return math.ldexp(float(top.sum()) + 1.01 * error, int(exponent))
