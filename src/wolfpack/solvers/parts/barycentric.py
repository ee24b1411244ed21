r"""Quadratics over the convex hull of known points, in barycentric weights.

.. math:: \min_w\ \tfrac12 w^\top G w + c^\top w \quad\text{over } w \ge 0,\ \textstyle\sum_i w_i=1

by a primal active-set method in the manner of Wolfe's nearest point algorithm: minimise over the
affine hull of the points that have weight, stop at the first weight that becomes zero and drop it,
and when none does let the point with the smallest slope enter.

Sources
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...arrays import Array

_DAMPING = 1e-13
"""Share of G's largest diagonal entry and of the slopes' range that damps each step."""


def minimize_quadratic(G: Array, c: Array, w: Array, tol: float) -> Array:
    """Return weights of which max slope (where there is weight) - min slope is at most ``tol``.

    ``G`` is positive semidefinite, and ``w`` are the weights to start from. The difference bounds
    the distance to the minimum. Rounding may keep it above ``tol``; then no step from the weights
    leads further down.
    """
    size = float(G.diagonal().max())
    settled = False  # whether w is the minimiser over the affine hull of its support
    # one turn per point that enters or leaves is typical; the limit ends what rounding prolongs
    for _ in range(20 + 5 * len(w)):
        slopes, active = G @ w + c, np.flatnonzero(w > 0)
        entering = int(slopes.argmin())
        if slopes[active].max() - slopes[entering] <= tol:
            break
        if settled:
            if w[entering] > 0:
                break  # the slopes differ by rounding only
            active = np.append(active, entering)
        damping = _DAMPING * (size + np.ptp(slopes[active]))
        move = _towards_minimum(G, slopes, w, active, damping)
        if settled and move[-1] <= 0:
            break  # the entering point's slope was lower by rounding only
        w, step = _advance(w, active, move)
        settled = step == 1.0
    return w


def _advance(w: Array, active: Array, move: Array) -> tuple[Array, float]:
    """Return w moved until a weight vanishes, at most by the whole of ``move``, and how far."""
    shrinking = move < 0
    room = np.full(len(active), np.inf)
    room[shrinking] = w[active][shrinking] / -move[shrinking]
    step = min(1.0, float(room.min(initial=np.inf)))
    w = w.copy()
    w[active] = np.where(room <= step, 0.0, np.maximum(w[active] + step * move, 0.0))
    return w / w.sum(), step


def _towards_minimum(G: Array, slopes: Array, w: Array, active: Array, damping: float) -> Array:
    """Return the step from w to the minimiser over the affine hull of the active points.

    The weight of the heaviest point is eliminated: it gives what the others take. Damping bounds
    the step where the curvature vanishes; it still leads down, and to the boundary.
    """
    pivot = int(w[active].argmax())
    rest = np.delete(np.arange(len(active)), pivot)
    move = np.zeros(len(active))
    if len(rest):
        i, r = active[rest], active[pivot]
        reduced = G[np.ix_(i, i)] - G[i, r][:, None] - G[r, i][None, :] + G[r, r]
        reduced[np.diag_indices(len(i))] += damping
        move[rest] = -_solve(reduced, slopes[i] - slopes[r], damping)
        move[pivot] = -move[rest].sum()
    return move


def _solve(matrix: Array, right: Array, damping: float) -> Array:
    """Return matrix^-1 right, with as much more damping as a Cholesky factor needs."""
    diagonal = np.diag_indices(len(matrix))
    for _ in range(40):
        try:
            return cho_solve(cho_factor(matrix, check_finite=False), right, check_finite=False)
        except np.linalg.LinAlgError:
            damping *= 10.0
            matrix[diagonal] += damping
    return right / damping  # far from semidefinite: take the steepest descent
