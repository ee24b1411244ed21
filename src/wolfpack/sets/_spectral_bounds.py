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

import numpy as np
from scipy.linalg import lapack

from ._base import Array
from ._spectral import unit_scale

_U = 2.0**-53


def _gamma(n: int) -> float:
    # one per cent more pays for the rounding of the bounds' own arithmetic
    return 1.01 * n * _U / (1.0 - n * _U)


def eigenvalue_ceiling(a: Array, near: float) -> float:
    """Return a proved upper bound on the largest eigenvalue of a symmetric matrix.

    Parameters
    ----------
    a : array, shape (n, n)
        The matrix, in double precision and neither tiny nor huge (`unit_scale`).
    near : float
        A guess, best a little below the eigenvalue. A bad guess costs factorisations.

    Notes
    -----
    O(n^3/3) per factorisation, and one is enough when the guess is good to rounding. The slack
    added to the guess grows eightfold after each failure, up to the Frobenius norm.
    """
    n = a.shape[0]
    diagonal = np.einsum("ii->i", a)
    trace = float(abs(diagonal).sum())
    frobenius = math.sqrt(float(np.vdot(a, a))) * (1.0 + _gamma(n * n + 2))
    near = max(near, float(diagonal.max()))
    slack = 2.0 * _gamma(n + 1) * (n * abs(near) + trace)
    while (t := near + slack) < frobenius:
        m = -a
        m[np.arange(n), np.arange(n)] += t
        if lapack.dpotrf(m.T, clean=0, overwrite_a=1)[1] == 0:
            # tr(M) <= n |t| + trace, and the rounding of M's diagonal and of this sum
            return t + _gamma(n + 1) * (n * abs(t) + trace) + 8.0 * _U * (abs(t) + frobenius)
        slack *= 8.0
    return frobenius


def singular_ceiling(g: Array, near: float) -> float:
    """Return a proved upper bound on the largest singular value of ``g``, given a guess of it."""
    h, exponent = unit_scale(g)
    h = h if h.shape[0] >= h.shape[1] else h.T
    gram = h.T @ h
    guess = max(0.0, math.ldexp(near, -int(exponent))) ** 2
    # the Gram matrix was rounded, by at most gamma_p || |h|'|h| ||_2 <= gamma_p tr(h'h)
    rounding = _gamma(h.shape[0]) * float(np.einsum("ii->", gram))
    top = eigenvalue_ceiling(gram, guess) + rounding
    return math.ldexp(math.sqrt(top) * (1.0 + 8.0 * _U), int(exponent))


def symmetric_ceiling(a: Array, near: float) -> float:
    """Return a proved upper bound on the largest eigenvalue of (a + a')/2, given a guess of it."""
    h, exponent = unit_scale(0.5 * a + 0.5 * a.T)
    top = eigenvalue_ceiling(h, math.ldexp(near, -int(exponent)))
    # the mean of a and a' was rounded, entry by entry
    return math.ldexp(top + 4.0 * _U * float(np.linalg.norm(h)), int(exponent))


def schatten_ceiling(g: Array, order: float) -> float:
    """Return a proved upper bound on the Schatten norm of ``g`` (l_order of singular values)."""
    h, exponent = unit_scale(g)
    U, s, Vt = np.linalg.svd(h, full_matrices=False)
    k, longest = s.size, max(h.shape)
    residual = np.linalg.norm(h - (U * s) @ Vt)
    # |fl(U S V') - U S V'| <= gamma_{k+2} |U| S |V'|, whose Frobenius norm is at most sum(s)
    residual += _gamma(k + 4) * s.sum() + _gamma(h.size) * residual
    # ||U||_2 ||V||_2 <= (1 + ||U'U - I||_F)^1/2 (1 + ||V'V - I||_F)^1/2
    eye, rounding = np.eye(k), _gamma(longest + 2) * k
    stretch = (1.0 + np.linalg.norm(U.T @ U - eye) + rounding) * (
        1.0 + np.linalg.norm(Vt @ Vt.T - eye) + rounding
    )
    # ||E||_order <= k^(1/order - 1/2) ||E||_F for order < 2
    spread = k ** max(0.0, 1.0 / order - 0.5)
    value = math.sqrt(stretch) * np.linalg.norm(s, order) + spread * residual
    return math.ldexp(float(value) * (1.0 + _gamma(k + 16)), int(exponent))
