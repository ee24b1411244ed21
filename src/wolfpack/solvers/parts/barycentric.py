r"""Quadratics over the convex hull of known points, in their weights.

.. math:: \min_w\ \tfrac12 w^\top G w + c^\top w \quad\text{over } w \ge 0,\ \textstyle\sum_i w_i=1,

G being the Gram matrix of the points, by Wolfe's method: minimise over the affine hull of the
points that have weight, stop at the first weight that becomes zero and drop it, and when none does
let the point with the smallest slope enter.

- `minimize_quadratic` is for few points: it factorises the matrix of the points with weight anew in
  every turn.
- `minimize_weights` is for many points, of which a solution has few. Each pass works on the support
  and the most promising points outside it, its face, and keeps a Cholesky factor of
  :math:`G + \sigma 1 1^\top`, which has the same curvature along steps of sum 0 and is positive
  definite where the points are affinely independent. A point that enters or leaves costs O(s^2), s
  the size of the face, instead of a factorisation.

Sources
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, qr_delete

from ...arrays import Array
from ...problem import tick

CANDIDATES = 64
"""Points outside the support that a pass takes into account."""

_PASSES = 50
_PIVOT = 1e-12
_DAMPING = 1e-13
"""Share of G's largest diagonal entry and of the slopes' range that damps each step."""


def minimize_weights(gram: Array, slopes: Array, weights: Array, tol: float) -> Array:
    """Return weights with a smaller value of the quadratic, near its minimum over the simplex.

    ``gram`` is positive semidefinite and ``slopes`` is the gradient at ``weights``, the start. On
    return the slopes satisfy, rounding permitting, mean - min <= tol and max - mean <= tol, the
    mean taken with the weights and the max over the support; the first number bounds the distance
    to the minimum. The value never increases.
    """
    w, r = weights, slopes
    for _ in range(_PASSES):
        mean, used = float(r @ w), w > 0
        if mean - r.min() <= tol and r[used].max() - mean <= tol:
            break
        outside = np.flatnonzero(~used & (r < mean))
        if len(outside) > CANDIDATES:
            outside = outside[np.argpartition(r[outside], CANDIDATES)[:CANDIDATES]]
        working = np.concatenate([np.flatnonzero(used), outside])
        found = _minimize_small(gram[np.ix_(working, working)], r[working], w[working], 0.5 * tol)
        step = found - w[working]
        if not step.any():
            break
        w = w.copy()
        w[working] = found
        r = r + step @ gram[working]
    return w


def _minimize_small(gram: Array, r: Array, w: Array, tol: float) -> Array:
    """Return the minimiser over a working set; the first points are its support."""
    face = _Face(gram, np.flatnonzero(w > 0))
    # two turns per point that enters or leaves are typical; the limit ends what rounding prolongs
    for _ in range(20 + 10 * len(w)):
        tick()
        move = face.descent(r)
        slope = float(r @ move)
        if slope < 0 and np.ptp(r[face.order]) > 0.1 * tol:
            change = gram @ move
            curvature = float(move @ change)
            exact = -slope / curvature if curvature > 0 else math.inf
            shrinking = np.flatnonzero(move < 0)
            room = w[shrinking] / -move[shrinking]
            step = min(exact, float(room.min(initial=math.inf)))
            # points whose weight vanishes before the exact step leave the face
            gone = shrinking[room <= step]
            w, r = np.maximum(w + step * move, 0.0), r + step * change
            w[gone] = 0.0
            for point in gone:
                face.remove(point)
            if len(gone):
                continue
        entering = int(r.argmin())
        if float(r @ w) - r[entering] <= tol or entering in face.order:
            break
        face.add(entering)
    return w / w.sum()


class _Face:
    """Points with weight, in order of entrance, and R with R'R = G + sigma 1 1'.

    Pivots of affinely dependent points are raised, which keeps the step downhill and lets it grow
    until one of them loses its weight.
    """

    def __init__(self, gram: Array, order: Array) -> None:
        self.gram = gram
        self.order = [int(i) for i in order]
        self.shift = max(float(gram.diagonal().mean()), np.finfo(float).tiny)
        matrix = gram[np.ix_(self.order, self.order)] + self.shift
        ridge = _PIVOT * self.shift
        while True:
            matrix[np.diag_indices(len(matrix))] += ridge
            self.R, info = lapack.dpotrf(matrix, lower=0, clean=1)
            if info == 0:
                break
            ridge *= 10.0

    def descent(self, r: Array) -> Array:
        """Return the step to the minimiser over the face's affine hull, of sum 0."""
        slopes = r[self.order]
        right = np.ones((len(slopes), 2), order="F")
        # a common slope changes nothing, and subtracting it keeps the digits of the rest
        right[:, 0] = slopes - slopes.mean()
        solved, _ = lapack.dpotrs(self.R, right, lower=0, overwrite_b=1)
        a, b = solved[:, 0], solved[:, 1]
        move = np.zeros(len(r))
        move[self.order] = (a.sum() / b.sum()) * b - a
        return move

    def add(self, point: int) -> None:
        """Let a point enter: one more column of R."""
        n = len(self.order)
        column = self.gram[self.order, point] + self.shift
        R = np.zeros((n + 1, n + 1), order="F")
        R[:n, :n] = self.R
        R[:n, n], _ = lapack.dtrtrs(self.R, column, lower=0, trans=1)
        square = self.gram[point, point] + self.shift - R[:n, n] @ R[:n, n]
        R[n, n] = math.sqrt(max(square, _PIVOT * self.shift))
        self.R = R
        self.order.append(point)

    def remove(self, point: int) -> None:
        """Let a point leave: delete its column of R and make R triangular again."""
        position = self.order.index(point)
        eye = np.eye(len(self.order))
        _, R = qr_delete(eye, self.R, position, which="col", check_finite=False)
        self.R = np.asfortranarray(R[:-1])
        del self.order[position]


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
        tick()
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
