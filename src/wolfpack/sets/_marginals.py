"""Nonnegative matrices with given row and column sums, {X >= 0, X 1 = a, X' 1 = b}."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq

from ..arrays import Array
from ..atoms import Atoms
from ..problem.polyhedron import Polyhedron, Rows
from ._base import Set
from ._faces import balanced, longest, near, restricted
from ._prices import Prices, row_prices

_U = 2.0**-53

_FAR = 100.0
"""Points larger than this times the sums are first brought near by the linear oracle."""


class Marginals(Set):
    """What the Birkhoff and transport polytopes share: sums a of rows and b of columns."""

    unconditional = True
    polytope = True
    one_by_one = True
    proof_calls = 4
    a: Array
    b: Array

    def _lmo_face(self, x: Array, g: Array) -> Atoms:
        return self._lmo(restricted(g, x <= near(self, x)))

    def _max_step(self, x: Array, d: Array) -> float:
        kept = balanced(d.sum(axis=0), d) and balanced(d.sum(axis=1), d)
        return longest(x, -d) if kept else 0.0

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return a proved lower bound on min <g, X>, tight when the vertex V is optimal.

        By linear duality <a, alpha> + <b, beta> is a lower bound whenever alpha_i + beta_j <= g_ij
        for all i, j. Shortest distances in the residual graph (edges i -> j of length g_ij, and
        back j -> i of length -g_ij where V is positive) make alpha = -d_rows, beta = d_columns
        feasible, with equality where V is positive if it is optimal. Bellman-Ford sweeps end in
        feasible potentials whether or not they have converged. O(pq) per sweep, at most p sweeps
        and few in practice.
        """
        g = g.astype(np.float64, copy=False)
        size = float(abs(g).max())
        total = max(float(self.a.sum()), float(self.b.sum()))
        best = -np.inf
        for rows, columns in potentials(g, vertex.to_dense(), size):
            terms = np.concatenate([self.b * columns, -self.a * rows])
            # rounding may have raised rows + g, hence a column, and the products are rounded too
            reach = total * (size + float(abs(rows).max())) + float(abs(terms).sum())
            best = max(best, math.fsum(terms) - 4.0 * _U * reach)
        return best

    def violation(self, x: Array) -> float:
        rows, columns = x.sum(axis=1) - self.a, x.sum(axis=0) - self.b
        return float(max(-x.min(), abs(rows).max(), abs(columns).max()))

    def _polyhedron(self) -> Polyhedron:
        p, q = self.shape
        rows = sparse.kron(sparse.eye_array(p), np.ones((1, q)))
        columns = sparse.kron(np.ones((1, p)), sparse.eye_array(q), format="csr")
        # the last column's sum follows from the others
        matrix = sparse.vstack([rows, columns[:-1]], format="csr")
        return self._described(0.0, np.inf, Rows(matrix, np.concatenate([self.a, self.b[:-1]])))

    def _prices(self, g: Array) -> Prices:
        found = row_prices(self._polyhedron(), g)
        p = self.shape[0]
        return {
            "rows": found.equations[:p],
            "columns": np.append(found.equations[p:], 0.0),
            "lower": found.lower.reshape(self.shape),
        }

    def _project(self, x: Array) -> Array:
        """Return the Euclidean projection X = max(x - lambda 1' - 1 mu', 0).

        Here (lambda, mu) minimise F = ||X||^2/2 + <a, lambda> + <b, mu>, a convex function with
        gradient (a - X 1, b - X' 1). Semismooth Newton steps on F, with an exact line search,
        converge in a finite number of steps, about ten; each costs O(pq min(p, q)). If x is farther
        from K than K is large, smaller multiples of x are projected first, each ten times the last.
        If x is very far away, the linear oracle first brings it near (`_bring_near`). The sums are
        met to about 1e-16 (p + q) max(a, b).
        """
        a, b, z = self.a, self.b, x.astype(np.float64, copy=False)
        if float(abs(z).max()) > _FAR * float(max(a.max(), b.max())):
            z = _bring_near(z, self._lmo(-z).to_dense(), float(a.sum()))
        if z.shape[0] < z.shape[1]:
            return _project_near(z.T, b, a).T
        return _project_near(z, a, b)


def potentials(g: Array, plan: Array, size: float) -> list[tuple[Array, Array]]:
    """Return the distances of rows and columns after each sweep; ``size`` is the largest |g_ij|."""
    i, j = np.nonzero(plan)
    back = g[i, j]
    rows = np.zeros(g.shape[0])
    sweeps: list[tuple[Array, Array]] = []
    for _ in range(g.shape[0] + 1):
        columns = (rows[:, None] + g).min(axis=0)
        sweeps.append((rows, columns))
        shorter = rows.copy()
        np.minimum.at(shorter, i, columns[j] - back)
        if float((rows - shorter).max()) <= 8.0 * _U * size:
            break
        rows = shorter
    return sweeps


def _bring_near(z: Array, plan: Array, total: float) -> Array:
    """Return a matrix with entries in [-total, 0] that has the same projection.

    Numbers added to rows and columns change <z, X> by the same amount for all X of the polytope,
    so optimal potentials of the linear problem may be subtracted: then z <= 0, and z = 0 where an
    optimal plan V is positive. If the projection has X_ij > 0 and V_ij = 0, then X - V, whose sums
    are zero, is positive at (i, j) and so at the entries f of a cycle on whose other entries b
    V_b > X_b. A shift along the cycle cannot bring X closer to z, that is
    sum_f (X_f - z_f) <= sum_b (X_b - z_b) = sum_b X_b < total. So X_ij > 0 only where
    z_ij > -total, and cutting z off there does not change X.
    """
    rows, columns = potentials(-z, plan, float(abs(z).max()))[-1]
    # -rows_i + columns_j <= -z_ij, with equality where the plan is positive
    slack = np.minimum((z - rows[:, None]) + columns, 0.0)
    slack[plan > 0] = 0.0  # exactly: the rounding errors of a large z are large
    return np.maximum(slack, -total)


def _project_near(z: Array, a: Array, b: Array) -> Array:
    """Project a matrix with at least as many rows as columns by Newton's method on the dual."""
    p, q = z.shape
    # start from the projection onto the equations alone; its residual says how far z is
    lam = z.sum(axis=1) / q
    mu = (z.sum(axis=0) - lam.sum()) / p
    largest = float(max(a.max(), b.max()))
    far = float(abs(z - lam[:, None] - mu).max())
    scale = min(1.0, largest / far) if far > 0 else 1.0
    lam, mu = scale * lam - a / q, scale * mu - b / p + a.sum() / (p * q)
    while scale < 1.0:
        _, lam, mu = _minimise_dual(scale * z, a, b, lam, mu, 1e-3 * largest)
        step = min(10.0, 1.0 / scale)
        scale, lam, mu = (scale * step if step == 10.0 else 1.0), step * lam, step * mu
    tol = 4.0 * _U * (p + q) * (float(abs(z).max()) + 2.0 * largest)
    return _minimise_dual(z, a, b, lam, mu, tol)[0]


def _minimise_dual(
    z: Array, a: Array, b: Array, lam: Array, mu: Array, tol: float
) -> tuple[Array, Array, Array]:
    """Return X, lambda and mu with sums of X within ``tol`` of a and b, from a first lambda, mu."""
    largest = float(max(a.max(), b.max()))
    for _ in range(300):
        base = z - lam[:, None] - mu
        x = np.maximum(base, 0.0)
        rows, columns = x.sum(axis=1) - a, x.sum(axis=0) - b
        worst = max(float(abs(rows).max()), float(abs(columns).max()))
        if worst <= tol:
            break
        dl, dm = _newton_step(x > 0, rows, columns, min(1.0, worst / largest))
        t = _line_search(base, dl, dm, a, b)
        if t == 0.0:
            break  # no descent is left in floating point
        lam, mu = lam + t * dl, mu + t * dm
    return x, lam, mu


def _line_search(base: Array, dl: Array, dm: Array, a: Array, b: Array) -> float:
    """Return the t in [0, 1] that minimises F along the step; base is z - lambda 1' - 1 mu'."""
    move = dl[:, None] + dm

    def slope(t: float) -> float:
        # dF/dt, which increases with t as F is convex
        x = np.maximum(base - t * move, 0.0)
        return float((a - x.sum(axis=1)) @ dl + (b - x.sum(axis=0)) @ dm)

    if slope(0.0) >= 0.0:
        return 0.0
    if slope(1.0) <= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0, xtol=1e-300, rtol=1e-3))


def _newton_step(active: Array, rows: Array, columns: Array, far: float) -> tuple[Array, Array]:
    """Solve [[D_r, S], [S', D_c]] (dl, dm) = (rows, columns), S the 0/1 pattern of X.

    The matrix is singular, at least along (1, -1); a ridge that shrinks with the residual ``far``
    keeps Newton's fast convergence.
    """
    S = active.astype(np.float64)
    ridge = 1e-10 + 1e-3 * far
    by_row = S.sum(axis=1) + ridge
    schur = -(S.T / by_row) @ S
    schur[np.arange(S.shape[1]), np.arange(S.shape[1])] += S.sum(axis=0) + ridge
    dm = cho_solve(cho_factor(schur, check_finite=False), columns - S.T @ (rows / by_row))
    return (rows - S @ dm) / by_row, dm
