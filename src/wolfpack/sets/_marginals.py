"""Nonnegative matrices with given row and column sums: violation, dual bound, projection.

Shared by the Birkhoff and transport polytopes, {X >= 0, X 1 = a, X' 1 = b}.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ._base import Array

_U = 2.0**-53


def marginal_violation(x: Array, a: Array, b: Array) -> float:
    """Return by how much ``x`` violates a sum or nonnegativity, at worst."""
    rows, columns = x.sum(axis=1) - a, x.sum(axis=0) - b
    return float(max(-x.min(), abs(rows).max(), abs(columns).max()))


def transport_floor(g: Array, plan: Array, a: Array, b: Array) -> float:
    r"""Return a proved lower bound on min <g, X>, tight when ``plan`` is optimal.

    Parameters
    ----------
    g : array, shape (p, q)
        Costs.
    plan : array, shape (p, q)
        The oracle's answer; only where it is positive matters.
    a, b : arrays, shapes (p,) and (q,)
        Sums of rows and columns.

    Notes
    -----
    By linear duality <a, alpha> + <b, beta> is a lower bound whenever
    alpha_i + beta_j <= g_ij for all i, j. Shortest distances in the residual graph (edges i -> j of
    length g_ij, and back j -> i of length -g_ij where the plan is positive) make alpha = -d_rows,
    beta = d_columns feasible, with equality where the plan is positive if it is optimal.
    Bellman-Ford sweeps end in feasible potentials whether or not they have converged. O(pq) per
    sweep, at most p sweeps and few in practice.
    """
    g = g.astype(np.float64, copy=False)
    i, j = np.nonzero(plan)
    back = g[i, j]
    size = float(abs(g).max())
    total = max(float(a.sum()), float(b.sum()))
    rows, best = np.zeros(g.shape[0]), -np.inf
    for _ in range(g.shape[0] + 1):
        columns = (rows[:, None] + g).min(axis=0)
        # what rounding may have added to the constraints, and to the two sums
        rounding = 4.0 * _U * total * (sum(g.shape) * (size + float(abs(rows).max())))
        best = max(best, float(b @ columns) - float(a @ rows) - rounding)
        shorter = rows.copy()
        np.minimum.at(shorter, i, columns[j] - back)
        if float((rows - shorter).max()) <= 8.0 * _U * size:
            break
        rows = shorter
    return best


def project_marginals(z: Array, a: Array, b: Array) -> Array:
    r"""Return the Euclidean projection of ``z`` onto {X >= 0, X 1 = a, X' 1 = b}.

    Notes
    -----
    The projection is X = max(z - lambda 1' - 1 mu', 0), where (lambda, mu) minimise
    F = ||X||^2/2 + <a, lambda> + <b, mu>, a convex function with gradient
    (a - X 1, b - X' 1). Semismooth Newton steps on F, safeguarded by a line search, converge in a
    finite number of steps, about ten to thirty; each costs O(pq min(p, q)).
    """
    p, q = z.shape
    if p < q:
        return project_marginals(z.T, b, a).T
    z = z.astype(np.float64, copy=False)
    # start from the projection onto the equations alone
    lam = (z.sum(axis=1) - a) / q
    mu = (z.sum(axis=0) - b - lam.sum()) / p
    x, value = _plan(z, lam, mu), np.inf
    tol = 8.0 * _U * (float(abs(z).max()) + float(a.max() + b.max()))
    for _ in range(500):
        rows, columns = x.sum(axis=1) - a, x.sum(axis=0) - b
        worst = max(float(abs(rows).max()), float(abs(columns).max()))
        if worst <= tol:
            break
        step = _newton_step(x > 0, rows, columns, worst)
        value = _dual(x, lam, mu, a, b)
        slope = -float(rows @ step[0] + columns @ step[1])
        t = 1.0
        while t > 1e-10:
            trial = lam + t * step[0], mu + t * step[1]
            x_next = _plan(z, *trial)
            if _dual(x_next, *trial, a, b) <= value + 1e-4 * t * slope:
                break
            t *= 0.5
        else:
            break  # F cannot be lowered further in floating point
        lam, mu, x = *trial, x_next
    return x


def _plan(z: Array, lam: Array, mu: Array) -> Array:
    return np.maximum(z - lam[:, None] - mu, 0.0)


def _dual(x: Array, lam: Array, mu: Array, a: Array, b: Array) -> float:
    return 0.5 * float(np.vdot(x, x)) + float(a @ lam) + float(b @ mu)


def _newton_step(active: Array, rows: Array, columns: Array, worst: float) -> tuple[Array, Array]:
    """Solve [[D_r, S], [S', D_c]] (dl, dm) = (rows, columns), S the 0/1 pattern, regularised."""
    S = active.astype(np.float64)
    ridge = 1e-12 + 1e-3 * min(1.0, worst)
    by_row = S.sum(axis=1) + ridge
    schur = -(S.T / by_row) @ S
    schur[np.arange(S.shape[1]), np.arange(S.shape[1])] += S.sum(axis=0) + ridge
    dm = cho_solve(cho_factor(schur, check_finite=False), columns - S.T @ (rows / by_row))
    return (rows - S @ dm) / by_row, dm
