r"""Alternating regressions on the factors of a matrix of low rank.

The trace norm is the least of :math:`\tfrac12(\|U\|^2 + \|V\|^2)` over the factors of X = U V'. So
the minimiser of f over the ball :math:`\|X\|_{tr} \le r` is that of

.. math:: f(U V^\top) + \tfrac{\lambda}{2} (\|U\|^2 + \|V\|^2)

for its multiplier lambda, if U and V have enough columns. A sweep minimises this over U and then
over V, which objectives can do whose observations are single entries: one small linear system for
each row. The multiplier is taken from the last point, as :math:`-\langle\nabla f(X), X\rangle /
\|X\|_{tr}`, which is its value at the solution. The singular values of the new X are projected, so
that X is in K.

A sweep is kept if f falls. So it needs no theory of its own: the corrections that come before it
guarantee what they did.

Sources
    R. Mazumder, T. Hastie, R. Tibshirani, Spectral regularization algorithms for learning large
    incomplete matrices, JMLR 11, 2010.
    T. Hastie, R. Mazumder, J. Lee, R. Zadeh, Matrix completion and low-rank SVD via fast
    alternating least squares, JMLR 16, 2015.
"""

from __future__ import annotations

import numpy as np

from ...arrays import LowRank, inner
from ...problem import Evaluation, NonFiniteError, Problem

SWEEPS = 6
"""Sweeps of a round, at most."""

WIDEST = 48
"""Columns of factors, at most: the systems of a sweep cost the square of them."""

_WORTH = 0.05
"""A sweep is followed by another one if f fell by this share of the gap at the round's start."""

_ACTIVE = 1.0 - 1e-6
"""The bound counts as active where the trace norm is at least this share of it."""

_THIN = 1e-10
"""Singular values below this share of the largest are left out."""


def swept(
    problem: Problem, X: LowRank, at: Evaluation, gap: float
) -> tuple[LowRank, Evaluation] | None:
    """Return the point after some sweeps, and f there; None where the first does not lower f.

    ``gap`` is a bound on what f can still fall.
    """
    best = None
    for _ in range(SWEEPS):
        found = _sweep(problem, X, at)
        if found is None:
            break
        try:
            there = problem.evaluate(found)
        except NonFiniteError:
            break
        fall = float(at.value) - float(there.value)
        if fall <= 0.0:
            break
        best = X, at = found, there
        if fall <= _WORTH * gap:
            break
    return best


def _sweep(problem: Problem, X: LowRank, at: Evaluation) -> LowRank | None:
    """Return the point after one sweep, with orthonormal columns; None where there is none."""
    f, length = problem.objective, float(X.s.sum())
    if not length > 0.0:
        return None
    ridge = -inner(at.gradient, X) / length
    if not ridge > 0.0:  # the bound is not active
        return None
    U = f.best_factor(X.V * np.sqrt(X.s), ridge)
    if U is None:
        return None
    Q, R = np.linalg.qr(U)
    A, s, _ = np.linalg.svd(R * np.sqrt(X.s))
    kept = s > _THIN * s[0]
    left, s = Q @ A[:, kept], s[kept]
    V = f.best_factor(left * np.sqrt(s), ridge, transposed=True)
    if V is None:
        return None
    Q, R = np.linalg.qr(V)
    A, s, Bt = np.linalg.svd(np.sqrt(s)[:, None] * R.T)
    if length >= _ACTIVE * problem.set.radius:
        s = (problem.set.radius / s.sum()) * s  # the multiplier belongs to a bound that is active
    s = np.diagonal(problem.set.core((len(s), len(s))).project(np.diag(s)))
    kept = s > _THIN * s[0]
    return LowRank(left @ A[:, kept], s[kept], Q @ Bt[kept, :].T)


def sweeps(problem: Problem, rank: int) -> bool:
    """Tell whether f can do sweeps over factors with so many columns."""
    if rank > WIDEST:
        return False
    one = np.zeros((problem.set.shape[1], 1))
    return problem.objective.best_factor(one, 1.0) is not None
