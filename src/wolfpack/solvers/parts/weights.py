r"""Quadratics over the simplex of weights of many points.

.. math::

    \min_u\ \langle r, u - w\rangle + \tfrac12 \langle u - w, G (u - w)\rangle
    \quad\text{over } u \ge 0,\ \textstyle\sum_i u_i = 1,

G the Gram matrix of the points and r the slopes at the weights w. The points are many and a
solution has few, so each pass works on the support and the most promising points outside it, by
Wolfe's method: minimise over the affine hull of a face, stop where a weight vanishes and drop it,
and let the point of smallest slope enter when none does. The face keeps a Cholesky factor of
:math:`G + \sigma 1 1^\top`, which has the same curvature along steps of sum 0 and is positive
definite where the points are affinely independent. A point that enters or leaves costs O(s^2), s
the size of the face, instead of a factorisation.

Sources
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11, 1976.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack, qr_delete

from ...arrays import Array

CANDIDATES = 64
"""Points outside the support that a pass takes into account."""

_PASSES = 50
_PIVOT = 1e-12


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
